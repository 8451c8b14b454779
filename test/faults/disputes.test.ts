// F-36: success, refund and chargeback are reported in every order. Whatever the order, the merchant's balance ends
// with the same sum, and the disputes account is zero.

import assert from 'node:assert/strict'
import { after, afterEach, describe, it } from 'node:test'
import { listCasesOfAttempt } from '../../src/cases/find.ts'
import { money } from '../../src/core/money.ts'
import type { DisputeReport, Outcome, RefundOutcome } from '../../src/gateways/gateway.ts'
import { sql } from '../../src/kit/db/db.ts'
import { applyOutcome } from '../../src/outcomes/apply.ts'
import type { PaymentsApp } from '../../src/payments/app.ts'
import type { PaymentWithAttempt } from '../../src/payments/attempt.ts'
import { claimRefunds } from '../../src/refunds/advance.ts'
import { requestRefund } from '../../src/refunds/request.ts'
import { newReference } from '../support/builders.ts'
import { pathOf } from '../support/payment-records.ts'
import { NO_ANSWER, paid, paymentsRig } from '../support/payments-rig.ts'

const rig = await paymentsRig({ after })
afterEach(() => rig.endTest())

// The rig collects 100.00 KES for each payment.
const PAID = 10_000n
const REFUND = 3_000n
const DAY_MS = 24 * 3_600_000

let refundAnswer: RefundOutcome = { kind: 'succeeded', gatewayReference: 're-1' }
rig.gateway.refund = async () => refundAnswer
rig.gateway.verifyRefund = async () => refundAnswer

type ReportedStatus = DisputeReport['status'] | 'paid'

/** The payment as a process has read it, which may be some time ago. */
async function readKnown(paymentId: string): Promise<PaymentWithAttempt> {
  return { payment: await rig.payment(paymentId), attempt: await rig.attempt(paymentId) }
}

async function applyReport(
  paymentId: string,
  reported: ReportedStatus,
  app = rig.app,
  reference = 'dp-1',
): Promise<void> {
  const known = await readKnown(paymentId)
  const { key, amount } = { key: known.attempt.gatewayKey, amount: money(PAID, 'KES') }
  const disputes = reported === 'paid' ? {} : { disputes: [{ status: reported, amount, reference }] }
  await applyOutcome(app, rig.gateway, known, paid(disputes)({ key, amount }), { source: 'webhook' })
}

/** Refunds a part, if the status of the payment allows it. */
async function refund(paymentId: string): Promise<void> {
  const { status, reference } = await rig.payment(paymentId)
  if (status !== 'successful' && status !== 'partially_refunded') return
  const amount = Number(REFUND) / 100
  const input = {
    refundReference: newReference(),
    payment: { reference },
    amount,
    reason: null,
    metadata: {},
  }
  await requestRefund(rig.app, rig.merchant, input, undefined)
}

/** The background checks the status of pending refunds. */
async function resolveRefunds(): Promise<void> {
  rig.clock.advance(60_000)
  for (const piece of await claimRefunds(rig.app, 100)) await piece()
}

interface Sums {
  wallet: bigint
  disputed: bigint
}

const selectSums = sql<Sums>`
select
  coalesce(sum(p.amount_minor) filter (where p.account in ('available', 'pending')), 0)::bigint as wallet,
  coalesce(sum(p.amount_minor) filter (where p.account = 'disputed'), 0)::bigint as disputed
from postings p
join ledger_entries e on e.merchant_id = p.merchant_id and e.id = p.entry_id
where e.payment_id = $1`

async function sumsOf(paymentId: string): Promise<Sums> {
  const [sums] = await rig.db.query(selectSums, [paymentId])
  assert.ok(sums)
  return sums
}

/** A charge whose response was lost, so that its outcome is unknown. */
async function newCharge(): Promise<string> {
  rig.gateway.answers('chargeSaved', NO_ANSWER)
  return (await rig.charge()).id
}

function permutations<Item>(items: readonly Item[]): Item[][] {
  if (items.length < 2) return [[...items]]
  return items.flatMap((item, n) => permutations(items.toSpliced(n, 1)).map((rest) => [item, ...rest]))
}

describe('F-36: reports in any order', () => {
  for (const end of ['won', 'lost'] as const) {
    it(`reports of a success, a refund and a chargeback that is ${end} end with one sum in any order`, async () => {
      refundAnswer = { kind: 'succeeded', gatewayReference: 're-1' }
      for (const order of permutations(['paid', 'refund', 'open', end] as const)) {
        const id = await newCharge()
        for (const reported of order) await (reported === 'refund' ? refund(id) : applyReport(id, reported))
        const { status, refundedMinor } = await rig.payment(id)
        const label = order.join(', ')
        const left = end === 'won' ? PAID - refundedMinor : 0n
        assert.deepEqual(await sumsOf(id), { wallet: left, disputed: 0n }, label)
        assert.equal(await rig.credits(id), 1, label)
        const ends = end === 'won' ? ['successful', 'partially_refunded'] : ['reversed']
        assert.ok(ends.includes(status), `${label}: ${status}`)
      }
    })

    it(`reports of a chargeback that is ${end}, around a pending refund, end with one sum in any order`, async () => {
      for (const proof of ['succeeded', 'failed'] as const) {
        for (const order of permutations(['open', end, 'proof'] as const)) {
          refundAnswer = { kind: 'pending', gatewayReference: 're-1' }
          const id = await newCharge()
          await applyReport(id, 'paid')
          await refund(id)
          refundAnswer =
            proof === 'succeeded'
              ? { kind: 'succeeded', gatewayReference: 're-1' }
              : { kind: 'failed', message: 'no', gatewayReference: 're-1' }
          for (const reported of order) {
            if (reported !== 'proof') await applyReport(id, reported)
            else await resolveRefunds()
          }
          const { refundedMinor } = await rig.payment(id)
          const label = `${proof}: ${order.join(', ')}`
          assert.equal(refundedMinor, proof === 'succeeded' ? REFUND : 0n, label)
          const { wallet, disputed } = await sumsOf(id)
          assert.equal(disputed, 0n, label)
          assert.equal(wallet, end === 'won' ? PAID - refundedMinor : 0n, label)
        }
      }
    })
  }

  it('a report that two processes apply at once moves the money once', async () => {
    const other = rig.anotherApp()
    for (let round = 0; round < 5; round += 1) {
      const id = await newCharge()
      await applyReport(id, 'paid')
      await Promise.all([
        applyReport(id, 'open'),
        applyReport(id, 'open', other),
        applyReport(id, 'won', other),
      ])
      await Promise.all([applyReport(id, 'won'), applyReport(id, 'won', other), applyReport(id, 'open')])
      assert.deepEqual(await sumsOf(id), { wallet: PAID, disputed: 0n })
      const second = await newCharge()
      await applyReport(second, 'paid')
      await Promise.all([
        applyReport(second, 'lost'),
        applyReport(second, 'lost', other),
        applyReport(second, 'open', other),
      ])
      await applyReport(second, 'lost')
      assert.deepEqual(await sumsOf(second), { wallet: 0n, disputed: 0n })
    }
  })

  it('reports of consecutive disputes are distinguished by the dispute id', async () => {
    const id = await newCharge()
    for (const [reported, reference] of [
      ['paid', 'dp-1'],
      ['open', 'dp-1'],
      ['open', 'dp-2'],
      ['won', 'dp-1'],
      ['open', 'dp-1'],
      ['open', 'dp-2'],
      ['lost', 'dp-2'],
    ] as const)
      await applyReport(id, reported, rig.app, reference)
    assert.deepEqual((await pathOf(rig.db, id)).slice(-4), ['disputed', 'successful', 'disputed', 'reversed'])
    assert.deepEqual(await sumsOf(id), { wallet: 0n, disputed: 0n })
  })
})

describe('F-36: two disputes of one payment', () => {
  const PARTS = { 'dp-1': 4_000n, 'dp-2': 5_000n }
  type Name = keyof typeof PARTS
  type DisputeStatuses = Partial<Record<Name, DisputeReport['status']>>

  /** The gateway's status check returns all its disputes, the latest first. */
  async function applyDisputes(
    paymentId: string,
    stand: DisputeStatuses,
    app = rig.app,
    read?: PaymentWithAttempt,
  ): Promise<void> {
    const known = read ?? (await readKnown(paymentId))
    const names = (Object.keys(stand) as Name[]).sort().reverse()
    const disputes = names.map((reference) => {
      const amount = money(PARTS[reference], 'KES')
      return { status: stand[reference] ?? 'open', amount, reference }
    })
    const asked = { key: known.attempt.gatewayKey, amount: money(PAID, 'KES') }
    await applyOutcome(app, rig.gateway, known, paid({ disputes })(asked), { source: 'webhook' })
  }

  /** The combinations of statuses that a status check may return before the end. */
  const statusesOf = (first: DisputeReport['status'], second: DisputeReport['status']): DisputeStatuses[] => [
    { 'dp-1': 'open' },
    { 'dp-1': first, 'dp-2': 'open' },
    { 'dp-1': 'open', 'dp-2': second },
  ]

  for (const first of ['won', 'lost'] as const)
    for (const second of ['won', 'lost'] as const)
      it(`two disputes that are ${first} and ${second} end with one sum, whatever statuses were seen in between`, async () => {
        const stands = statusesOf(first, second)
        for (let seen = 0; seen < 2 ** stands.length; seen += 1) {
          const id = await newCharge()
          await applyReport(id, 'paid')
          for (const [n, stand] of stands.entries()) if (seen & (1 << n)) await applyDisputes(id, stand)
          for (let n = 0; n < 2; n += 1) await applyDisputes(id, { 'dp-1': first, 'dp-2': second })
          const lost = (first === 'lost' ? PARTS['dp-1'] : 0n) + (second === 'lost' ? PARTS['dp-2'] : 0n)
          const label = seen.toString(2)
          assert.deepEqual(await sumsOf(id), { wallet: PAID - lost, disputed: 0n }, label)
          assert.equal((await rig.payment(id)).status, lost > 0n ? 'reversed' : 'successful', label)
        }
      })

  it('two disputes never take more than was paid, also when both claim all of it', async () => {
    const id = await newCharge()
    await applyReport(id, 'paid')
    for (const reference of ['dp-1', 'dp-2']) await applyReport(id, 'lost', rig.app, reference)
    assert.deepEqual(await sumsOf(id), { wallet: 0n, disputed: 0n })
  })

  it('disputes that are reported to a process with an outdated payment are recorded and not logged', async () => {
    const id = await newCharge()
    await applyReport(id, 'paid')
    const outdated = await readKnown(id)
    await applyDisputes(id, { 'dp-1': 'open' })
    const written: string[] = []
    const log = { ...rig.app.log, write: (key: string) => written.push(key) } as PaymentsApp['log']
    await applyDisputes(id, { 'dp-1': 'won', 'dp-2': 'open' }, { ...rig.app, log }, outdated)
    assert.ok(!written.includes('dispute.unrecorded'), written.join(', '))
    assert.deepEqual((await pathOf(rig.db, id)).slice(-3), ['disputed', 'successful', 'disputed'])
    assert.deepEqual(await sumsOf(id), { wallet: PAID - PARTS['dp-2'], disputed: PARTS['dp-2'] })
  })

  it('two disputes that two processes apply at once move the money once', async () => {
    const other = rig.anotherApp()
    for (let round = 0; round < 5; round += 1) {
      const id = await newCharge()
      await applyReport(id, 'paid')
      await applyDisputes(id, { 'dp-1': 'open' })
      const stand = { 'dp-1': 'lost', 'dp-2': 'lost' } as const
      await Promise.all([
        applyDisputes(id, stand),
        applyDisputes(id, stand, other),
        applyDisputes(id, { 'dp-1': 'open' }, other),
      ])
      await applyDisputes(id, stand)
      assert.deepEqual(await sumsOf(id), { wallet: 1_000n, disputed: 0n })
    }
  })
})

describe('a webhook about a payment that has succeeded', () => {
  const open: Partial<Extract<Outcome, { kind: 'succeeded' }>> = {
    disputes: [{ status: 'open', amount: money(PAID, 'KES'), reference: 'dp-1' }],
  }

  async function paidCharge() {
    rig.gateway.answers('chargeSaved', paid())
    const { id } = await rig.charge()
    return { id, attempt: await rig.attempt(id) }
  }

  const notifyDispute = (attempt: Awaited<ReturnType<typeof rig.attempt>>) =>
    rig.deliverWebhook(attempt, { checksPaid: true })

  it('a webhook about a successful payment triggers a status check only when it is about a dispute', async () => {
    const { id, attempt } = await paidCharge()
    await rig.deliverWebhook(attempt)
    assert.equal(await rig.resolve(), 0)
    await notifyDispute(attempt)
    rig.gateway.answers('verify', paid(open))
    assert.equal(await rig.resolve(), 1)
    assert.equal((await rig.payment(id)).status, 'disputed')
  })

  it('a dispute webhook is polled until the gateway answers, however long ago the payment was', async () => {
    const { id, attempt } = await paidCharge()
    rig.clock.advance(90 * DAY_MS)
    await notifyDispute(attempt)
    rig.gateway.answers('verify', NO_ANSWER, NO_ANSWER, paid(open))
    for (let n = 0; n < 3; n += 1) {
      assert.equal(await rig.resolve(), 1)
      rig.clock.advance(60_000)
    }
    assert.equal((await rig.payment(id)).status, 'disputed')
  })

  it('an open dispute is polled every day without further webhooks, and not after its end', async () => {
    const { id, attempt } = await paidCharge()
    await notifyDispute(attempt)
    rig.gateway.answers('verify', paid(open), paid(open))
    assert.equal(await rig.resolve(), 1)
    assert.equal(await rig.resolve(), 0)
    rig.clock.advance(2 * DAY_MS)
    assert.equal(await rig.resolve(), 1)
    rig.clock.advance(2 * DAY_MS)
    rig.gateway.answers(
      'verify',
      paid({ disputes: [{ status: 'lost', amount: money(PAID, 'KES'), reference: 'dp-1' }] }),
    )
    assert.equal(await rig.resolve(), 1)
    assert.equal((await rig.payment(id)).status, 'reversed')
    rig.clock.advance(30 * DAY_MS)
    assert.equal(await rig.resolve(), 0)
  })

  it('a dispute in another currency than the payment opens one case and changes nothing else', async () => {
    const { id, attempt } = await paidCharge()
    await notifyDispute(attempt)
    rig.gateway.answers(
      'verify',
      paid({ disputes: [{ status: 'open', amount: money(5n, 'USD'), reference: 'x' }] }),
    )
    await rig.resolve()
    assert.equal((await rig.payment(id)).status, 'successful')
    const cases = () => listCasesOfAttempt(rig.db, attempt.merchantId, attempt.id)
    assert.deepEqual(
      (await cases()).map(({ kind, closedAt }) => [kind, closedAt]),
      [['dispute_currency_mismatch', null]],
    )
    await notifyDispute(attempt)
    await rig.resolve()
    assert.equal((await cases()).length, 1)
  })
})
