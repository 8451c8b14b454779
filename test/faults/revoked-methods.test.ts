// A saved method is revoked, or its customer blocked, during a charge: the token ends before the charge is recorded or
// after it, and a charge with an ended token is never submitted.

import assert from 'node:assert/strict'
import { after, afterEach, describe, it } from 'node:test'
import { chargeSavedMethod } from '../../src/charges/charge.ts'
import { startAttempt } from '../../src/checkout/start-attempt.ts'
import { money } from '../../src/core/money.ts'
import { listMethodRows } from '../../src/customers/method-queries.ts'
import { revokeMethod, serializeMethod } from '../../src/customers/methods.ts'
import { blockCustomer } from '../../src/customers/write.ts'
import type { Failpoint } from '../../src/kit/failpoints.ts'
import { activateMerchant, suspendMerchant } from '../../src/merchants/service.ts'
import { applyOutcome } from '../../src/outcomes/apply.ts'
import { CUSTOMER, newReference } from '../support/builders.ts'
import { CARD, NAME, NOT_FOUND, paid, paymentsRig, STARTED, saveAnyMethod } from '../support/payments-rig.ts'

const rig = await paymentsRig({ after })
afterEach(() => rig.endTest())

const HOUR_MS = 3_600_000

/** A new customer with a saved card, and the functions that end its token. */
async function newMethod() {
  const { customerId, customerEmail } = await rig.checkout()
  const owner = {
    merchantId: rig.merchant.id,
    customerId,
    gateway: NAME,
    accountId: null,
    isRecurring: true,
  }
  const method = await saveAnyMethod(rig.app, owner, CARD)
  const { recurringToken } = serializeMethod(rig.app, method)
  assert.ok(recurringToken)
  const input = {
    reference: newReference(),
    amount: money(10_000n, 'KES'),
    description: null,
    metadata: {},
    customer: { ...CUSTOMER, email: customerEmail, country: null },
    recurringToken,
  }
  return {
    input,
    ends: {
      revoked: () => revokeMethod(rig.app, rig.merchant, customerId, method.id),
      blocked: () => blockCustomer(rig.app, rig.merchant, customerId, undefined),
    },
  }
}

type Method = Awaited<ReturnType<typeof newMethod>>

/** Charges the method and runs the callback at this point. */
async function charge({ input }: Method, point: Failpoint, happens: () => Promise<unknown>) {
  const failpoints = {
    hit: async (name: Failpoint) => {
      if (name === point) await happens()
    },
  }
  return chargeSavedMethod({ ...rig.app, failpoints }, rig.merchant, input, null)
}

const crash = () => Promise.reject(new Error('died'))

/** A charge that is stored, and whose process died before the call. */
async function recordedCharge(): Promise<Method & { id: string }> {
  const method = await newMethod()
  await assert.rejects(charge(method, 'charge.after_record', crash), /died/)
  const { payment } = await chargeSavedMethod(rig.app, rig.merchant, method.input, null)
  assert.equal(payment.status, 'processing')
  return { ...method, id: payment.id }
}

describe('a token that ends between its check and the record of the charge', () => {
  for (const [end, code] of [
    ['revoked', 'recurring_token_inactive'],
    ['blocked', 'customer_blocked'],
  ] as const)
    it(`a token that is ${end} before the record charges nothing, and leaves no record`, async () => {
      const method = await newMethod()
      const calls = rig.gateway.calls.length
      await assert.rejects(charge(method, 'charge.before_record', method.ends[end]), { code })
      assert.equal(rig.gateway.calls.length, calls)
      await assert.rejects(chargeSavedMethod(rig.app, rig.merchant, method.input, null), { code })
    })

  it('a token that expires before the record charges nothing', async () => {
    const method = await newMethod()
    const wait = async () => rig.clock.advance(100 * 365 * 24 * HOUR_MS)
    await assert.rejects(charge(method, 'charge.before_record', wait), { code: 'recurring_token_inactive' })
    rig.clock.advance(-100 * 365 * 24 * HOUR_MS)
  })
})

describe('a token that ends after the record, when the process died before the call', () => {
  for (const end of ['revoked', 'blocked'] as const)
    it(`a charge whose token is ${end} after the record is polled, never submitted, and needs manual review in the end`, async () => {
      const { id, ends } = await recordedCharge()
      await ends[end]()
      const before = rig.gateway.calls.length
      for (let hours = 0; hours < 23; hours += 1) {
        rig.clock.advance(HOUR_MS)
        rig.gateway.answers('verify', NOT_FOUND)
        await rig.resolve()
      }
      const calls = rig.gateway.calls.slice(before)
      assert.deepEqual([...new Set(calls.map((call) => call.split(' ')[0]))], ['verify'])
      assert.equal((await rig.attempt(id)).status, 'requires_review')
      assert.equal((await rig.payment(id)).statusReason, 'requires_review')
    })

  it('a charge whose token ended takes the gateway’s outcome, where the call had been sent', async () => {
    const { id, ends } = await recordedCharge()
    await ends.revoked()
    rig.clock.advance(60_000)
    rig.gateway.answers('verify', NOT_FOUND)
    await rig.resolve()
    rig.clock.advance(60_000)
    rig.gateway.answers('verify', paid())
    await rig.resolve()
    assert.equal((await rig.payment(id)).status, 'successful')
    assert.equal(await rig.credits(id), 1)
  })

  it('a recorded charge of a suspended merchant is submitted only after its activation', async () => {
    const { id } = await recordedCharge()
    await suspendMerchant(rig.app, rig.merchant.id)
    const before = rig.gateway.calls.length
    rig.clock.advance(60_000)
    rig.gateway.answers('verify', NOT_FOUND)
    await rig.resolve()
    assert.deepEqual(
      rig.gateway.calls.slice(before).map((call) => call.split(' ')[0]),
      ['verify'],
    )
    await activateMerchant(rig.app, rig.merchant.id)
    rig.clock.advance(60_000)
    rig.gateway.answers('verify', NOT_FOUND)
    rig.gateway.answers('chargeSaved', paid())
    await rig.resolve()
    assert.equal((await rig.payment(id)).status, 'successful')
  })

  it('a recorded charge is submitted under the same key while its token is valid', async () => {
    const { id } = await recordedCharge()
    rig.clock.advance(60_000)
    rig.gateway.answers('verify', NOT_FOUND)
    rig.gateway.answers('chargeSaved', paid())
    await rig.resolve()
    assert.equal((await rig.payment(id)).status, 'successful')
  })
})

describe('a revocation and many charges at once', () => {
  it('a revocation during many charges leaves the charges recorded before it, and rejects the others', async () => {
    const method = await newMethod()
    const other = rig.anotherApp()
    rig.gateway.answers('chargeSaved', ...Array.from({ length: 20 }, () => paid()))
    const charges = Array.from({ length: 20 }, (_, n) => {
      const input = { ...method.input, reference: newReference() }
      return chargeSavedMethod(n % 2 === 0 ? rig.app : other, rig.merchant, input, null).then(
        ({ payment }) => payment.status,
        (refusal: { code: string }) => refusal.code,
      )
    })
    const revoked = method.ends.revoked()
    const ends = new Set(await Promise.all(charges))
    await revoked
    for (const end of ends) assert.ok(['successful', 'recurring_token_inactive'].includes(end), end)
    await assert.rejects(chargeSavedMethod(rig.app, rig.merchant, { ...method.input }, null), {
      code: 'recurring_token_inactive',
    })
  })
})

describe('a method that is revoked as soon as its payment has succeeded', () => {
  it('is not saved again by a webhook whose payment was read before', async () => {
    const checkout = await rig.checkout()
    const { id, customerId } = checkout
    rig.gateway.answers('startCheckout', STARTED)
    const view = { payment: checkout, attempts: [], attempt: undefined, isCancelled: false }
    await startAttempt(rig.app, view, { channel: 'card' })
    const [payment, attempt] = [await rig.payment(id), await rig.attempt(id)]
    const outcome = paid({ savedMethod: CARD })({ key: attempt.gatewayKey, amount: money(10_000n, 'KES') })
    const apply = () =>
      applyOutcome(rig.app, rig.gateway, { payment, attempt }, outcome, { source: 'webhook' })
    const { method } = await apply()
    assert.ok(method)
    await revokeMethod(rig.app, rig.merchant, customerId, method.id)
    const { payment: known } = await apply()
    assert.equal(known.status, 'successful')
    const methods = await listMethodRows(rig.db, rig.merchant.id, customerId)
    assert.deepEqual(
      methods.map(({ id: methodId, status }) => [methodId, status]),
      [[method.id, 'revoked']],
    )
  })
})
