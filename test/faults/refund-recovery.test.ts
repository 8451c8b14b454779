// Refunds whose gateway is down, silent, slow or has lost the key, with scripted responses and a fake clock. The
// gateway counts the refunds that it was asked to execute.

import assert from 'node:assert/strict'
import { after, afterEach, describe, it } from 'node:test'
import { openCase } from '../../src/cases/open.ts'
import { LOG_LINES, type LogKey } from '../../src/core/log-lines.ts'
import { money } from '../../src/core/money.ts'
import type { RefundOutcome, RefundRequest } from '../../src/gateways/gateway.ts'
import { sql } from '../../src/kit/db/db.ts'
import type { Log, LogFields } from '../../src/kit/observability/log.ts'
import { duplicatePostings } from '../../src/ledger/service.ts'
import { MAX_PER_GATEWAY } from '../../src/outcomes/gateway-bulkhead.ts'
import type { PaymentsApp } from '../../src/payments/app.ts'
import { closeAttempt } from '../../src/payments/update-attempt.ts'
import { claimRefunds, wakeRefunds } from '../../src/refunds/advance.ts'
import { refundDuplicates } from '../../src/refunds/duplicates.ts'
import { requireRefund } from '../../src/refunds/find.ts'
import { requestRefund } from '../../src/refunds/request.ts'
import { newReference } from '../support/builders.ts'
import { eventsOf, postingsOf } from '../support/payment-records.ts'
import { NAME, paid, paymentsRig } from '../support/payments-rig.ts'

type Answer = RefundOutcome | ((request: RefundRequest) => RefundOutcome | Promise<RefundOutcome>)

const GIVEN: RefundOutcome = { kind: 'succeeded', gatewayReference: 'gr-1' }
const PENDING: RefundOutcome = { kind: 'pending', gatewayReference: 'gr-1' }
const FAILED: RefundOutcome = { kind: 'failed', message: 'No.', gatewayReference: null }
const unknown = (reason: Extract<RefundOutcome, { kind: 'unknown' }>['reason']): RefundOutcome => ({
  kind: 'unknown',
  reason,
  message: reason,
})
const NOT_FOUND = unknown('not_found')
const NO_ANSWER = unknown('no_answer')
const NOT_SENT = unknown('not_sent')
const QUEUED: RefundOutcome = { kind: 'unknown', reason: 'not_sent', message: '', queued: true }

const HOUR_MS = 3_600_000
// Longer than any lease and any of the first backoff delays.
const RECHECK_MS = 60_000

const rig = await paymentsRig({ after })
const { clock, gateway, merchant, db } = rig

const refunds: Answer[] = []
const answers: Answer[] = []
const calls: string[] = []

async function answerFromScript(
  verb: string,
  scripted: Answer[],
  request: RefundRequest,
): Promise<RefundOutcome> {
  calls.push(`${verb} ${request.key}`)
  const answer = scripted.shift()
  assert.ok(answer, `the test scripted no answer of ${verb}`)
  return typeof answer === 'function' ? answer(request) : answer
}

gateway.refund = (request) => answerFromScript('refund', refunds, request)
gateway.verifyRefund = (request) => answerFromScript('verify', answers, request)
const { behavior } = gateway

const loggedErrors: { key: LogKey; fields?: LogFields }[] = []
const log: Log = {
  write: (key, fields) => void (LOG_LINES[key].level === 'error' && loggedErrors.push({ key, fields })),
}
const app: PaymentsApp = { ...rig.app, log }

const postponeAll = sql<unknown>`
update refunds
set due_at = timestamptz '2999-01-01T00:00:00Z'
where due_at is not null`

afterEach(async () => {
  for (const list of [refunds, answers, calls, loggedErrors]) list.length = 0
  gateway.behavior = behavior
  await db.query(postponeAll)
  await rig.endTest()
})

async function payment() {
  gateway.answers('chargeSaved', paid())
  return rig.charge()
}

async function requestTestRefund(uuid: string, amount: number | null, by = app) {
  const refundReference = amount === null ? null : newReference()
  const input = { refundReference, payment: { uuid }, amount, reason: null, metadata: {} }
  return (await requestRefund(by, merchant, input, undefined)).record
}

const read = (id: string) => requireRefund(app, merchant, id)

async function resolve(by = app): Promise<number> {
  const pieces = await claimRefunds(by, 100)
  await Promise.all(pieces.map((piece) => piece()))
  return pieces.length
}

const callsTo = (verb: string) => calls.filter((call) => call.startsWith(verb))
const withBehavior = (changes: Partial<typeof behavior>) => {
  gateway.behavior = { ...behavior, ...changes }
}

describe('a refund with an unknown outcome', () => {
  it('an unknown refund is polled, and submitted again only under the same key (F-28, F-29)', async () => {
    refunds.push(NO_ANSWER, GIVEN)
    answers.push(NO_ANSWER, NOT_FOUND)
    const { id } = await requestTestRefund((await payment()).id, 40)
    for (let n = 0; n < 2; n += 1) {
      assert.equal((await read(id)).statusReason, 'outcome_unknown')
      clock.advance(RECHECK_MS)
      assert.equal(await resolve(), 1)
    }
    assert.equal((await read(id)).status, 'successful')
    assert.equal(new Set(callsTo('refund')).size, 1)
    assert.equal(callsTo('refund').length, 2)
  })

  it('an unknown refund is not submitted again when the key may have expired at the gateway: it stays pending and needs manual review', async () => {
    refunds.push(NO_ANSWER)
    answers.push(NOT_FOUND, GIVEN)
    const { id } = await requestTestRefund((await payment()).id, 40)
    clock.advance(23 * HOUR_MS)
    await resolve()
    const waiting = await read(id)
    assert.deepEqual([waiting.status, waiting.statusReason], ['pending', 'requires_review'])
    assert.deepEqual(
      loggedErrors.map(({ key }) => key),
      ['refund.needs_review'],
    )
    assert.equal(callsTo('refund').length, 1)
    // The gateway finds the refund later.
    clock.advance(2 * HOUR_MS)
    await resolve()
    assert.equal((await read(id)).status, 'successful')
  })

  it('an unknown refund is never submitted again where refunds have no key, however often it is not found (F-30)', async () => {
    withBehavior({ sequentialRefunds: true, nonIdempotentRefunds: true })
    refunds.push(NO_ANSWER)
    answers.push(NOT_FOUND, NOT_FOUND, NOT_FOUND)
    const { id } = await requestTestRefund((await payment()).id, 40)
    for (const waitMs of [RECHECK_MS, RECHECK_MS, 2 * HOUR_MS]) {
      clock.advance(waitMs)
      await resolve()
    }
    assert.equal((await read(id)).statusReason, 'requires_review')
    assert.equal(callsTo('refund').length, 1)
    assert.equal(loggedErrors.length, 1)
  })

  it('a refund that was provably not sent is sent when the gateway is back, also where refunds have no key (F-27)', async () => {
    withBehavior({ sequentialRefunds: true, nonIdempotentRefunds: true })
    refunds.push(NOT_SENT, NOT_SENT, GIVEN)
    const { id } = await requestTestRefund((await payment()).id, 40)
    assert.equal((await read(id)).statusReason, 'gateway_unavailable')
    for (let n = 0; n < 2; n += 1) {
      clock.advance(RECHECK_MS)
      await resolve()
    }
    assert.equal((await read(id)).status, 'successful')
    assert.deepEqual(callsTo('verify'), [])
  })

  it('an unknown refund reserves its amount, and a failure releases it', async () => {
    refunds.push(NO_ANSWER, GIVEN)
    answers.push(FAILED)
    const { id: paymentId } = await payment()
    const { id } = await requestTestRefund(paymentId, 60)
    await assert.rejects(requestTestRefund(paymentId, 41), { code: 'refund_exceeds_amount' })
    clock.advance(RECHECK_MS)
    await resolve()
    assert.equal((await read(id)).failureMessage, 'No.')
    assert.equal((await requestTestRefund(paymentId, null)).amountMinor, 10_000n)
    assert.equal((await rig.payment(paymentId)).status, 'refunded')
  })

  it('a gateway with the maximum of refunds in flight gets no more until one has ended', async () => {
    refunds.push(NO_ANSWER)
    answers.push(GIVEN)
    const { id } = await requestTestRefund((await payment()).id, 40)
    clock.advance(RECHECK_MS)
    const inFlight = new Map([[NAME, MAX_PER_GATEWAY]])
    assert.deepEqual(await claimRefunds(app, 100, inFlight), [])
    inFlight.set(NAME, MAX_PER_GATEWAY - 1)
    const [task] = await claimRefunds(app, 100, inFlight)
    assert.equal(inFlight.get(NAME), MAX_PER_GATEWAY)
    await task?.()
    assert.equal(inFlight.get(NAME), MAX_PER_GATEWAY - 1)
    assert.equal((await read(id)).status, 'successful')
  })

  it('a refund is applied once by many concurrent proofs (F-31)', async () => {
    refunds.push(NO_ANSWER)
    const { id: paymentId } = await payment()
    const { id } = await requestTestRefund(paymentId, 25)
    const other = rig.anotherApp()
    for (let n = 0; n < 3; n += 1) {
      answers.push(() => new Promise((done) => setTimeout(done, 20, GIVEN)))
      // A claim before the previous one has ended needs a wake.
      clock.advance(RECHECK_MS)
    }
    const pieces = []
    for (const by of [app, other, app]) {
      pieces.push(...(await claimRefunds(by, 100)))
      await wakeRefunds(app, {
        gateway: NAME,
        accountId: null,
        key: (await rig.attempt(paymentId)).gatewayKey,
      })
    }
    assert.equal(pieces.length, 3)
    await Promise.all(pieces.map((piece) => piece()))
    assert.equal((await read(id)).status, 'successful')
    assert.equal((await eventsOf(db, id)).length, 2)
    const booked = (await postingsOf(db, paymentId)).filter((line) => line.startsWith('refund gateway'))
    assert.deepEqual(booked, [`refund gateway:${NAME} KES 2500`])
  })

  it('a refund ignores the result of a stalled process that lost its lease (F-07)', async () => {
    const { id: paymentId } = await payment()
    let wake: (outcome: RefundOutcome) => void = () => undefined
    refunds.push(() => new Promise((done) => (wake = done)))
    const asleep = requestTestRefund(paymentId, 10)
    while (callsTo('refund').length === 0) await new Promise(setImmediate)
    answers.push(PENDING)
    clock.advance(RECHECK_MS)
    await resolve()
    wake(NOT_SENT)
    const record = await asleep
    assert.deepEqual([record.status, record.statusReason, record.gatewayReference], ['pending', null, 'gr-1'])
    assert.ok((await read(record.id)).submittedAt, 'the time of submission is kept')
  })
})

describe('a gateway that takes one refund of a payment at a time', () => {
  it('the next refund of a payment is sent when the previous one is known at the gateway, never two at once', async () => {
    withBehavior({ sequentialRefunds: true, nonIdempotentRefunds: true })
    refunds.push(NO_ANSWER, GIVEN, GIVEN)
    const { id: paymentId } = await payment()
    const first = await requestTestRefund(paymentId, 10)
    const second = await requestTestRefund(paymentId, 20)
    const elsewhere = await requestTestRefund((await payment()).id, 30)
    assert.equal(second.statusReason, 'queued')
    assert.equal(elsewhere.status, 'successful')
    assert.equal(callsTo('refund').length, 2)
    answers.push(NO_ANSWER)
    clock.advance(RECHECK_MS)
    await resolve()
    assert.equal((await read(second.id)).statusReason, 'queued')
    answers.push(PENDING, GIVEN)
    clock.advance(RECHECK_MS)
    while ((await read(second.id)).status === 'pending') await resolve()
    assert.equal((await read(second.id)).status, 'successful')
    clock.advance(RECHECK_MS)
    await resolve()
    assert.equal((await read(first.id)).status, 'successful')
    assert.equal(callsTo('refund').length, 3)
  })

  it('a refund that waits at the gateway for the previous one is sent when that one has ended', async () => {
    withBehavior({ sequentialRefunds: true, nonIdempotentRefunds: true })
    let hasEnded = false
    const submitNext = () => (hasEnded ? GIVEN : QUEUED)
    refunds.push(PENDING, submitNext)
    const { id: paymentId } = await payment()
    const first = await requestTestRefund(paymentId, 10)
    const second = await requestTestRefund(paymentId, 20)
    assert.deepEqual([first.statusReason, second.statusReason], [null, 'queued'])
    refunds.push(submitNext, submitNext)
    answers.push(() => {
      hasEnded = true
      return GIVEN
    })
    clock.advance(RECHECK_MS)
    // No more time passes: the end of the first refund makes the second one due.
    while ((await read(second.id)).status === 'pending') assert.ok((await resolve()) > 0)
    assert.equal((await read(first.id)).status, 'successful')
    assert.equal(callsTo('verify').length, 1)
  })
})

describe('an automatic refund of a duplicate payment', () => {
  /** A payment with a second attempt that succeeded too. */
  async function duplicate() {
    gateway.answers('chargeSaved', unknownOutcome, paid())
    const first = await rig.charge()
    const second = await rig.attempt(first.id)
    const closed = await closeAttempt(db, {
      merchantId: merchant.id,
      attemptId: second.id,
      status: 'duplicate_success',
      failureCode: null,
      failureMessage: null,
      paidMinor: 10_000n,
      paidCurrency: 'KES',
      gatewayReference: 'gw-2',
      dueAt: null,
      nextPollAt: null,
      statusReason: 'requires_review',
      entryId: rig.app.random.uuid(),
      postings: duplicatePostings(NAME, money(10_000n, 'KES')),
      at: clock.now(),
    })
    assert.ok(closed)
    const stuck = { merchantId: merchant.id, paymentId: first.id, attemptId: second.id }
    await db.transaction((tx) => openCase(rig.app, tx, { ...stuck, kind: 'payment_requires_review' }))
    gateway.clearAnswers()
    return first.id
  }
  const unknownOutcome = { kind: 'unknown', reason: 'no_answer', message: '' } as const

  it('a duplicate payment is refunded automatically, in full and once, from the account that holds it', async () => {
    const paymentId = await duplicate()
    refunds.push(NOT_SENT, GIVEN)
    await Promise.all([refundDuplicates(app), refundDuplicates(rig.anotherApp())])
    clock.advance(RECHECK_MS)
    await resolve()
    assert.equal((await rig.attempt(paymentId)).refundedMinor, 10_000n)
    assert.deepEqual(await postingsOf(db, paymentId), [
      `duplicate_capture gateway:${NAME} KES -10000`,
      'duplicate_capture duplicates KES 10000',
      'refund duplicates KES -10000',
      `refund gateway:${NAME} KES 10000`,
    ])
    clock.advance(2 * HOUR_MS)
    assert.equal(await refundDuplicates(app), 0)
    assert.equal((await rig.payment(paymentId)).refundedMinor, 0n)
  })

  it('a duplicate payment is logged for the operator when the gateway cannot refund it, or refuses to', async () => {
    await duplicate()
    const { refund } = gateway
    delete gateway.refund
    await refundDuplicates(app)
    assert.equal(loggedErrors[0]?.key, 'duplicate_payment.not_refundable')
    gateway.refund = refund
    clock.advance(2 * HOUR_MS)
    refunds.push(FAILED)
    assert.equal(await refundDuplicates(app), 1)
    assert.equal(loggedErrors[1]?.key, 'duplicate_payment.refund_failed')
  })
})
