// Refunds at the provider that cannot be booked: one case has all of them, and each is decided once.

import assert from 'node:assert/strict'
import { after, afterEach, describe, it } from 'node:test'
import { OPERATOR } from '../../src/case-resolutions/request.ts'
import { resolveCase } from '../../src/case-resolutions/resolve.ts'
import type { ProviderRefund, RefundListQuery } from '../../src/gateways/gateway.ts'
import { sql } from '../../src/kit/db/db.ts'
import { lookForRefunds } from '../../src/provider-refunds/look.ts'
import { claimRefundLookups } from '../../src/provider-refunds/lookup.ts'
import { addAccounts, schedulePaid } from '../../src/provider-refunds/queries.ts'
import { reviewUnbooked } from '../../src/provider-refunds/review.ts'
import { claimRefunds } from '../../src/refunds/advance.ts'
import { requestRefund } from '../../src/refunds/request.ts'
import { caseTools, refundAt, resolutionRequest as request } from '../support/case-tools.ts'
import { postingsOf } from '../support/payment-records.ts'
import { NAME, paid, paymentsRig } from '../support/payments-rig.ts'

const rig = await paymentsRig({ after })
const { clock, gateway, app } = rig
const other = rig.anotherApp()
const { casesOf, caseOf, lookUp } = caseTools(rig)

// They sort before the merchant of the rig.
const addMerchants = sql<{ id: string }>`
insert into merchants
select (jsonb_populate_record(m::merchants, jsonb_build_object('id', lpad(n::text, 32, '0')::uuid))).*
from merchants m
cross join generate_series(1, $1) n
returning id`
const dueLookups = sql<{
  key: string
}>`select gateway_key as key from attempts where refund_lookup_due_at = $1`
const endLookups = sql<unknown>`
update attempts
set refund_lookup_due_at = null
where refund_lookup_due_at = $1
returning 1`

let atProvider: ProviderRefund[] = []
let asked: RefundListQuery[] = []
let duringList: () => Promise<unknown> = async () => undefined
gateway.listRefunds = async (query) => {
  asked.push(query)
  await duringList()
  return { kind: 'refunds', refunds: atProvider }
}
const { behavior } = gateway
afterEach(() => {
  gateway.behavior = behavior
  asked = []
  return rig.endTest()
})

async function charge(): Promise<string> {
  gateway.answers('chargeSaved', paid())
  return (await rig.charge()).id
}

async function excessRefund(): Promise<string> {
  const id = await charge()
  atProvider = [refundAt(8_000n), refundAt(5_000n)]
  await lookUp(id)
  return id
}

describe('a refund at the provider that exceeds the payment', () => {
  const kind = 'refund_not_booked'

  it('opens one case of the operator with its amount, beside the refund that fits', async () => {
    const id = await excessRefund()
    await Promise.all([lookUp(id), lookUp(id, other)])
    const row = await caseOf(id, kind)
    assert.deepEqual([row.owner, row.unbookedMinor, row.version], ['operator', 5_000n, 1])
    assert.match(row.providerMessage ?? '', /^refund re-\d+\. of 50\.00 KES: exceeds_payment$/)
    assert.equal((await rig.payment(id)).status, 'partially_refunded')
  })

  it('is taken from the wallet or written off, once, and does not open again', async () => {
    // The wallet also has the money of another payment.
    await charge()
    const ends = [
      ['accept', ['reversal pending KES -5000', `reversal gateway:${NAME} KES 5000`]],
      ['write_off', ['write_off written_off KES -5000', `write_off gateway:${NAME} KES 5000`]],
    ] as const
    for (const [resolution, lines] of ends) {
      const id = await excessRefund()
      const { id: caseId } = await caseOf(id, kind)
      clock.advance(1_000)
      await resolveCase(app, OPERATOR, caseId, request(kind, resolution))
      assert.equal((await resolveCase(app, OPERATOR, caseId, request(kind, resolution))).replayed, true)
      assert.deepEqual((await postingsOf(rig.db, id)).slice(-2).sort(), [...lines].sort())
      await lookUp(id)
      assert.ok((await casesOf(id)).every(({ closedAt }) => closedAt !== null))
      atProvider = [...atProvider, refundAt(3_000n)]
      await lookUp(id)
      assert.equal((await caseOf(id, kind)).unbookedMinor, 3_000n, 'only the new refund is undecided')
    }
  })

  it('is not decided twice, even if there are more refunds than a case can name', async () => {
    const id = await charge()
    atProvider = [refundAt(8_000n), ...Array.from({ length: 20 }, () => refundAt(5_000n))]
    for (const [resolution, minor] of [
      ['accept', 100_000n],
      ['write_off', 3_000n],
      ['accept', 3_000n],
    ] as const) {
      await Promise.all([lookUp(id), lookUp(id, other)])
      const { id: caseId, unbookedMinor } = await caseOf(id, kind)
      assert.equal(unbookedMinor, minor, 'only the new refunds are undecided')
      clock.advance(1_000)
      await resolveCase(app, OPERATOR, caseId, request(kind, resolution))
      await lookUp(id)
      assert.ok((await casesOf(id)).every(({ closedAt }) => closedAt !== null))
      atProvider = [refundAt(3_000n), ...atProvider]
    }
  })

  it('does not contain a refund that another lookup has booked meanwhile', async () => {
    const id = await charge()
    const [booked, exceeding] = [refundAt(8_000n), refundAt(5_000n)]
    atProvider = [booked]
    await lookUp(id)
    const current = { payment: await rig.payment(id), attempt: await rig.attempt(id, 1) }
    const obstacle = 'exceeds_payment'
    await reviewUnbooked(app, current, [{ found: booked, obstacle }])
    assert.deepEqual(await casesOf(id), [])
    await reviewUnbooked(app, current, [
      { found: booked, obstacle },
      { found: exceeding, obstacle },
    ])
    assert.equal((await caseOf(id, kind)).unbookedMinor, 5_000n)
  })

  it('closes by itself if an unknown status becomes one that can be booked', async () => {
    const id = await charge()
    const found = refundAt(4_000n, 'unrecognized')
    atProvider = [found]
    await lookUp(id)
    assert.equal((await caseOf(id, kind)).unbookedMinor, null)
    atProvider = [{ ...found, status: 'succeeded' }]
    await lookUp(id)
    const [row] = await casesOf(id)
    assert.equal(row?.resolution, 'gateway_answered')
    assert.equal((await rig.payment(id)).refundedMinor, 4_000n)
    const excess = refundAt(7_000n)
    atProvider = [...atProvider, excess]
    await lookUp(id)
    const { unbookedReferences, decidedReferences } = await caseOf(id, kind)
    assert.deepEqual([unbookedReferences, decidedReferences], [[excess.reference], []])
  })
})

describe('refunds at a provider that lists those of one payment only', () => {
  const HOUR_MS = 3_600_000
  /** The sums of our refunds that the provider was asked about this attempt with. */
  const sumsAsked = (key: string) =>
    asked.flatMap((query) =>
      query.kind === 'payment' && query.attemptKey === key ? [query.refunded.minor] : [],
    )
  const look = async () => {
    await lookForRefunds(app)
    for (const piece of await claimRefundLookups(app, 100)) await piece()
  }

  it('are found by asking about each paid payment a few times, and those without an amount open a case', async () => {
    gateway.behavior = { ...behavior, listsRefundsByPayment: true }
    gateway.answers('chargeSaved', ({ key, amount }) => paid({ paidAt: clock.now() })({ key, amount }))
    const { id } = await rig.charge()
    const { gatewayKey } = await rig.attempt(id)
    await addAccounts(rig.db, [NAME], clock.now(), clock.now())
    atProvider = [{ ...refundAt(1n), amount: null }]
    await look()
    clock.advance(23 * HOUR_MS)
    await look()
    assert.deepEqual(sumsAsked(gatewayKey), [], 'the payment is not a day old')
    clock.advance(2 * HOUR_MS)
    await look()
    await look()
    assert.deepEqual(sumsAsked(gatewayKey), [0n])
    assert.match((await caseOf(id, 'refund_not_booked')).providerMessage ?? '', /unknown_amount/)
    clock.advance(48 * HOUR_MS)
    await look()
    assert.deepEqual(sumsAsked(gatewayKey), [0n, 0n])
  })

  it('are looked for among the payments of all merchants, and for an account of a merchant among its own', async () => {
    const { gatewayKey } = await rig.attempt(await charge())
    const [{ id: first } = { id: '' }] = await rig.db.query(addMerchants, [1_500])
    const [from, to] = [new Date(0), new Date(clock.now().getTime() + HOUR_MS)]
    const isDueAfter = async (merchantId: string | null) => {
      await schedulePaid(rig.db, { gateway: NAME, accountId: null, merchantId }, [{ from, to }], from)
      return (await rig.db.query(dueLookups, [from])).map(({ key }) => key).includes(gatewayKey)
    }
    assert.equal(await isDueAfter(first), false)
    assert.equal(await isDueAfter(null), true)
    assert.equal((await rig.db.query(endLookups, [from])).length > 0, true)
    assert.equal(await isDueAfter(rig.merchant.id), true)
    await rig.db.query(endLookups, [from])
  })

  it('are not looked up while a refund of ours has no reference yet; afterwards the query has its sum', async () => {
    gateway.behavior = { ...behavior, nonIdempotentRefunds: true, listsRefundsByPayment: true }
    const id = await charge()
    atProvider = []
    gateway.refund = async () => ({ kind: 'unknown', reason: 'no_answer', message: 'lost' })
    gateway.verifyRefund = async () => ({ kind: 'pending', gatewayReference: 're-own' })
    const input = { payment: { uuid: id }, refundReference: null, amount: null, reason: null, metadata: {} }
    await requestRefund(app, rig.merchant, input, undefined)
    const { gatewayKey } = await rig.attempt(id)
    await lookUp(id)
    assert.deepEqual(sumsAsked(gatewayKey), [])
    clock.advance(HOUR_MS)
    for (const piece of await claimRefunds(app, 100)) await piece()
    await lookUp(id)
    const { amountPaidMinor } = await rig.payment(id)
    assert.deepEqual(sumsAsked(gatewayKey), [amountPaidMinor])
  })

  it('are looked up again if a refund of ours was sent meanwhile, because it may be in the list', async () => {
    gateway.behavior = { ...behavior, nonIdempotentRefunds: true, listsRefundsByPayment: true }
    const id = await charge()
    gateway.refund = async () => ({ kind: 'succeeded', gatewayReference: 're-meanwhile' })
    const input = { payment: { uuid: id }, refundReference: null, amount: null, reason: null, metadata: {} }
    duringList = async () => {
      await requestRefund(app, rig.merchant, input, undefined)
      atProvider = [{ ...refundAt(10_000n), status: 'unrecognized' }]
    }
    await lookUp(id)
    assert.deepEqual(await casesOf(id), [])
    duringList = async () => undefined
    atProvider = []
    const { gatewayKey } = await rig.attempt(id)
    clock.advance(HOUR_MS)
    for (const piece of await claimRefundLookups(app, 100)) await piece()
    assert.deepEqual(sumsAsked(gatewayKey), [0n, 10_000n])
  })
})
