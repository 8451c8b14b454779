// The CSV file of all payments of a merchant: how long it takes, and how much memory the process needs meanwhile. The
// client runs in the same process and keeps nothing.

import { request } from 'node:http'
import type { Subject } from './growth-operations.ts'
import { rounded } from './statistics.ts'

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

export async function measureExport({ url, key }: Pick<Subject, 'url' | 'key'>): Promise<Exported> {
  const beforeMb = residentMb()
  const startedAt = performance.now()
  const samples: number[] = []
  let lines = 0
  for await (const piece of await open(`${url}/api/v1/payments/export`, key)) {
    for (const byte of piece) if (byte === NEWLINE) lines += 1
    samples.push(residentMb())
  }
  const seconds = rounded((performance.now() - startedAt) / 1000)
  const half = samples.slice(0, Math.ceil(samples.length / 2))
  const mostOf = (some: readonly number[]) => some.reduce((most, one) => Math.max(most, one), 0)
  return { rows: lines - 1, seconds, beforeMb, halfMb: mostOf(half), peakMb: mostOf(samples) }
}

function open(address: string, key: string): Promise<AsyncIterable<Buffer>> {
  return new Promise((resolve, reject) => {
    const sent = request(address, { headers: { 'x-api-key': key } }, (answer) => {
      if (answer.statusCode === 200) resolve(answer)
      else reject(new Error(`the export answered ${answer.statusCode}`))
    })
    sent.on('error', reject).end()
  })
}
