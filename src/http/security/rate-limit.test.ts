import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Clock } from '../../kit/clock.ts'
import { addressOwner, createRateLimiter, rateLimitPolicyHeader } from './rate-limit.ts'

function clockFrom(state: { ms: number }): Clock {
  return { now: () => new Date(state.ms), sleep: async () => undefined }
}

describe('the rate limiter', () => {
  it('allows the burst at once and the rate from then on', () => {
    const state = { ms: 0 }
    const limiter = createRateLimiter(clockFrom(state))
    const limit = { perSecond: 100, burst: 500 }
    const takeMany = (count: number) =>
      Array.from({ length: count }, () => limiter.take('key', limit)).filter((result) => result.allowed)
        .length
    assert.equal(takeMany(1_000), 500)
    let allowed = 0
    for (let second = 0; second < 10; second += 1) {
      state.ms += 1_000
      allowed += takeMany(1_000)
    }
    assert.equal(allowed, 1_000)
  })

  it('takes more than one token from a request that costs more, also into debt', () => {
    const state = { ms: 0 }
    const limiter = createRateLimiter(clockFrom(state))
    const limit = { perSecond: 1, burst: 6 }
    assert.equal(limiter.take('key', limit, 5).remaining, 1)
    assert.equal(limiter.take('key', limit, 5).allowed, true)
    const refused = limiter.take('key', limit)
    assert.deepEqual([refused.allowed, refused.retryAfterSeconds], [false, 5])
    state.ms += 5_000
    assert.equal(limiter.take('key', limit).allowed, true)
  })

  it('evicts owners whose bucket is full again', () => {
    const state = { ms: 0 }
    const limiter = createRateLimiter(clockFrom(state))
    for (let index = 0; index < 1_000; index += 1) limiter.take(`key-${index}`, { perSecond: 1, burst: 5 })
    assert.equal(limiter.size(), 1_000)
    state.ms += 20_000
    limiter.take('another', { perSecond: 1, burst: 5 })
    assert.equal(limiter.size(), 1)
  })

  it('keeps at most 100,000 owners', () => {
    const limiter = createRateLimiter(clockFrom({ ms: 0 }))
    for (let index = 0; index < 100_500; index += 1) limiter.take(`key-${index}`, { perSecond: 1, burst: 5 })
    assert.equal(limiter.size(), 100_000)
  })

  it('F-53: survives a clock that is set back', () => {
    const state = { ms: 1_000_000 }
    const limiter = createRateLimiter(clockFrom(state))
    limiter.take('key', { perSecond: 1, burst: 2 })
    state.ms -= 600_000
    assert.equal(limiter.take('key', { perSecond: 1, burst: 2 }).allowed, true)
    assert.equal(limiter.take('key', { perSecond: 1, burst: 2 }).retryAfterSeconds, 1)
  })

  it('formats the policy for the RateLimit-Policy header', () => {
    assert.equal(rateLimitPolicyHeader({ perSecond: 100, burst: 500 }), '"default";q=500;w=5')
    assert.equal(rateLimitPolicyHeader({ perSecond: 100, burst: 100 }), '"default";q=100;w=1')
  })

  it('has one owner per address, and per /64 in IPv6', () => {
    assert.equal(addressOwner('192.0.2.7'), '192.0.2.7')
    assert.equal(addressOwner('::ffff:192.0.2.7'), '192.0.2.7')
    assert.equal(addressOwner('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64')
    assert.equal(addressOwner('2001:0db8:0001:0002::1'), '2001:db8:1:2::/64')
    assert.equal(addressOwner('2001:db8::1'), '2001:db8:0:0::/64')
    assert.equal(addressOwner('::1'), '0:0:0:0::/64')
    assert.equal(addressOwner('fe80::1%eth0'), 'fe80:0:0:0::/64')
  })
})
