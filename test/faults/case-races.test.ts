// Every kind of case: of two concurrent resolutions one wins, and the ledger has only its effect. Cases of duplicate payments
// are resolved in every way that they have.

import assert from 'node:assert/strict'
import { after, afterEach, describe, it } from 'node:test'
import { requestApproval } from '../../src/case-resolutions/approval.ts'
import { OPERATOR, operatorActor } from '../../src/case-resolutions/request.ts'
import { resolveCase } from '../../src/case-resolutions/resolve.ts'
import { CASE_KIND_NAMES, type CaseKind, type Resolution } from '../../src/cases/case-kinds.ts'
import { requireCase } from '../../src/cases/find.ts'
import { proposeResolution } from '../../src/cases/open.ts'
import { cancelAttempt } from '../../src/checkout/payer-actions.ts'
import { startAttempt } from '../../src/checkout/start-attempt.ts'
import { ApiError } from '../../src/core/errors.ts'
import { money } from '../../src/core/money.ts'
import type { DisputeReport, ProviderRefund, RefundOutcome } from '../../src/gateways/gateway.ts'
import { sql } from '../../src/kit/db/db.ts'
import { applyOutcome } from '../../src/outcomes/apply.ts'
import { PROCESSING_LIMIT_MS } from '../../src/outcomes/review.ts'
import { listAttempts } from '../../src/payments/find.ts'
import { claimRefunds, wakeRefunds } from '../../src/refunds/advance.ts'
import { refundDuplicates } from '../../src/refunds/duplicates.ts'
import { listRefunds } from '../../src/refunds/find.ts'
import { requestRefund } from '../../src/refunds/request.ts'
import { caseTools, refundAt, resolutionRequest as request } from '../support/case-tools.ts'
import { postingsOf } from '../support/payment-records.ts'
import { NAME, NO_ANSWER, NOT_FOUND, PENDING, paid, paymentsRig, STARTED } from '../support/payments-rig.ts'

const rig = await paymentsRig({ after })
const { clock, gateway, merchant, app } = rig
const other = rig.anotherApp()
const { casesOf, caseOf, lookUp } = caseTools(rig)
const HOUR_MS = 3_600_000
const requireApprovals = sql<unknown>`
update merchants
set settings = settings || '{"caseApprovals": [{"currency": "KES", "from": 1}]}'
where id = $1`
const addOperator = sql<unknown>`
insert into users (id, email, name, kind, created_at)
values ($1::uuid, $1::uuid::text, 'An operator', 'operator', $2)`
const PAID = money(10_000n, 'KES')

const REFUNDED: RefundOutcome = { kind: 'succeeded', gatewayReference: 're-1' }
const REFUSED: RefundOutcome = { kind: 'failed', message: 'The account is closed.', gatewayReference: 're-1' }
const UNKNOWN_REFUND: RefundOutcome = { kind: 'unknown', reason: 'no_answer', message: 'no answer' }
let refundAnswer: RefundOutcome = REFUNDED
let atProvider: ProviderRefund[] = []
const refund = async () => refundAnswer
gateway.verifyRefund = async () => refundAnswer
gateway.listRefunds = async () => ({ kind: 'refunds', refunds: atProvider })

const reset = async () => {
  await rig.endTest()
  refundAnswer = REFUNDED
  atProvider = []
  gateway.refund = refund
}
await reset()
afterEach(reset)

async function charge(): Promise<string> {
  gateway.answers('chargeSaved', paid())
  return (await rig.charge()).id
}

/** A charge without an answer, about which the gateway then gives this one. */
async function uncertainCharge(waitMs: number, answer: typeof NO_ANSWER): Promise<string> {
  gateway.answers('chargeSaved', NO_ANSWER)
  const { id } = await rig.charge()
  clock.advance(waitMs)
  gateway.answers('verify', answer)
  await rig.resolve()
  return id
}

const begin = (view: Parameters<typeof startAttempt>[1]) => startAttempt(app, view, { channel: 'card' })

/** A checkout whose gateway reports a success that does not match. */
async function mismatch(changes: Parameters<typeof paid>[0]): Promise<string> {
  const payment = await rig.checkout()
  gateway.answers('startCheckout', STARTED)
  await begin({ payment, attempts: [], attempt: undefined, isCancelled: false })
  clock.advance(30_000)
  gateway.answers('verify', paid(changes))
  await rig.resolve()
  return payment.id
}

async function applySuccess(paymentId: string, number: number, disputes?: DisputeReport[]): Promise<void> {
  const known = { payment: await rig.payment(paymentId), attempt: await rig.attempt(paymentId, number) }
  const outcome = paid(disputes && { disputes })({ key: known.attempt.gatewayKey, amount: PAID })
  await applyOutcome(app, gateway, known, outcome, { source: 'webhook' })
}

/** A checkout that was paid by its second attempt and then by its first. */
async function paidTwice(): Promise<string> {
  const payment = await rig.checkout()
  gateway.answers('startCheckout', STARTED, STARTED)
  gateway.answers('cancel', PENDING)
  await begin({ payment, attempts: [], attempt: undefined, isCancelled: false })
  const attempts = await listAttempts(rig.db, merchant.id, payment.id)
  clock.advance(30_000)
  const current = await rig.payment(payment.id)
  const view = { payment: current, attempts, attempt: attempts.at(-1), isCancelled: false }
  await begin(await cancelAttempt(app, view))
  await applySuccess(payment.id, 2)
  await applySuccess(payment.id, 1)
  return payment.id
}

const disputed = (status: DisputeReport['status']): DisputeReport[] => [
  { status, amount: PAID, reference: 'dp-9' },
]

async function notRefundable(): Promise<string> {
  const id = await paidTwice()
  delete gateway.refund
  await refundDuplicates(app)
  gateway.refund = refund
  return id
}

async function duplicateRefundFailed(): Promise<string> {
  const id = await paidTwice()
  refundAnswer = REFUSED
  await refundDuplicates(app)
  refundAnswer = REFUNDED
  return id
}

async function duplicateDisputed(): Promise<string> {
  const id = await paidTwice()
  await applySuccess(id, 1, disputed('open'))
  return id
}

async function duplicateDisputedAfterRefund(): Promise<string> {
  const id = await paidTwice()
  await refundDuplicates(app)
  await applySuccess(id, 1, disputed('open'))
  return id
}

async function disputedInDollars(): Promise<string> {
  const id = await charge()
  await applySuccess(id, 1, [{ status: 'open', amount: money(500n, 'USD'), reference: 'dp-8' }])
  return id
}

async function refundOf(payment: string, answer: RefundOutcome) {
  refundAnswer = answer
  const input = {
    payment: { uuid: payment },
    refundReference: null,
    amount: null,
    reason: null,
    metadata: {},
  }
  return requestRefund(app, merchant, input, undefined)
}

const advanceRefunds = async () => {
  for (const piece of await claimRefunds(app, 100)) await piece()
}

async function unknownRefund(): Promise<string> {
  const id = await charge()
  await refundOf(id, UNKNOWN_REFUND)
  for (let n = 0; n < 2; n += 1) {
    clock.advance(2 * HOUR_MS)
    await advanceRefunds()
  }
  return id
}

async function lateFailure(): Promise<string> {
  const id = await charge()
  await refundOf(id, REFUNDED)
  refundAnswer = REFUSED
  const { gatewayKey: key } = await rig.attempt(id)
  await wakeRefunds(app, { gateway: NAME, accountId: null, key })
  await advanceRefunds()
  return id
}

async function excessRefund(): Promise<string> {
  const id = await charge()
  atProvider = [refundAt(8_000n), refundAt(5_000n)]
  await lookUp(id)
  return id
}

/** How each kind is made, and two resolutions that exclude each other, with the proof that they need. */
const RACES: Readonly<Record<CaseKind, { make: () => Promise<string>; between: [Resolution, Resolution] }>> =
  {
    underpaid: { make: () => mismatch({ paid: money(9_000n, 'KES') }), between: ['accept', 'write_off'] },
    overpaid: { make: () => mismatch({ paid: money(11_000n, 'KES') }), between: ['accept', 'return'] },
    currency_mismatch: {
      make: () => mismatch({ paid: money(500n, 'USD') }),
      between: ['return', 'write_off'],
    },
    reference_mismatch: {
      make: () => mismatch({ key: 'of-another-payment' }),
      between: ['mark_paid', 'mark_failed'],
    },
    payment_requires_review: {
      make: () => uncertainCharge(23 * HOUR_MS, NOT_FOUND),
      between: ['mark_paid', 'mark_failed'],
    },
    unknown_answer: {
      make: () => uncertainCharge(HOUR_MS, { kind: 'unknown', reason: 'unrecognized', message: 'on hold' }),
      between: ['mark_paid', 'mark_failed'],
    },
    processing_too_long: {
      make: () => uncertainCharge(PROCESSING_LIMIT_MS, NO_ANSWER),
      between: ['mark_paid', 'mark_failed'],
    },
    duplicate_not_refundable: { make: notRefundable, between: ['return', 'write_off'] },
    duplicate_refund_failed: { make: duplicateRefundFailed, between: ['return', 'write_off'] },
    duplicate_disputed: { make: duplicateDisputed, between: ['return', 'write_off'] },
    duplicate_disputed_after_refund: {
      make: duplicateDisputedAfterRefund,
      between: ['write_off', 'write_off'],
    },
    dispute_currency_mismatch: { make: disputedInDollars, between: ['accept', 'accept'] },
    refund_requires_review: { make: unknownRefund, between: ['return', 'mark_failed'] },
    refund_failed_late: { make: lateFailure, between: ['accept', 'write_off'] },
    refund_not_booked: { make: excessRefund, between: ['accept', 'write_off'] },
  }

describe('two concurrent resolutions', () => {
  for (const kind of CASE_KIND_NAMES)
    it(`a case of the kind ${kind} is resolved once when two people decide at the same moment`, async () => {
      const { make, between } = RACES[kind]
      const id = await make()
      const { id: caseId } = await caseOf(id, kind)
      const before = (await postingsOf(rig.db, id)).length
      // The ledger lists entries by time.
      clock.advance(1_000)
      const [first, second] = between.map((resolution) => request(kind, resolution))
      assert.ok(first && second)
      const both = await Promise.allSettled([
        resolveCase(app, OPERATOR, caseId, first),
        resolveCase(other, OPERATOR, caseId, second),
      ])
      const winners = both.flatMap((one) =>
        one.status === 'fulfilled' && !one.value.replayed ? [one.value] : [],
      )
      assert.equal(winners.length, 1, 'one resolution stands')
      for (const one of both)
        if (one.status === 'rejected')
          assert.ok(one.reason instanceof ApiError && one.reason.code === 'case_resolved', String(one.reason))
      const row = (await casesOf(id)).find((one) => one.id === caseId)
      assert.equal(row?.resolution, winners[0]?.details.row.resolution)
      const added = (await postingsOf(rig.db, id)).slice(before)
      const entries = new Set(added.map((line) => line.split(' ')[0]))
      assert.ok(entries.size <= 1, `one effect: ${added.join(', ')}`)
    })
})

describe('an approval', () => {
  const refusedWith = (code: string) => (error: unknown) => error instanceof ApiError && error.code === code

  it('is refused if the proposal was made after the case was read, since its author was not compared with the person', async () => {
    const id = await mismatch({ paid: money(9_000n, 'KES') })
    const read = await requireCase(app, merchant, (await caseOf(id, 'underpaid')).id)
    const asked = request('underpaid', 'accept')
    const at = clock.now().toISOString()
    await rig.db.transaction((tx) => proposeResolution(tx, read.row, { ...asked, by: 'key:a', at }))
    const approval = { ...asked, proposedAt: at }
    const approve = (details: typeof read) =>
      requestApproval(app, { merchant, by: 'key:b' }, details, approval, undefined)
    await assert.rejects(approve(read), refusedWith('invalid_state'))
    const readAgain = await requireCase(app, merchant, read.row.id)
    await assert.rejects(approve(readAgain), refusedWith('approver_not_independent'))
  })

  it('is not made by a decision of a person who saw no proposal, or another one', async () => {
    await rig.db.query(requireApprovals, [merchant.id])
    const id = await mismatch({ paid: money(9_000n, 'KES') })
    const { id: caseId } = await caseOf(id, 'underpaid')
    const decide = (userId: string, expectedProposal: string | null) =>
      resolveCase(app, operatorActor({ userId, name: userId }), caseId, {
        ...request('underpaid', 'accept'),
        expectedProposal,
      })
    const [first, second] = [app.random.uuid(), app.random.uuid()]
    await rig.db.query(addOperator, [second, clock.now()])
    const { details } = await decide(first, null)
    assert.ok(details.row.proposal)
    assert.equal((await decide(first, null)).replayed, true, 'the same form, sent twice')
    await assert.rejects(decide(second, null), refusedWith('invalid_state'))
    await assert.rejects(decide(second, '2026-01-01T00:00:00.000Z'), refusedWith('invalid_state'))
    assert.equal((await caseOf(id, 'underpaid')).closedAt, null)
    const approved = await decide(second, details.row.proposal.at)
    assert.equal(approved.details.row.resolution, 'accept')
  })

  it('is of nothing if the case has ended meanwhile: it may be open again before the decision is carried out', async () => {
    const id = await mismatch({ paid: money(9_000n, 'KES') })
    const read = await requireCase(app, merchant, (await caseOf(id, 'underpaid')).id)
    await resolveCase(app, OPERATOR, read.row.id, request('underpaid', 'return'))
    const approval = { ...request('underpaid', 'accept'), proposedAt: clock.now().toISOString() }
    const approved = await requestApproval(app, { merchant, by: 'key:b' }, read, approval, undefined)
    assert.deepEqual(approved, { kind: 'proposed', replayed: true })
  })
})

describe('a case of a duplicate payment', () => {
  const heldFor = async (id: string) =>
    (await postingsOf(rig.db, id)).filter((line) => line.includes(' duplicates '))

  for (const kind of ['duplicate_not_refundable', 'duplicate_refund_failed', 'duplicate_disputed'] as const) {
    it(`${kind} is written off once`, async () => {
      const id = await RACES[kind].make()
      const { id: caseId } = await caseOf(id, kind)
      clock.advance(1_000)
      const first = await resolveCase(app, OPERATOR, caseId, request(kind, 'write_off'))
      const again = await resolveCase(other, OPERATOR, caseId, request(kind, 'write_off'))
      assert.deepEqual([first.replayed, again.replayed], [false, true])
      assert.deepEqual((await postingsOf(rig.db, id)).slice(-2), [
        'write_off duplicates KES -10000',
        'write_off written_off KES 10000',
      ])
      clock.advance(2 * HOUR_MS)
      await refundDuplicates(app)
      assert.equal((await heldFor(id)).length, 2, 'nothing is sent back later')
    })

    it(`${kind} is returned once: by a refund, or with a proof`, async () => {
      const id = await RACES[kind].make()
      const { id: caseId } = await caseOf(id, kind)
      clock.advance(1_000)
      const asked = request(kind, 'return')
      const first = await resolveCase(app, OPERATOR, caseId, asked)
      const again = await resolveCase(other, OPERATOR, caseId, asked)
      assert.deepEqual([first.replayed, again.replayed], [false, true])
      const entry = asked.proof ? 'reversal' : 'refund'
      assert.deepEqual((await postingsOf(rig.db, id)).slice(-2), [
        `${entry} duplicates KES -10000`,
        `${entry} gateway:${NAME} KES 10000`,
      ])
      const { rows } = await listRefunds(app, merchant, { payment: id })
      const given = rows.filter(({ status }) => status === 'successful')
      assert.equal(given.length, asked.proof ? 0 : 1)
    })
  }
})

describe('a case about an unknown outcome, and the outcome', () => {
  const unrecognized = { kind: 'unknown', reason: 'unrecognized', message: 'on hold' } as const

  async function processingCharge() {
    gateway.answers('chargeSaved', NO_ANSWER)
    const { id } = await rig.charge()
    clock.advance(HOUR_MS)
    return { payment: await rig.payment(id), attempt: await rig.attempt(id) }
  }
  type Known = Awaited<ReturnType<typeof processingCharge>>
  const review = (known: Known) => applyOutcome(app, gateway, known, unrecognized, { source: 'resolver' })
  const succeed = (known: Known) => {
    const outcome = paid()({ key: known.attempt.gatewayKey, amount: PAID })
    return applyOutcome(other, gateway, known, outcome, { source: 'webhook' })
  }
  const endOf = async (id: string) => {
    const endings = (await casesOf(id)).map(({ resolution }) => resolution)
    return [(await rig.payment(id)).status, ...endings]
  }

  it('the outcome closes a case that another process opened after the payment was read', async () => {
    const known = await processingCharge()
    await review(known)
    await succeed(known)
    assert.deepEqual(await endOf(known.payment.id), ['successful', 'gateway_answered'])
  })

  it('no case is opened about a payment that another process has moved since it was read', async () => {
    const known = await processingCharge()
    await succeed(known)
    await review(known)
    assert.deepEqual(await endOf(known.payment.id), ['successful'])
  })

  it('no case stays open when it is opened at the moment of the outcome', async () => {
    for (let n = 0; n < 10; n += 1) {
      const known = await processingCharge()
      await Promise.all(n % 2 === 0 ? [review(known), succeed(known)] : [succeed(known), review(known)])
      const [status, ...endings] = await endOf(known.payment.id)
      assert.equal(status, 'successful')
      assert.ok(
        endings.every((ending) => ending === 'gateway_answered'),
        String(endings),
      )
    }
  })

  it('the outcome closes a case of an attempt that another process marked for review meanwhile', async () => {
    gateway.answers('chargeSaved', NO_ANSWER)
    const { id } = await rig.charge()
    clock.advance(23 * HOUR_MS)
    const known = { payment: await rig.payment(id), attempt: await rig.attempt(id) }
    gateway.answers('verify', NOT_FOUND)
    await rig.resolve()
    await succeed(known)
    assert.deepEqual(await endOf(id), ['successful', 'gateway_answered'])
  })
})
