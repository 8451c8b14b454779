// npm run gateways:live: runs a connector against the provider's own sandbox, and writes a transcript without secrets.

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { exitWithUsageError, parseOptions, parsePositiveInteger } from '../../support/command-line.ts'
import { ROOT } from '../../tidy/tree.ts'
import { describeMissing, findAccount, openRun, readPlace, requireAgreement } from './open.ts'
import { runSteps } from './run.ts'
import type { Person } from './steps.ts'
import { LIVE_FOLDER, readRuns, renderTable, renderTranscript, transcriptName } from './transcript.ts'
import { NO_WEBHOOKS, receiveWebhooks } from './webhooks.ts'

const HELP = `npm run gateways:live -- --gateway NAME [options]

Runs the connector of a gateway against the provider's own sandbox, step by step. It asks you to pay, to let a payment
fail, and so on, and writes what was sent and answered to ${LIVE_FOLDER}/, without secrets and personal data. The
credentials are the variables of the service, such as GATEWAY_PAYSTACK_SECRET_KEY; only test credentials are taken.
Without them it says what to get and where. A provider without a sandbox (wave) takes live credentials, with --real-money.

  --gateway     a gateway, or an account with a label such as mtn_momo_ug
  --currency    the currency to collect (by the gateway)
  --country     the payer's country
  --channel     card, mobile_money or bank_transfer
  --network     the network of mobile money, such as mtn_ug
  --phone       the number to prompt, such as +256772123456
  --amount      in major units, such as 1000
  --real-money  you agree that real money is moved, at a provider without a sandbox
  --public-url  where the provider reaches this machine; without it webhooks are left out
  --port        the port that the public URL leads to (8090)
  --wait        how many polls to wait for an outcome, one every five seconds (60)
  --json        one JSON document at the end instead of sentences
  --help        this text
`

const options = parseOptions(HELP, {
  gateway: { type: 'string' },
  currency: { type: 'string' },
  country: { type: 'string' },
  channel: { type: 'string' },
  network: { type: 'string' },
  phone: { type: 'string' },
  amount: { type: 'string' },
  'real-money': { type: 'boolean', default: false },
  'public-url': { type: 'string' },
  port: { type: 'string', default: '8090' },
  wait: { type: 'string', default: '60' },
  json: { type: 'boolean', default: false },
})

const account = findAccount(
  options.gateway ?? exitWithUsageError('--gateway is required. npm run gateways:live -- --help'),
)
if (typeof account === 'string') exitWithUsageError(account)
const missing = describeMissing(account, process.env)
if (missing !== undefined) exitWithUsageError(missing)
const disagreement = requireAgreement(account, options['real-money'])
if (disagreement !== undefined) exitWithUsageError(disagreement)
const place = readPlace(account, options)
if (typeof place === 'string') exitWithUsageError(place)
if (!process.stdin.isTTY) exitWithUsageError('A person must take part: run it in a terminal.')

const publicUrl = options['public-url']?.replace(/\/+$/, '')
const webhooks = publicUrl
  ? await receiveWebhooks(parsePositiveInteger('port', options.port), account.name)
  : NO_WEBHOOKS
const terminal = createInterface({ input: process.stdin, output: process.stderr })
const person: Person = {
  say: (text) => void process.stderr.write(`${text}\n`),
  ask: async (text) =>
    (await terminal.question(`${text}\nEnter when done, s to leave it out: `)).trim() !== 's',
  sleep: (ms) => sleep(ms),
}
const polls = parsePositiveInteger('wait', options.wait)
const run = openRun(account, place, { env: process.env, publicUrl, person, polls })
try {
  const steps = await runSteps(run.stage, run.recorder, webhooks)
  const folder = join(ROOT, LIVE_FOLDER)
  const path = join(folder, transcriptName(run.facts))
  mkdirSync(folder, { recursive: true })
  writeFileSync(path, renderTranscript(run.facts, steps))
  writeFileSync(join(folder, 'README.md'), renderTable(readRuns(folder)))
  const summary = steps.map(({ name, result, detail }) => ({ name, result, detail }))
  process.stdout.write(
    options.json
      ? `${JSON.stringify({ path, steps: summary }, null, 2)}\n`
      : `\n${summary.map(({ name, result }) => `${result.padEnd(9)} ${name}`).join('\n')}\n\nRead ${path} before you commit it, then run npm run docs.\n`,
  )
  if (steps.some(({ result }) => result === 'not seen')) process.exitCode = 1
} finally {
  terminal.close()
  await webhooks.close()
  await run.close()
}
