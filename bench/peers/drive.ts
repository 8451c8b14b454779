// The neutral driver: so many connections, each sends its next request after a response.

import { Client } from 'undici'
import { percentile } from '../statistics.ts'
import { requestOf, type Target } from './target.ts'

export interface PeerFigure {
  connections: number
  perSecond: number
  p50Ms: number
  p99Ms: number
}

export async function drive(target: Target, connections: number, seconds: number): Promise<PeerFigure> {
  const startedAt = performance.now()
  const endsAt = startedAt + seconds * 1_000
  const callers = Array.from({ length: connections }, () => call(target, endsAt))
  const latencies = (await Promise.all(callers)).flat()
  const tookSeconds = (performance.now() - startedAt) / 1_000
  return {
    connections,
    perSecond: latencies.length / tookSeconds,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
  }
}

/** One connection; an unexpected response ends the measurement, because a refused write costs less than a written one. */
async function call(target: Target, endsAt: number): Promise<number[]> {
  const client = new Client(target.url)
  const latencies: number[] = []
  try {
    while (performance.now() < endsAt) {
      const startedAt = performance.now()
      await send(client, target)
      latencies.push(performance.now() - startedAt)
    }
    return latencies
  } finally {
    await client.close()
  }
}

async function send(client: Client, target: Target): Promise<void> {
  const headers = { 'content-type': 'application/json', ...target.headers }
  const { statusCode, body } = await client.request({ method: 'POST', headers, ...requestOf(target) })
  const text = await body.text()
  if (statusCode !== target.expectedStatus)
    throw new Error(`${target.name} answered HTTP ${statusCode}: ${text.slice(0, 300)}`)
}
