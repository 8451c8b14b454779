import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { frozenClock } from '../../test/support/fake-clock.ts'
import { eventually } from '../../test/support/process.ts'
import { money } from '../core/money.ts'
import { type CircuitBreakerOptions, withCircuitBreaker } from './circuit-breaker.ts'
import type { Attempt, Gateway, Outcome, RefundRequest, StatusQuery } from './gateway.ts'

const NOT_ANSWERED: Outcome = { kind: 'unknown', reason: 'no_answer', message: 'no answer' }
const DECLINED: Outcome = { kind: 'declined', code: 'do_not_honor', message: 'no', gatewayReference: null }
const PENDING: Outcome = { kind: 'pending', gatewayReference: 'ref' }

const query: StatusQuery = {
  key: '0d1f4c3a-5b1e-4a53-9f4e-6a5f0c1b2d3e',
  operation: 'charge',
  amount: money(1_000n, 'KES'),
  startedAt: new Date(0),
  expiresAt: null,
}
const attempt: Attempt = {
  ...query,
  paymentId: 'payment',
  merchantId: 'merchant',
  merchantName: 'Shop',
  reference: 'order-1',
  country: 'KE',
  description: null,
  customer: { email: 'payer@shop.example', firstname: 'A', lastname: 'B' },
}
const refund: RefundRequest = {
  key: query.key,
  attemptKey: query.key,
  attemptReference: 'ref',
  amount: query.amount,
  isFull: true,
}

/** A fake gateway with scripted responses that counts the calls it receives. */
function provider(outcome: () => Promise<Outcome>, more: Partial<Gateway> = {}) {
  const calls = { charges: 0, statusChecks: 0 }
  const gateway: Gateway = {
    name: 'steady',
    rails: [],
    behavior: { keyRetentionHours: 24, cachesErrors: false, lookupByReference: true },
    startCheckout: () => outcome(),
    chargeSaved: () => {
      calls.charges += 1
      return outcome()
    },
    verify: () => {
      calls.statusChecks += 1
      return outcome()
    },
    parseWebhook: () => ({ kind: 'ignored', reason: 'none of ours' }),
    ...more,
  }
  return { gateway, calls }
}

const COOL_DOWN_MS = 10_000

function protect(gateway: Gateway, options: Partial<CircuitBreakerOptions> = {}) {
  // It stands still, so only the test decides when the cool-down is over.
  const clock = frozenClock()
  const { gateway: safe, health } = withCircuitBreaker(gateway, {
    clock,
    // Longer than a busy machine takes for a call: sleeps are in real time.
    timeoutMs: 20_000,
    coolDownMs: COOL_DOWN_MS,
    ...options,
  })
  const charge = async () => {
    const outcome = await safe.chargeSaved?.(attempt, 'credential')
    return outcome?.kind === 'unknown' ? outcome.reason : outcome?.kind
  }
  return { safe, health, charge, coolDown: () => clock.advance(COOL_DOWN_MS) }
}

async function times<Value>(count: number, act: () => Promise<Value>): Promise<Value[]> {
  const values: Value[] = []
  for (let index = 0; index < count; index += 1) values.push(await act())
  return values
}

const WEBHOOK = {
  method: 'POST' as const,
  headers: {},
  query: {},
  rawBody: Buffer.alloc(0),
  callback: null,
}

describe('a gateway behind a circuit breaker', () => {
  it('returns what the gateway returns, and has the same operations', async () => {
    const { gateway } = provider(() => Promise.resolve(PENDING))
    const { safe, health } = protect(gateway)
    assert.equal(await safe.chargeSaved?.(attempt, 'credential'), PENDING)
    assert.equal(await safe.verify(query, null), PENDING)
    assert.equal(await safe.startCheckout(attempt, { channel: 'card' }, 'https://shop.example'), PENDING)
    assert.deepEqual(safe.parseWebhook(WEBHOOK), { kind: 'ignored', reason: 'none of ours' })
    assert.deepEqual([safe.cancel, safe.refund, safe.verifyRefund], [undefined, undefined, undefined])
    assert.equal(safe.name, 'steady')
    assert.equal(health(), 'up')
  })

  it('passes on errors that a connector throws', async () => {
    const { gateway } = provider(() => Promise.reject(new Error('a bug')))
    const { charge } = protect(gateway)
    await assert.rejects(charge(), /a bug/)
  })

  it('does not count declines, unknown keys and unknown words as failures', async () => {
    const reasons = (['not_found', 'unrecognized'] as const).map((reason) => ({ ...NOT_ANSWERED, reason }))
    for (const outcome of [DECLINED, ...reasons] as Outcome[]) {
      const { gateway, calls } = provider(() => Promise.resolve(outcome))
      const { charge, health } = protect(gateway)
      await times(50, charge)
      assert.deepEqual([calls.charges, health()], [50, 'up'])
    }
  })

  it('does not count a refund that waits for an earlier one', async () => {
    const queued = { ...NOT_ANSWERED, reason: 'not_sent', queued: true } as const
    const { gateway } = provider(() => Promise.resolve(PENDING), { refund: () => Promise.resolve(queued) })
    const { safe, health } = protect(gateway)
    assert.deepEqual(await times(20, async () => safe.refund?.(refund)), Array(20).fill(queued))
    assert.equal(health(), 'up')
  })

  it('rejects new submissions to a provider that does not respond, and reports them as not sent', async () => {
    const { gateway, calls } = provider(() => Promise.resolve(NOT_ANSWERED), {
      refund: () => assert.fail('a refund was sent'),
    })
    const { safe, charge, health } = protect(gateway)
    assert.deepEqual(await times(5, charge), Array(5).fill('no_answer'))
    assert.equal(health(), 'down')
    assert.deepEqual(await times(5, charge), Array(5).fill('not_sent'))
    assert.equal(calls.charges, 5)
    const back = await safe.refund?.(refund)
    assert.equal(back?.kind === 'unknown' && back.reason, 'not_sent')
  })

  it('still sends status checks while the circuit is open', async () => {
    let outcome: Outcome = NOT_ANSWERED
    const { gateway, calls } = provider(() => Promise.resolve(outcome))
    const { safe, charge } = protect(gateway)
    await times(5, charge)
    outcome = PENDING
    assert.deepEqual(await times(3, () => safe.verify(query, null)), [PENDING, PENDING, PENDING])
    assert.equal(calls.statusChecks, 3)
    assert.equal(await charge(), 'not_sent')
  })

  it('closes the circuit when a status check gets a response after the cool-down', async () => {
    let outcome: Outcome = NOT_ANSWERED
    const { gateway } = provider(() => Promise.resolve(outcome))
    const { safe, charge, health, coolDown } = protect(gateway)
    await times(5, charge)
    outcome = PENDING
    coolDown()
    await safe.verify(query, null)
    assert.equal(health(), 'up')
    assert.equal(await charge(), 'pending')
  })

  it('probes with a call without effect before it sends a payment', async () => {
    let state: 'unreachable' | 'works' = 'unreachable'
    let probes = 0
    const { gateway, calls } = provider(() => Promise.resolve(state === 'works' ? PENDING : NOT_ANSWERED), {
      probe: () => {
        probes += 1
        return Promise.resolve(state)
      },
    })
    const { charge, health, coolDown } = protect(gateway)
    await times(5, charge)
    coolDown()
    assert.deepEqual([await charge(), probes, calls.charges], ['not_sent', 1, 5])
    state = 'works'
    coolDown()
    assert.deepEqual([await charge(), probes, calls.charges, health()], ['pending', 2, 6, 'up'])
  })

  it('probes the provider when routing reads its health after the cool-down, and sends no payment for it', async () => {
    let state: 'unreachable' | 'works' = 'unreachable'
    const probed: string[] = []
    const probe = () => {
      probed.push(state)
      return Promise.resolve(state)
    }
    const { gateway, calls } = provider(() => Promise.resolve(NOT_ANSWERED), { probe })
    const { charge, health, coolDown } = protect(gateway)
    await times(5, charge)
    coolDown()
    assert.equal(health(), 'down')
    await eventually(
      () => probed.length,
      (count) => count === 1,
      5_000,
    )
    // The failed probe opens the circuit again in the same turn of the event loop.
    await setImmediate()
    state = 'works'
    coolDown()
    assert.equal(health(), 'down')
    await eventually(health, (value) => value === 'up', 5_000)
    assert.equal(calls.charges, 5)
  })

  it('reports a gateway without a probe as up after the cool-down', async () => {
    const { gateway, calls } = provider(() => Promise.resolve(NOT_ANSWERED))
    const { charge, health, coolDown } = protect(gateway)
    await times(5, charge)
    assert.equal(health(), 'down')
    coolDown()
    assert.equal(health(), 'up')
    assert.deepEqual([await charge(), health(), await charge()], ['no_answer', 'down', 'not_sent'])
    assert.equal(calls.charges, 6)
  })

  it('limits concurrent calls and the queue, and never sends a call that it reported as not sent', async () => {
    const open = Promise.withResolvers<Outcome>()
    const { gateway, calls } = provider(() => open.promise)
    const { safe, charge } = protect(gateway, { concurrency: 2, queueTimeoutMs: 100 })
    const charges = [charge(), charge(), charge(), charge(), charge()]
    // Two calls run, two wait in the queue, and the fifth is rejected.
    assert.equal(await charges[4], 'not_sent')
    assert.equal(calls.charges, 2)
    assert.deepEqual(await Promise.all(charges.slice(2)), ['not_sent', 'not_sent', 'not_sent'])
    // Status checks have their own bulkhead.
    const answered = safe.verify(query, null)
    await eventually(
      () => calls.statusChecks,
      (count) => count === 1,
      5_000,
    )
    open.resolve(PENDING)
    assert.deepEqual(await Promise.all([...charges.slice(0, 2), answered]), ['pending', 'pending', PENDING])
    assert.equal(await charge(), 'pending')
    assert.equal(calls.charges, 3)
  })

  it('runs a queued call when a slot becomes free', async () => {
    const { gateway } = provider(async () => {
      await setImmediate()
      return PENDING
    })
    const { charge } = protect(gateway, { concurrency: 1 })
    assert.deepEqual(await Promise.all([charge(), charge()]), ['pending', 'pending'])
  })

  it('stops waiting after the time limit, and then does not report the call as not sent', async () => {
    const { gateway } = provider(() => new Promise(() => undefined))
    const { charge } = protect(gateway, { timeoutMs: 50, queueTimeoutMs: 20 })
    assert.equal(await charge(), 'no_answer')
  })
})
