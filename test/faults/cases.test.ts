// Cases about gateways: the outcome stays unknown, the money has another currency or reference, a duplicate payment or a
// refund is stuck. Each opens once, is resolved in every way that it has, and leaves the ledger and the invariants right.

import assert from 'node:assert/strict'
import { after, afterEach, describe, it } from 'node:test'
import { OPERATOR, operatorActor, type ResolutionRequest } from '../../src/case-resolutions/request.ts'
import { resolveCase } from '../../src/case-resolutions/resolve.ts'
import { CASE_KIND_NAMES, CASE_KINDS, type Resolution } from '../../src/cases/case-kinds.ts'
import { listCases } from '../../src/cases/find.ts'
import { startAttempt } from '../../src/checkout/start-attempt.ts'
import { ApiError } from '../../src/core/errors.ts'
import { money } from '../../src/core/money.ts'
import type { Outcome, RefundOutcome } from '../../src/gateways/gateway.ts'
import { sql } from '../../src/kit/db/db.ts'
import { PROCESSING_LIMIT_MS } from '../../src/outcomes/review.ts'
import { claimRefunds } from '../../src/refunds/advance.ts'
import { listRefunds } from '../../src/refunds/find.ts'
import { requestRefund } from '../../src/refunds/request.ts'
import { eventsOf, movesOf, postingsOf } from '../support/payment-records.ts'
import { NAME, NO_ANSWER, NOT_FOUND, PENDING, paid, paymentsRig, STARTED } from '../support/payments-rig.ts'

const rig = await paymentsRig({ after })
const { clock, gateway, merchant, app } = rig
const other = rig.anotherApp()
const HOUR_MS = 3_600_000

const REFUNDED: RefundOutcome = { kind: 'succeeded', gatewayReference: 're-1' }
const UNKNOWN_REFUND: RefundOutcome = { kind: 'unknown', reason: 'no_answer', message: 'no answer' }
let refundAnswer: RefundOutcome = REFUNDED
gateway.refund = async () => refundAnswer
gateway.verifyRefund = async () => refundAnswer

afterEach(async () => {
  await rig.endTest()
  refundAnswer = REFUNDED
})

const casesOf = async (paymentId: string) => {
  const { cases } = await listCases(app, null, { state: 'all', limit: 100, payment: paymentId })
  return cases.map(({ row }) => row)
}

async function openCaseOf(paymentId: string) {
  const open = (await casesOf(paymentId)).filter(({ closedAt }) => closedAt === null)
  assert.equal(open.length, 1, 'one case is open')
  return open[0] ?? assert.fail()
}

const request = (resolution: Resolution, proof: string | null = null): ResolutionRequest => ({
  resolution,
  note: 'Looked up at the provider.',
  proof,
})

/** Resolves, then repeats: the repetition must be a replay and change nothing. */
async function resolveTwice(paymentId: string, asked: ResolutionRequest) {
  const { id } = await openCaseOf(paymentId)
  // The ledger lists entries by time.
  clock.advance(1_000)
  const first = await resolveCase(app, OPERATOR, id, asked)
  assert.deepEqual([first.replayed, first.details.row.closedAt !== null], [false, true])
  const before = await postingsOf(rig.db, paymentId)
  const again = await resolveCase(other, OPERATOR, id, asked)
  assert.equal(again.replayed, true)
  assert.deepEqual(await postingsOf(rig.db, paymentId), before)
  return first.details.row
}

const isApiError = (code: string) => (error: unknown) => error instanceof ApiError && error.code === code

const CAPTURE = [`capture gateway:${NAME} KES -10000`, 'capture pending KES 10000']

/** A charge that the gateway does not know, after the time for which it keeps keys. */
async function chargeUnderReview(): Promise<string> {
  gateway.answers('chargeSaved', NO_ANSWER)
  const { id } = await rig.charge()
  clock.advance(23 * HOUR_MS)
  gateway.answers('verify', NOT_FOUND)
  await rig.resolve()
  return id
}

/** A charge whose outcome is unknown for longer than the limit. */
async function overdueCharge(): Promise<string> {
  gateway.answers('chargeSaved', NO_ANSWER)
  const { id } = await rig.charge()
  clock.advance(PROCESSING_LIMIT_MS)
  gateway.answers('verify', NO_ANSWER)
  await rig.resolve()
  return id
}

const UNCERTAIN = [
  ['payment_requires_review', chargeUnderReview, 'requires_review'],
  ['processing_too_long', overdueCharge, 'needs_review'],
] as const

for (const [kind, make, reason] of UNCERTAIN) {
  describe(`a case of the kind ${kind}`, () => {
    it(`${kind} opens once for the operator, with its event`, async () => {
      const id = await make()
      const { status, statusReason } = await rig.payment(id)
      assert.deepEqual([status, statusReason], ['processing', reason])
      const row = await openCaseOf(id)
      assert.deepEqual([row.kind, row.owner], [kind, 'operator'])
      const events = await eventsOf(rig.db, row.id)
      assert.deepEqual(
        events.map(({ type, version }) => `${type} ${version}`),
        ['payment.needs_review 1'],
      )
      await assert.rejects(
        resolveCase(app, { merchant, by: 'key:x' }, row.id, request('mark_failed')),
        isApiError('resolution_not_possible'),
      )
    })

    it(`${kind} marked as paid with a proof credits the payment once`, async () => {
      const id = await make()
      const { id: caseId } = await openCaseOf(id)
      await assert.rejects(
        resolveCase(app, OPERATOR, caseId, request('mark_paid')),
        isApiError('validation_failed'),
      )
      await resolveTwice(id, request('mark_paid', `ch_${caseId}`))
      const [payment, attempt] = [await rig.payment(id), await rig.attempt(id)]
      assert.deepEqual([payment.status, payment.amountPaidMinor], ['successful', 10_000n])
      assert.deepEqual([attempt.status, attempt.gatewayReference], ['succeeded', `ch_${caseId}`])
      assert.deepEqual(await postingsOf(rig.db, id), CAPTURE)
      const last = (await movesOf(rig.db, id)).at(-1)
      assert.deepEqual([last?.to, last?.proof, last?.source], ['successful', 'review', 'case'])
    })

    it(`${kind} marked as failed fails the payment, and a later proof of the gateway still counts`, async () => {
      const id = await make()
      await resolveTwice(id, request('mark_failed'))
      assert.deepEqual([(await rig.payment(id)).status, await postingsOf(rig.db, id)], ['failed', []])
      await rig.deliverWebhook(await rig.attempt(id))
      gateway.answers('verify', paid())
      await rig.resolve()
      assert.deepEqual([(await rig.payment(id)).status, await rig.credits(id)], ['successful', 1])
    })

    it(`${kind} stays open while the gateway does not know, and closes with its answer`, async () => {
      const id = await make()
      const { id: caseId } = await openCaseOf(id)
      gateway.answers('verify', NO_ANSWER)
      const asked = await resolveCase(app, OPERATOR, caseId, request('ask_again'))
      assert.equal(asked.details.row.closedAt, null)
      gateway.answers('verify', paid())
      await resolveTwice(id, request('ask_again'))
      assert.deepEqual(
        [(await rig.payment(id)).status, await postingsOf(rig.db, id)],
        ['successful', CAPTURE],
      )
    })

    it(`${kind} closes by itself when a webhook brings the outcome`, async () => {
      const id = await make()
      const { id: caseId } = await openCaseOf(id)
      await rig.deliverWebhook(await rig.attempt(id))
      gateway.answers('verify', paid())
      await rig.resolve()
      const [row] = await casesOf(id)
      assert.deepEqual([row?.resolution, row?.resolvedBy], ['gateway_answered', 'service'])
      assert.deepEqual(
        (await eventsOf(rig.db, caseId)).map(({ type }) => type),
        ['payment.needs_review', 'case.resolved'],
      )
      await assert.rejects(
        resolveCase(app, OPERATOR, caseId, request('mark_failed')),
        isApiError('case_resolved'),
      )
      assert.equal((await rig.payment(id)).status, 'successful')
    })

    it(`${kind}: of two concurrent resolutions one wins`, async () => {
      const id = await make()
      const { id: caseId } = await openCaseOf(id)
      const both = await Promise.allSettled([
        resolveCase(app, OPERATOR, caseId, request('mark_paid', `ch_${caseId}`)),
        resolveCase(other, OPERATOR, caseId, request('mark_failed')),
      ])
      assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
      const [lost] = both.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
      assert.ok(isApiError('case_resolved')(lost), String(lost))
      const { resolution } = (await casesOf(id))[0] ?? assert.fail()
      const { status } = await rig.payment(id)
      assert.equal(status, resolution === 'mark_paid' ? 'successful' : 'failed')
    })
  })
}

describe('the limit of processing', () => {
  it('a payment that waits for its payer opens no case before the limit', async () => {
    gateway.answers('chargeSaved', NO_ANSWER)
    const { id } = await rig.charge()
    clock.advance(PROCESSING_LIMIT_MS - HOUR_MS)
    gateway.answers('verify', PENDING)
    await rig.resolve()
    assert.deepEqual(await casesOf(id), [])
  })

  it('a debit that settles in days opens no case before it must have settled, while its gateway answers', async () => {
    gateway.answers('chargeSaved', NO_ANSWER)
    const { id } = await rig.charge()
    const settlesBy = new Date(clock.now().getTime() + 21 * 24 * HOUR_MS)
    const settling: Outcome = { kind: 'pending', gatewayReference: 'pi_1', settlesBy }
    const poll = async (hours: number) => {
      clock.advance(hours * HOUR_MS)
      gateway.answers('verify', settling)
      assert.equal(await rig.resolve(), 1)
    }
    for (const hours of [1, 48, 18 * 24]) await poll(hours)
    assert.deepEqual(await casesOf(id), [])
    assert.deepEqual(await rig.db.query(selectOverdue, [id]), [])
    await poll(2 * 24)
    assert.deepEqual(
      (await casesOf(id)).map(({ kind }) => kind),
      ['processing_too_long'],
    )
  })
})

const selectOverdue = sql<unknown>`
  select from invariant_i13_no_processing_beyond_the_limit where payment_id = $1`

/** A checkout whose gateway reports a success that does not match. */
async function mismatch(changes: Parameters<typeof paid>[0]): Promise<string> {
  const payment = await rig.checkout()
  gateway.answers('startCheckout', STARTED)
  await startAttempt(
    app,
    { payment, attempts: [], attempt: undefined, isCancelled: false },
    { channel: 'card' },
  )
  clock.advance(30_000)
  gateway.answers('verify', paid(changes))
  await rig.resolve()
  return payment.id
}

const DOLLARS = [`unmatched_capture gateway:${NAME} USD -500`, 'unmatched_capture unmatched USD 500']

describe('money in another currency', () => {
  const inDollars = () => mismatch({ paid: money(500n, 'USD') })

  it('money in another currency is held, and returned in that currency', async () => {
    const id = await inDollars()
    assert.equal((await openCaseOf(id)).kind, 'currency_mismatch')
    assert.deepEqual(await postingsOf(rig.db, id), DOLLARS)
    assert.equal((await rig.payment(id)).amountReceivedMinor, null)
    await resolveTwice(id, request('return'))
    assert.deepEqual((await postingsOf(rig.db, id)).slice(2), [
      'refund unmatched USD -500',
      `refund gateway:${NAME} USD 500`,
    ])
    assert.equal((await rig.payment(id)).status, 'failed')
  })

  it('money in another currency whose refund the gateway refuses opens the case again', async () => {
    const id = await inDollars()
    refundAnswer = { kind: 'failed', message: 'The account is closed.', gatewayReference: null }
    const { id: caseId } = await openCaseOf(id)
    await resolveCase(app, OPERATOR, caseId, request('return'))
    const reopened = await openCaseOf(id)
    assert.deepEqual([reopened.id, reopened.providerMessage], [caseId, 'The account is closed.'])
    refundAnswer = REFUNDED
    await resolveCase(app, OPERATOR, caseId, request('return'))
    const refunds = (await listRefunds(app, merchant, { payment: id })).rows.map(({ status }) => status)
    assert.deepEqual(refunds.sort(), ['failed', 'successful'])
    assert.equal((await casesOf(id))[0]?.version, 4)
  })

  it('money in another currency can be written off', async () => {
    const id = await inDollars()
    await resolveTwice(id, request('write_off'))
    assert.deepEqual((await postingsOf(rig.db, id)).slice(2), [
      'write_off unmatched USD -500',
      'write_off written_off USD 500',
    ])
  })
})

describe('an answer about another payment', () => {
  it('a success with another reference credits nothing, and is marked as paid or failed', async () => {
    for (const resolution of ['mark_paid', 'mark_failed'] as const) {
      const id = await mismatch({ key: 'of-another-payment' })
      assert.equal((await openCaseOf(id)).kind, 'reference_mismatch')
      assert.deepEqual(await postingsOf(rig.db, id), [])
      await resolveTwice(id, request(resolution, resolution === 'mark_paid' ? 'pi_9' : null))
      const isPaid = resolution === 'mark_paid'
      assert.equal((await rig.payment(id)).status, isPaid ? 'successful' : 'failed')
      assert.deepEqual(await postingsOf(rig.db, id), isPaid ? CAPTURE : [])
    }
  })
})

describe('a refund whose outcome is unknown', () => {
  async function unknownRefund(): Promise<string> {
    gateway.answers('chargeSaved', paid())
    const { id } = await rig.charge()
    refundAnswer = UNKNOWN_REFUND
    const input = { payment: { uuid: id }, refundReference: null, amount: null, reason: null, metadata: {} }
    const { record } = await requestRefund(app, merchant, input, undefined)
    assert.equal(record.status, 'pending')
    for (let n = 0; n < 2; n += 1) {
      clock.advance(2 * HOUR_MS)
      for (const piece of await claimRefunds(app, 100)) await piece()
    }
    return id
  }
  const refundOf = async (payment: string) => (await listRefunds(app, merchant, { payment })).rows[0]

  it('a refund without an outcome opens a case after an hour, which the gateway’s answer closes', async () => {
    const id = await unknownRefund()
    const row = await openCaseOf(id)
    assert.deepEqual(
      [row.kind, row.owner, row.providerMessage],
      ['refund_requires_review', 'operator', 'no answer'],
    )
    const asked = await resolveCase(app, OPERATOR, row.id, request('ask_again'))
    assert.equal(asked.details.row.closedAt, null)
    refundAnswer = REFUNDED
    await resolveTwice(id, request('ask_again'))
    assert.deepEqual(
      [(await refundOf(id))?.status, (await rig.payment(id)).status],
      ['successful', 'refunded'],
    )
  })

  it('a refund without an outcome is resolved by the provider’s records: given, or failed', async () => {
    for (const [asked, refundStatus, status] of [
      [request('return', 're_55'), 'successful', 'refunded'],
      [request('mark_failed'), 'failed', 'successful'],
    ] as const) {
      const id = await unknownRefund()
      const row = await resolveTwice(id, asked)
      assert.deepEqual([row.resolution, row.resolvedBy], [asked.resolution, 'operator'])
      const refund = await refundOf(id)
      assert.deepEqual([refund?.status, (await rig.payment(id)).status], [refundStatus, status])
      if (asked.proof) assert.equal(refund?.gatewayReference, 're_55')
    }
  })

  it('a refund that an operator marks as failed has neither their name nor their note, which the merchant would see', async () => {
    const id = await unknownRefund()
    const { id: caseId } = await openCaseOf(id)
    const achieng = operatorActor({ userId: merchant.id, name: 'Achieng' })
    await resolveCase(app, achieng, caseId, { ...request('mark_failed'), note: 'Kamau has called.' })
    const refund = await refundOf(id)
    assert.equal(refund?.status, 'failed')
    assert.match(refund.failureMessage ?? '', /^An operator marked it as failed/)
    const events = await eventsOf(rig.db, refund.id)
    assert.ok(events.some(({ type }) => type === 'refund.failed'))
    assert.doesNotMatch(JSON.stringify(events), /Achieng|Kamau/)
  })
})

describe('a request to resolve a case', () => {
  it('a resolution that failed is carried out by its retry with the same key', async () => {
    gateway.answers('chargeSaved', paid())
    const { id } = await rig.charge()
    refundAnswer = { kind: 'unknown', reason: 'unrecognized', message: 'on hold' }
    const input = { payment: { uuid: id }, refundReference: null, amount: null, reason: null, metadata: {} }
    await requestRefund(app, merchant, input, undefined)
    const { id: caseId } = await openCaseOf(id)
    const asked = request('return', 're_56')
    const claim = { merchantId: merchant.id, key: `retry-${caseId}`, operation: 'resolve', input: asked }
    // The write of the event fails, after the key was claimed.
    const failing = { ...app, settings: undefined as never }
    await assert.rejects(resolveCase(failing, OPERATOR, caseId, asked, claim))
    const { details } = await resolveCase(app, OPERATOR, caseId, asked, claim)
    assert.equal(details.row.resolution, 'return')
    assert.equal((await resolveCase(app, OPERATOR, caseId, asked, claim)).replayed, true)
  })

  it('a resolution with another proof is not a replay', async () => {
    const id = await mismatch({ paid: money(9_000n, 'KES') })
    const { id: caseId } = await openCaseOf(id)
    await resolveCase(app, OPERATOR, caseId, request('return'))
    const byHand = resolveCase(app, OPERATOR, caseId, request('return', 'bank-9'))
    await assert.rejects(byHand, isApiError('case_resolved'))
  })
})

describe('an unknown answer about a paid payment', () => {
  const unrecognized = { kind: 'unknown', reason: 'unrecognized', message: 'dispute odd' } as const

  it('an unknown answer about a paid payment is accepted by a person, and a new one opens the case again', async () => {
    gateway.answers('chargeSaved', NO_ANSWER)
    const { id } = await rig.charge()
    clock.advance(HOUR_MS)
    gateway.answers('verify', unrecognized)
    await rig.resolve()
    const { id: caseId } = await openCaseOf(id)
    await rig.deliverWebhook(await rig.attempt(id))
    gateway.answers('verify', paid())
    await rig.resolve()
    assert.equal((await casesOf(id))[0]?.resolution, 'gateway_answered')
    const hear = async () => {
      await rig.deliverWebhook(await rig.attempt(id), { checksPaid: true })
      gateway.answers('verify', unrecognized)
      await rig.resolve()
    }
    await hear()
    assert.equal((await openCaseOf(id)).id, caseId)
    const before = await postingsOf(rig.db, id)
    await resolveTwice(id, request('accept'))
    assert.deepEqual([(await rig.payment(id)).status, await postingsOf(rig.db, id)], ['successful', before])
    clock.advance(48 * HOUR_MS)
    await hear()
    assert.equal((await casesOf(id))[0]?.resolution, 'accept', 'a person has decided')
  })
})

describe('the table of kinds', () => {
  it('gives every kind an owner, a meaning and a resolution', () => {
    assert.ok(CASE_KIND_NAMES.length >= 13)
    for (const name of CASE_KIND_NAMES) {
      const { owner, meaning, resolutions } = CASE_KINDS[name]
      assert.ok(owner === 'merchant' || owner === 'operator')
      assert.match(meaning, /\.$/)
      assert.ok(resolutions.length > 0)
    }
  })
})
