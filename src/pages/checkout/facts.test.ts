import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { NextStep } from '../../gateways/gateway.ts'
import { addMs } from '../../kit/clock.ts'
import type { AttemptRow } from '../../payments/attempt.ts'
import type { PaymentRow } from '../../payments/payment.ts'
import { mayHaveSentMoney, screenFingerprint, screenOf } from './facts.ts'

const START = new Date('2026-11-14T10:00:00Z')
const END = addMs(START, 3_600_000)
const MINUTE = 60_000

// Only the fields that the choice of a screen reads.
const payment = (changes: Partial<PaymentRow>) =>
  ({
    status: 'pending',
    statusReason: null,
    version: 1,
    expiresAt: END,
    paidAt: null,
    ...changes,
  }) as PaymentRow
const attempt = (changes: Partial<AttemptRow> = {}) =>
  ({
    status: 'awaiting_customer',
    nextStep: null,
    startedAt: START,
    returnedAt: null,
    sentAt: null,
    ...changes,
  }) as AttemptRow

const prompt: NextStep = {
  kind: 'prompt',
  phone: '+254712345678',
  network: 'M-Pesa',
  expiresAt: addMs(START, 5 * MINUTE).toISOString(),
}
const transfer: NextStep = {
  kind: 'transfer',
  bankName: 'Bank',
  accountNumber: '1',
  accountName: 'Shop',
  narration: 'A',
  expiresAt: END.toISOString(),
}

const shown = (status: PaymentRow['status'], step: NextStep | null, ageMs: number) =>
  screenOf({
    payment: payment({ status }),
    attempt: attempt({ nextStep: step }),
    attempts: [],
    now: addMs(START, ageMs),
  })

describe('the screen of a payment', () => {
  it('is open until its deadline, even before the expiry job has run', () => {
    assert.equal(shown('pending', null, 0), 'open')
    assert.equal(shown('pending', null, 60 * MINUTE), 'expired')
  })

  it('explains what the payer waits for', () => {
    assert.equal(shown('processing', prompt, MINUTE), 'prompt')
    assert.equal(shown('processing', transfer, 30 * MINUTE), 'transfer')
    assert.equal(
      shown('processing', { kind: 'redirect', url: 'https://pay.example' }, 30 * MINUTE),
      'redirect',
    )
    assert.equal(shown('processing', null, 5_000), 'confirming')
  })

  it('says so if it takes longer than usual', () => {
    assert.equal(shown('processing', null, 21_000), 'slow')
    assert.equal(shown('processing', prompt, 121_000), 'slow')
    assert.equal(shown('processing', transfer, 61 * MINUTE), 'slow')
  })

  it('reports a different amount, whatever the state and the attempt', () => {
    const wrong = [attempt({ status: 'amount_mismatch' }), attempt({ status: 'declined' })]
    for (const status of ['pending', 'processing', 'failed', 'expired', 'abandoned'] as const) {
      const facts = { payment: payment({ status }), attempt: wrong.at(-1), attempts: wrong, now: START }
      assert.equal(screenOf(facts), 'mismatch', status)
    }
    const paid = payment({ status: 'successful', paidAt: START })
    assert.equal(screenOf({ payment: paid, attempt: wrong.at(-1), attempts: wrong, now: START }), 'paid')
  })

  it('does not send a payer who returned from the gateway there again', () => {
    const step: NextStep = { kind: 'redirect', url: 'https://pay.example' }
    const back = attempt({ nextStep: step, returnedAt: START })
    const at = (ms: number) =>
      screenOf({
        payment: payment({ status: 'processing' }),
        attempt: back,
        attempts: [back],
        now: addMs(START, ms),
      })
    assert.equal(at(1_000), 'confirming')
    assert.equal(at(21_000), 'slow')
  })

  it('differs for a payer who has just paid, who returns later, and who paid too late', () => {
    const paidAt = addMs(START, MINUTE)
    const paid = (changes: Partial<PaymentRow>, now: Date) =>
      screenOf({
        payment: payment({ status: 'successful', paidAt, ...changes }),
        attempt: undefined,
        attempts: [],
        now,
      })
    assert.equal(paid({}, addMs(paidAt, 9 * MINUTE)), 'paid')
    assert.equal(paid({}, addMs(paidAt, 11 * MINUTE)), 'already_paid')
    assert.equal(paid({ paidAt: addMs(END, 1) }, addMs(END, MINUTE)), 'paid_late')
    assert.equal(paid({ status: 'refunded' }, addMs(paidAt, 11 * MINUTE)), 'already_paid')
  })

  it('exists for every final status', () => {
    assert.equal(shown('failed', null, 0), 'failed')
    assert.equal(shown('abandoned', null, 0), 'cancelled')
    assert.equal(shown('expired', null, 0), 'expired')
  })
})

describe('the screen version that the script compares', () => {
  it('changes over time only when the screen changes', () => {
    const facts = {
      payment: payment({ status: 'processing' }),
      attempt: attempt({ nextStep: prompt }),
      attempts: [],
    }
    const early = screenFingerprint({ ...facts, now: START })
    assert.equal(screenFingerprint({ ...facts, now: addMs(START, MINUTE) }), early)
    assert.notEqual(screenFingerprint({ ...facts, now: addMs(START, 3 * MINUTE) }), early)
  })

  it('changes with the attempt while the payment stays the same', () => {
    const facts = { payment: payment({ status: 'processing' }), attempts: [], now: START }
    assert.notEqual(
      screenFingerprint({ ...facts, attempt: attempt({ status: 'started' }) }),
      screenFingerprint({ ...facts, attempt: attempt({ nextStep: prompt }) }),
    )
    assert.notEqual(
      screenFingerprint({ ...facts, attempt: attempt({ nextStep: transfer }) }),
      screenFingerprint({ ...facts, attempt: attempt({ nextStep: transfer, sentAt: START }) }),
    )
  })
})

describe('the check for money that may have been sent', () => {
  it('returns false only if every attempt is known to have failed', () => {
    assert.equal(mayHaveSentMoney({ attempts: [] }), false)
    assert.equal(mayHaveSentMoney({ attempts: [attempt({ status: 'declined' })] }), false)
    for (const status of ['started', 'awaiting_customer', 'amount_mismatch', 'requires_review'] as const)
      assert.equal(
        mayHaveSentMoney({ attempts: [attempt({ status: 'declined' }), attempt({ status })] }),
        true,
      )
  })
})
