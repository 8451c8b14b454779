import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { PublicHttpResult } from '../kit/http/public-http.ts'
import { backoffAfter, classifyResponse } from './retry-policy.ts'

const HOUR_MS = 3_600_000
const NOW = new Date('2026-03-14T09:26:53.589Z')

const answered = (status: number, headers: Record<string, string> = {}): PublicHttpResult => ({
  kind: 'answered',
  status,
  headers,
  body: '',
  durationMs: 1,
})

const jitterKey = fc.record({ endpointId: fc.uuid(), resourceId: fc.uuid() })

describe('the backoff of a delivery', () => {
  it('is 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h, each up to a tenth longer by jitter', () => {
    const hours = [5 / 3600, 5 / 60, 0.5, 2, 5, 10, 14, 20, 24]
    fc.assert(
      fc.property(jitterKey, (of) => {
        for (const [index, expected] of hours.entries()) {
          const wait = (backoffAfter(index + 1, of) ?? Number.NaN) / HOUR_MS
          assert.ok(wait >= expected - 1e-6 && wait <= expected * 1.1 + 1e-6, `${wait} after ${index + 1}`)
        }
        assert.equal(backoffAfter(10, of), undefined)
      }),
    )
  })

  it('retries a delivery beyond an outage of 72 hours', () => {
    fc.assert(
      fc.property(jitterKey, (of) => {
        const waits = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((attempts) => backoffAfter(attempts, of) ?? 0)
        assert.ok(waits.reduce((sum, wait) => sum + wait, 0) > 75 * HOUR_MS)
      }),
    )
  })

  it('has the same jitter for all versions of a resource, and another for other resources', () => {
    const endpointId = '0197a3c2-9b3e-7d10-a5c4-2f6f0b1d7e85'
    const of = (resourceId: string) => backoffAfter(9, { endpointId, resourceId })
    assert.equal(of('a'), of('a'))
    assert.ok(new Set(['a', 'b', 'c', 'd', 'e'].map(of)).size > 3)
  })
})

describe('the classification of a response', () => {
  it('counts only a 2xx response as delivered', () => {
    for (const status of [200, 201, 204, 299])
      assert.equal(classifyResponse(answered(status), NOW).kind, 'delivered')
    for (const status of [100, 199, 300, 301, 304, 308, 400, 404, 429, 500])
      assert.equal(classifyResponse(answered(status), NOW).kind, 'failed')
    const noResponse = { kind: 'failed', failure: 'timeout', message: 'No answer.', durationMs: 1 } as const
    assert.deepEqual(classifyResponse(noResponse, NOW), { kind: 'failed', retryAfterMs: 0 })
  })

  it('takes a 410 response as an endpoint that is gone', () => {
    assert.equal(classifyResponse(answered(410), NOW).kind, 'gone')
  })

  it('honours Retry-After of a webhook response in seconds and as a date, up to an hour', () => {
    const after = (text: string) => {
      const outcome = classifyResponse(answered(503, { 'retry-after': text }), NOW)
      return outcome.kind === 'failed' ? outcome.retryAfterMs : undefined
    }
    assert.equal(after('120'), 120_000)
    assert.equal(after('0'), 0)
    assert.equal(after('7200'), HOUR_MS)
    assert.equal(after('9'.repeat(400)), HOUR_MS)
    assert.equal(after('Sat, 14 Mar 2026 09:36:53 GMT'), 599_411)
    assert.equal(after('Sat, 14 Mar 2020 09:36:53 GMT'), 0)
    for (const nonsense of ['soon', '', '-5', '1e3', 'NaN']) assert.equal(after(nonsense), 0)
  })
})
