import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { addMs, type Clock } from '../clock.ts'
import type { HttpClient, HttpResult } from './http-client.ts'
import { honorRetryAfter } from './retry-after.ts'

const GET = { method: 'GET', url: 'https://provider.example/' } as const

function answered(status: number, headers: Record<string, string> = {}): HttpResult {
  return { kind: 'answered', status, headers, body: Buffer.alloc(0) }
}

/** A server that returns the responses one after the other, and a clock that the test moves. */
function serverWith(...results: HttpResult[]) {
  let now = new Date('2026-03-14T09:26:53.000Z')
  let asked = 0
  const clock: Clock = { now: () => now, sleep: () => Promise.resolve() }
  const http: HttpClient = {
    request: async () => results[Math.min(asked++, results.length - 1)] ?? answered(200),
    close: () => Promise.resolve(),
  }
  return {
    honoring: honorRetryAfter(http, clock),
    asked: () => asked,
    wait: (ms: number) => {
      now = addMs(now, ms)
    },
  }
}

describe('a server that responds with Retry-After (F-37)', () => {
  for (const [words, retryAfter] of [
    ['in seconds', '60'],
    ['by a date', 'Sat, 14 Mar 2026 09:27:53 GMT'],
  ] as const) {
    it(`${words} is not called before then, and is called again then`, async () => {
      const server = serverWith(answered(429, { 'retry-after': retryAfter }), answered(200))
      await server.honoring.request(GET)
      server.wait(59_999)
      const kept = await server.honoring.request(GET)
      assert.equal(kept.kind, 'not_sent')
      assert.equal(server.asked(), 1)
      server.wait(1)
      assert.deepEqual(await server.honoring.request(GET), answered(200))
    })
  }

  it('a server that responds with Retry-After for a day is called again after five minutes', async () => {
    const server = serverWith(answered(503, { 'retry-after': '86400' }), answered(200))
    await server.honoring.request(GET)
    server.wait(300_000)
    assert.equal((await server.honoring.request(GET)).kind, 'answered')
  })

  it('a server that responds with Retry-After without a time, or with another status, is called as always', async () => {
    for (const first of [
      answered(429),
      answered(429, { 'retry-after': 'soon' }),
      answered(200, { 'retry-after': '60' }),
    ]) {
      const server = serverWith(first, answered(200))
      await server.honoring.request(GET)
      assert.equal((await server.honoring.request(GET)).kind, 'answered')
    }
  })
})
