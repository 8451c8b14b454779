// npm run bench:peers: the rate of one write request, ours or that of another service, by the same driver.

import { join } from 'node:path'
import { exitWithUsageError, parseOptions, parsePositiveInteger } from '../../test/support/command-line.ts'
import { CURRENCY, emailOf, FIRSTNAME, LASTNAME } from '../population.ts'
import type { Cleanups } from '../programs.ts'
import { startSide } from '../side.ts'
import { rounded } from '../statistics.ts'
import { drive, type PeerFigure } from './drive.ts'
import { readTarget, type Target } from './target.ts'

const HELP = `npm run bench:peers [-- --target FILE] [-- --connections LIST] [-- --seconds N] [-- --json]

Without a target: starts Cowry with its embedded PostgreSQL (fsync on) and the sandbox provider as a process of its own, and
charges saved cards. With a target: sends the request that the file describes to a service that is running already.
bench/peers/README.md says how the others are set up; its folder has their files.

  --target FILE       a description of the request, such as bench/peers/kill-bill.json
  --connections LIST  concurrent requests of each measurement, by default 24,64
  --seconds N         of each measurement after a warm-up of a third of it, by default 15
  --json              one JSON document instead of the table
  --help              this text
`

const options = parseOptions(HELP, {
  target: { type: 'string' },
  connections: { type: 'string', default: '24,64' },
  seconds: { type: 'string', default: '15' },
  json: { type: 'boolean' },
})
const seconds = parsePositiveInteger('seconds', options.seconds)
const connections = options.connections.split(',').map((text) => parsePositiveInteger('connections', text))

const cleanups: Cleanups = []
try {
  const target = await (options.target === undefined ? startOurs() : openTarget(options.target))
  const figures: PeerFigure[] = []
  for (const count of connections) {
    progress(`${target.name}, ${count} connections`)
    await drive(target, count, seconds / 3)
    figures.push(await drive(target, count, seconds))
  }
  print(target.name, figures)
} finally {
  for (const end of cleanups.reverse()) await end()
}

function openTarget(file: string): Promise<Target> {
  return readTarget(file, process.env).catch((error: Error) => exitWithUsageError(error.message))
}

async function startOurs(): Promise<Target> {
  progress('starting Cowry and saving cards')
  const folder = join(import.meta.dirname, '../..')
  const { service, source } = await startSide({ name: 'Cowry', folder }, cleanups)
  const { key = '', saved = [] } = source.filled?.[0] ?? {}
  return {
    name: 'Cowry, recurring charges',
    url: service.url,
    path: '/api/v1/charges/recurring',
    headers: { 'x-api-key': key },
    expectedStatus: 201,
    body: {
      reference: 'order-{{uuid}}',
      amount: 1250.5,
      currency: CURRENCY,
      description: 'Subscription',
      metadata: { plan: 'monthly' },
      customer: { email: '{{email}}', firstname: FIRSTNAME, lastname: LASTNAME },
      recurringToken: '{{token}}',
    },
    rows: saved.map(({ customer, token }) => ({ email: emailOf(customer), token })),
  }
}

function print(name: string, figures: readonly PeerFigure[]): void {
  const rows = figures.map((one) => ({
    connections: one.connections,
    perSecond: rounded(one.perSecond),
    p50Ms: rounded(one.p50Ms),
    p99Ms: rounded(one.p99Ms),
  }))
  if (options.json) console.log(JSON.stringify({ name, figures: rows }))
  else {
    console.log(name)
    console.table(rows)
  }
}

function progress(line: string): void {
  process.stderr.write(`${line}\n`)
}
