// The CSV file of all payments of a merchant: how long it takes, and how much memory the process needs meanwhile. The
// client runs in the same process and keeps nothing.

import { type IncomingMessage, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { rounded } from './statistics.ts'

export interface ExportSource {
  url: string
  headers: Record<string, string>
}

export interface Exported {
  rows: number
  seconds: number
  beforeMb: number
  /** The most until half of the bytes were read, and until the end: the second is not higher if memory does not grow. */
  halfMb: number
  peakMb: number
}

const MEGABYTE = 1_000_000
const NEWLINE = 10

const residentMb = () => Math.round(process.memoryUsage.rss() / MEGABYTE)

export async function measureExport(source: ExportSource): Promise<Exported> {
  const beforeMb = residentMb()
  const startedAt = performance.now()
  const samples: number[] = []
  let lines = 0
  // A boundary: a response without an encoding yields bytes.
  for await (const piece of (await open(source)) as AsyncIterable<Buffer>) {
    for (const byte of piece) if (byte === NEWLINE) lines += 1
    samples.push(residentMb())
  }
  const seconds = rounded((performance.now() - startedAt) / 1000)
  const half = samples.slice(0, Math.ceil(samples.length / 2))
  const mostOf = (some: readonly number[]) => some.reduce((most, one) => Math.max(most, one), 0)
  return { rows: lines - 1, seconds, beforeMb, halfMb: mostOf(half), peakMb: mostOf(samples) }
}

const POLL_EVERY_MS = 20
const MAX_WAIT_MS = 30_000
// Statements of a page are short: the export has ended if none begins between many looks.
const QUIET_LOOKS = 25

const SELECT_LAST_STATEMENT = `
select (extract(epoch from clock_timestamp() - max(query_start)) * 1000)::float8 as ms
from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and query ~ 'from payments p'`

/** Reads the first bytes, leaves, and returns the milliseconds until the export has ended. */
export async function measureAbort(source: ExportSource, databaseUrl: string): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const answer = await open(source)
    await new Promise((done) => answer.once('data', done))
    const leftAt = performance.now()
    answer.destroy()
    for (let quiet = 0; quiet < QUIET_LOOKS; ) {
      await delay(POLL_EVERY_MS)
      const { rows } = await client.query<{ ms: number | null }>(SELECT_LAST_STATEMENT)
      quiet = (rows[0]?.ms ?? Number.POSITIVE_INFINITY) > POLL_EVERY_MS ? quiet + 1 : 0
      if (performance.now() - leftAt > MAX_WAIT_MS) throw new Error('the export goes on without a reader')
    }
    return Math.max(0, Math.round(performance.now() - leftAt - QUIET_LOOKS * POLL_EVERY_MS))
  } finally {
    await client.end()
  }
}

function open({ url, headers }: ExportSource): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers }, (answer) => {
      if (answer.statusCode === 200) resolve(answer)
      else reject(new Error(`the export answered ${answer.statusCode}`))
    })
    sent.on('error', reject).end()
  })
}
