// Duplicate payments and failed refunds in adverse cases: a gateway that cannot refund, a chargeback of the same money,
// a refund that fails after its success. Nothing is refunded twice, nothing is lost, and the operator gets one log
// line.

import assert from 'node:assert/strict'
import { after, afterEach, describe, it } from 'node:test'
import { OPERATOR } from '../../src/case-resolutions/request.ts'
import { resolveCase } from '../../src/case-resolutions/resolve.ts'
import { listCases } from '../../src/cases/find.ts'
import { cancelAttempt } from '../../src/checkout/payer-actions.ts'
import { startAttempt } from '../../src/checkout/start-attempt.ts'
import { LOG_LINES, type LogKey } from '../../src/core/log-lines.ts'
import { money } from '../../src/core/money.ts'
import type { DisputeReport, RefundOutcome } from '../../src/gateways/gateway.ts'
import type { Log, LogFields } from '../../src/kit/observability/log.ts'
import { applyOutcome } from '../../src/outcomes/apply.ts'
import { listAttempts } from '../../src/payments/find.ts'
import { bookRefund } from '../../src/provider-refunds/book.ts'
import { claimRefundLookups, wakeLookup } from '../../src/provider-refunds/lookup.ts'
import { claimRefunds, wakeRefunds } from '../../src/refunds/advance.ts'
import { refundDuplicates } from '../../src/refunds/duplicates.ts'
import { listRefunds } from '../../src/refunds/find.ts'
import { requestRefund } from '../../src/refunds/request.ts'
import { postingsOf } from '../support/payment-records.ts'
import { NAME, PENDING, paid, paymentsRig, STARTED } from '../support/payments-rig.ts'

const rig = await paymentsRig({ after })
const { clock, gateway, merchant } = rig
const HOUR_MS = 3_600_000
const PAID = money(10_000n, 'KES')

const errors: { key: LogKey; fields: LogFields }[] = []
const log: Log = {
  write: (key, fields = {}) => void (LOG_LINES[key].level === 'error' && errors.push({ key, fields })),
}
const app = { ...rig.app, log }
const other = { ...rig.anotherApp(), log }

const GIVEN: RefundOutcome = { kind: 'succeeded', gatewayReference: 're-1' }
const FAILED: RefundOutcome = { kind: 'failed', message: 'The account is closed.', gatewayReference: 're-1' }
const NO_ANSWER: RefundOutcome = { kind: 'unknown', reason: 'no_answer', message: '' }
let refundAnswer: RefundOutcome = GIVEN
let given = 0
const refund = async () => {
  given += 1
  return refundAnswer
}
const verifyRefund = async () => refundAnswer
gateway.refund = refund
gateway.verifyRefund = verifyRefund

afterEach(async () => {
  await rig.endTest()
  Object.assign(gateway, { refund, verifyRefund, settlesDirectly: undefined, listRefunds: undefined })
  errors.length = 0
  given = 0
  refundAnswer = GIVEN
})

/** A gateway's outcome of an attempt that was paid. */
async function applySuccess(
  paymentId: string,
  number: number,
  disputes?: DisputeReport[],
  by = app,
): Promise<void> {
  const known = { payment: await rig.payment(paymentId), attempt: await rig.attempt(paymentId, number) }
  const outcome = paid(disputes && { disputes })({ key: known.attempt.gatewayKey, amount: PAID })
  await applyOutcome(by, gateway, known, outcome, { source: 'webhook' })
}

/** A checkout that was paid by its second attempt and then by its first. */
async function paidTwice(beforePaying = () => {}): Promise<string> {
  const payment = await rig.checkout()
  gateway.answers('startCheckout', STARTED, STARTED)
  gateway.answers('cancel', PENDING)
  await startAttempt(
    app,
    { payment, attempts: [], attempt: undefined, isCancelled: false },
    { channel: 'card' },
  )
  const attempts = await listAttempts(rig.db, merchant.id, payment.id)
  clock.advance(30_000)
  const view = {
    payment: await rig.payment(payment.id),
    attempts,
    attempt: attempts.at(-1),
    isCancelled: false,
  }
  await startAttempt(app, await cancelAttempt(app, view), { channel: 'card' })
  beforePaying()
  await applySuccess(payment.id, 2)
  await applySuccess(payment.id, 1)
  assert.equal((await rig.attempt(payment.id, 1)).status, 'duplicate_success')
  return payment.id
}

/** The operator says that the payer has the money back. */
const returned = (id: string, by = app) =>
  resolveCase(by, OPERATOR, id, { resolution: 'return', note: 'By bank.', proof: 'bank-1' })

const casesOf = async (paymentId: string) => {
  const { rows } = await listCases(app, null, { state: 'all', limit: 100 })
  return rows.filter((one) => one.paymentId === paymentId)
}

const serializedOf = async (paymentId: string) =>
  (await casesOf(paymentId)).map(({ kind, closedAt }) => `${kind} ${closedAt ? 'closed' : 'open'}`)

const refundsOf = async (payment: string) =>
  (await listRefunds(app, merchant, { payment })).rows.map(({ status }) => status)

async function advanceRefunds(): Promise<number> {
  const pieces = await claimRefunds(app, 100)
  for (const piece of pieces) await piece()
  return pieces.length
}

/** Requests the refund of the whole payment. */
const refundAll = (uuid: string) => {
  const input = { payment: { uuid }, refundReference: null, amount: null, reason: null, metadata: {} }
  return requestRefund(app, merchant, input, undefined)
}

/** The amount that we owe the payer for the duplicate payment. */
async function duplicatesOwed(paymentId: string): Promise<number> {
  const lines = (await postingsOf(rig.db, paymentId)).filter((line) => line.includes(' duplicates '))
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

describe('a duplicate payment at a gateway that cannot refund it', () => {
  it('a duplicate payment that cannot be refunded is logged once, stays an open case, and is refunded when the gateway can', async () => {
    const id = await paidTwice()
    delete gateway.refund
    for (let hours = 0; hours < 5; hours += 1) {
      await Promise.all([refundDuplicates(app), refundDuplicates(other)])
      clock.advance(2 * HOUR_MS)
    }
    assert.deepEqual(
      errors.map(({ key }) => key),
      ['duplicate_payment.not_refundable'],
    )
    assert.deepEqual(await serializedOf(id), ['duplicate_not_refundable open'])
    gateway.refund = refund
    await refundDuplicates(app)
    assert.deepEqual(await refundsOf(id), ['successful'])
    assert.deepEqual(
      [await serializedOf(id), await duplicatesOwed(id)],
      [['duplicate_not_refundable closed'], 0],
    )
  })

  it('an operator closes the case of a duplicate payment, which posts to the ledger once', async () => {
    const id = await paidTwice()
    delete gateway.refund
    await refundDuplicates(app)
    assert.equal(await duplicatesOwed(id), 10_000)
    const [stuck] = await casesOf(id)
    assert.ok(stuck)
    await Promise.all([returned(stuck.id), returned(stuck.id, other)])
    gateway.refund = refund
    clock.advance(2 * HOUR_MS)
    await refundDuplicates(app)
    assert.deepEqual([given, await duplicatesOwed(id)], [0, 0])
    assert.deepEqual(await serializedOf(id), ['duplicate_not_refundable closed'])
  })

  it('a duplicate payment that went to the merchant directly is no liability of the deployment', async () => {
    delete gateway.refund
    const id = await paidTwice(() => Object.assign(gateway, { settlesDirectly: true }))
    await refundDuplicates(app)
    const lines = (await postingsOf(rig.db, id)).filter((line) => line.startsWith('duplicate_capture'))
    assert.deepEqual(lines.sort(), [
      'duplicate_capture direct KES 10000',
      `duplicate_capture gateway:${NAME} KES -10000`,
    ])
    const [stuck] = await casesOf(id)
    assert.ok(stuck)
    const before = await postingsOf(rig.db, id)
    await returned(stuck.id)
    assert.deepEqual(await postingsOf(rig.db, id), before)
  })

  it('a duplicate payment needs manual review when the gateway refuses its refund', async () => {
    const id = await paidTwice()
    refundAnswer = FAILED
    await refundDuplicates(app)
    assert.deepEqual(await serializedOf(id), ['duplicate_refund_failed open'])
    assert.deepEqual(
      errors.map(({ key }) => key),
      ['duplicate_payment.refund_failed'],
    )
  })

  it('a duplicate payment whose refund was refused twice is written off', async () => {
    const id = await paidTwice()
    refundAnswer = FAILED
    await refundDuplicates(app)
    const decide = async (resolution: 'return' | 'write_off') => {
      const [open] = (await casesOf(id)).filter(({ closedAt }) => closedAt === null)
      clock.advance(1_000)
      await resolveCase(app, OPERATOR, open?.id ?? '', { resolution, note: 'Again.', proof: null })
    }
    await decide('return')
    assert.deepEqual([given, await duplicatesOwed(id)], [2, 10_000])
    await decide('write_off')
    assert.equal(await duplicatesOwed(id), 0)
  })

  it('a write-off beside a pending refund of a duplicate payment leaves the money to the refund', async () => {
    const id = await paidTwice()
    refundAnswer = NO_ANSWER
    await refundDuplicates(app)
    await applySuccess(id, 1, [{ status: 'open', amount: PAID, reference: 'dp-9' }])
    const [open] = await casesOf(id)
    const asked = { resolution: 'write_off', note: 'The bank decides.', proof: null } as const
    await resolveCase(app, OPERATOR, open?.id ?? '', asked)
    refundAnswer = GIVEN
    clock.advance(HOUR_MS)
    await advanceRefunds()
    assert.deepEqual([await refundsOf(id), await duplicatesOwed(id)], [['successful'], 0])
  })
})

/** Looks up the refunds of the first attempt, which the provider lists with these references. */
async function lookUp(id: string, references: readonly string[]): Promise<void> {
  gateway.listRefunds = async () => ({
    kind: 'refunds',
    refunds: references.map((reference) => ({
      ...{ reference, key: null, paymentNames: [], status: 'succeeded', amount: PAID },
    })),
  })
  const { gatewayKey: key } = await rig.attempt(id, 1)
  await wakeLookup(app, { gateway: NAME, accountId: null, key })
  for (const piece of await claimRefundLookups(app, 100)) await piece()
}

describe('a duplicate payment that is returned in the dashboard of the provider', () => {
  async function refused(): Promise<string> {
    const id = await paidTwice()
    refundAnswer = FAILED
    await refundDuplicates(app)
    return id
  }

  it('a return in the dashboard ends the case of a refused refund, and is booked once', async () => {
    const id = await refused()
    for (let n = 0; n < 2; n += 1) await lookUp(id, ['re-dashboard-1'])
    assert.deepEqual(await serializedOf(id), ['duplicate_refund_failed closed'])
    assert.deepEqual([await duplicatesOwed(id), (await refundsOf(id)).sort()], [0, ['failed', 'successful']])
  })

  it('a return in the dashboard that is the proof of a resolution is not booked again', async () => {
    const id = await refused()
    const [stuck] = await casesOf(id)
    await resolveCase(app, OPERATOR, stuck?.id ?? '', {
      ...{ resolution: 'return', note: 'In the dashboard.', proof: 're-dashboard-2' },
    })
    const before = await postingsOf(rig.db, id)
    await lookUp(id, ['re-dashboard-2'])
    assert.deepEqual(await serializedOf(id), ['duplicate_refund_failed closed'])
    assert.deepEqual(await postingsOf(rig.db, id), before)
  })
})

describe('a chargeback of a duplicate payment', () => {
  const dispute = (status: DisputeReport['status'], amount = PAID): DisputeReport[] => [
    { status, amount, reference: 'dp-9' },
  ]

  async function disputedTwice(): Promise<string> {
    const id = await paidTwice()
    await Promise.all([applySuccess(id, 1, dispute('open')), applySuccess(id, 1, dispute('open'), other)])
    return id
  }

  it('a chargeback of a duplicate payment defers the automatic refund, and is logged once', async () => {
    const id = await disputedTwice()
    await applySuccess(id, 1, dispute('open'))
    clock.advance(2 * HOUR_MS)
    await refundDuplicates(app)
    assert.deepEqual([given, await refundsOf(id)], [0, []])
    assert.deepEqual(await serializedOf(id), ['duplicate_disputed open'])
    assert.deepEqual(
      errors.map(({ fields }) => fields.reason),
      ['duplicate_disputed'],
    )
    assert.equal((await rig.payment(id)).status, 'successful', 'the payment itself is unchanged')
  })

  it('a chargeback of a duplicate payment that is won resumes the refund', async () => {
    const id = await disputedTwice()
    for (let n = 0; n < 2; n += 1) await applySuccess(id, 1, dispute('won'))
    await refundDuplicates(app)
    assert.deepEqual([given, await duplicatesOwed(id)], [1, 0])
    assert.deepEqual(await serializedOf(id), ['duplicate_disputed closed'])
  })

  it('a chargeback of a duplicate payment that is lost has returned the money, and no refund follows', async () => {
    for (const isSeenOpen of [true, false]) {
      const id = isSeenOpen ? await disputedTwice() : await paidTwice()
      await Promise.all([applySuccess(id, 1, dispute('lost')), applySuccess(id, 1, dispute('lost'), other)])
      clock.advance(2 * HOUR_MS)
      await refundDuplicates(app)
      assert.deepEqual([given, await duplicatesOwed(id)], [0, 0])
      assert.deepEqual(await serializedOf(id), ['duplicate_disputed closed'])
    }
  })

  it('a chargeback of a duplicate payment needs manual review after a refund, or when it is partial', async () => {
    const sent = await paidTwice()
    await refundDuplicates(app)
    for (const status of ['open', 'lost', 'lost'] as const) await applySuccess(sent, 1, dispute(status))
    assert.deepEqual([given, await serializedOf(sent)], [1, ['duplicate_disputed_after_refund open']])
    const partly = await paidTwice()
    for (let n = 0; n < 2; n += 1) await applySuccess(partly, 1, dispute('lost', money(4_000n, 'KES')))
    await refundDuplicates(app)
    assert.deepEqual([given, await serializedOf(partly)], [1, ['duplicate_disputed_after_refund open']])
    assert.equal(errors.length, 2)
  })

  it('a chargeback of a duplicate payment is polled on its webhook, and every day while it is open', async () => {
    const id = await paidTwice()
    await rig.deliverWebhook(await rig.attempt(id, 1), { checksPaid: true })
    gateway.answers('verify', paid({ disputes: dispute('open') }), paid({ disputes: dispute('won') }))
    assert.equal(await rig.resolve(), 1)
    assert.deepEqual(await serializedOf(id), ['duplicate_disputed open'])
    assert.equal(await rig.resolve(), 0)
    clock.advance(48 * HOUR_MS)
    assert.equal(await rig.resolve(), 1)
    assert.deepEqual(await serializedOf(id), ['duplicate_disputed closed'])
    clock.advance(48 * HOUR_MS)
    assert.equal(await rig.resolve(), 0)
    await refundDuplicates(app)
  })
})

describe('a refund that fails after it was successful', () => {
  async function refunded() {
    gateway.answers('chargeSaved', paid())
    const payment = await rig.charge()
    const { record } = await refundAll(payment.id)
    assert.equal(record.status, 'successful')
    const { gatewayKey: key } = await rig.attempt(payment.id)
    return { id: payment.id, notify: () => wakeRefunds(app, { gateway: NAME, accountId: null, key }) }
  }

  const shown = async (payment: string) =>
    (await listRefunds(app, merchant, { payment })).rows.map(({ status, statusReason, dueAt }) => [
      ...[status, statusReason, dueAt],
    ])

  it('a refund that fails after its success is logged once, and shown in the record', async () => {
    const { id, notify } = await refunded()
    refundAnswer = FAILED
    await notify()
    assert.equal(await advanceRefunds(), 1)
    await notify()
    assert.equal(await advanceRefunds(), 0)
    assert.deepEqual(await shown(id), [['successful', 'failed_late', null]])
    assert.deepEqual(await serializedOf(id), ['refund_failed_late open'])
    assert.deepEqual(
      errors.map(({ key }) => key),
      ['refund.failed_late'],
    )
    const [late] = await casesOf(id)
    const before = await postingsOf(rig.db, id)
    await returned(late?.id ?? '')
    // The provider lists the refund that is the proof.
    await lookUp(id, ['bank-1'])
    assert.deepEqual(
      [await serializedOf(id), await postingsOf(rig.db, id)],
      [['refund_failed_late closed'], before],
    )
  })

  it('a webhook about a successful refund is polled until the gateway answers, and not again when the refund stands', async () => {
    const { id, notify } = await refunded()
    refundAnswer = NO_ANSWER
    await notify()
    assert.equal(await advanceRefunds(), 1)
    clock.advance(60_000)
    refundAnswer = GIVEN
    assert.equal(await advanceRefunds(), 1)
    clock.advance(HOUR_MS)
    assert.equal(await advanceRefunds(), 0)
    assert.deepEqual(await shown(id), [['successful', null, null]])
    assert.deepEqual([given, errors], [1, []])
  })

  it('a refund of a duplicate payment that fails after its success is not credited to the merchant', async () => {
    const id = await paidTwice()
    await refundDuplicates(app)
    const { gatewayKey: key } = await rig.attempt(id, 1)
    refundAnswer = FAILED
    await wakeRefunds(app, { gateway: NAME, accountId: null, key })
    assert.equal(await advanceRefunds(), 1)
    const [late] = await casesOf(id)
    const before = await postingsOf(rig.db, id)
    const accepted = resolveCase(app, OPERATOR, late?.id ?? '', {
      ...{ resolution: 'accept', note: 'To the wallet.', proof: null },
    })
    await assert.rejects(accepted, { code: 'resolution_not_possible' })
    assert.deepEqual(await postingsOf(rig.db, id), before)
  })
})

describe('a refund in the dashboard of the provider that a person has decided', () => {
  /** A payment with a pending refund of ours, and a refund in the dashboard. */
  async function besidePending(reference: string): Promise<string> {
    gateway.answers('chargeSaved', paid())
    const { id } = await rig.charge()
    refundAnswer = NO_ANSWER
    await refundAll(id)
    await lookUp(id, [reference])
    return id
  }

  async function failPending(): Promise<void> {
    refundAnswer = FAILED
    clock.advance(HOUR_MS)
    await advanceRefunds()
  }

  const accepted = { resolution: 'accept', note: 'It was me.', proof: null } as const

  it('a refund that was taken from the wallet is not booked again when a pending refund of ours fails', async () => {
    const id = await besidePending('re-dashboard-3')
    assert.deepEqual(await serializedOf(id), ['refund_not_booked open'])
    const [open] = await casesOf(id)
    await resolveCase(app, OPERATOR, open?.id ?? '', accepted)
    await failPending()
    const before = await postingsOf(rig.db, id)
    await lookUp(id, ['re-dashboard-3'])
    assert.deepEqual([await refundsOf(id), await postingsOf(rig.db, id)], [['failed'], before])
  })

  it('a refund that was booked since the case was opened is not taken from the wallet too', async () => {
    const id = await besidePending('re-dashboard-4')
    const [open] = await casesOf(id)
    await failPending()
    const known = { payment: await rig.payment(id), attempt: await rig.attempt(id) }
    const found = { reference: 're-dashboard-4', key: null, paymentNames: [], amount: PAID }
    assert.equal(await bookRefund(app, known, { ...found, status: 'succeeded' }), undefined)
    const late = resolveCase(app, OPERATOR, open?.id ?? '', accepted)
    await assert.rejects(late, { code: 'resolution_not_possible' })
    await lookUp(id, ['re-dashboard-4'])
    assert.deepEqual(await serializedOf(id), ['refund_not_booked closed'])
  })
})
