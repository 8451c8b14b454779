import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { money } from '../core/money.ts'
import type { Outcome } from '../gateways/gateway.ts'
import type { AttemptRow } from '../payments/attempt.ts'
import { detailsOf, type PaymentRow } from '../payments/payment.ts'
import { type AttemptStatus, PAYMENT_STATUSES, type PaymentStatus } from '../payments/states.ts'
import { decide, MAX_ATTEMPTS } from './decide.ts'

const NOW = new Date('2026-03-14T09:26:53.589Z')
const KEY = '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f'

function paymentIn(status: PaymentStatus, changes: Partial<PaymentRow> = {}): PaymentRow {
  return {
    merchantId: 'm',
    id: 'p',
    kind: 'checkout',
    reference: 'r',
    status,
    statusReason: null,
    version: 2,
    amountMinor: 125_050n,
    currency: 'KES',
    amountPaidMinor: null,
    amountReceivedMinor: null,
    feeMinor: null,
    refundedMinor: 0n,
    gateway: 'sandbox',
    ...detailsOf({ country: 'KE' }),
    customerId: 'c',
    customerEmail: 'a@example.com',
    customerFirstname: 'A',
    customerLastname: 'B',
    customerPhone: null,
    accessSealed: null,
    channel: null,
    attemptsUsed: 1,
    failovers: 0,
    paymentMethodId: null,
    recoveryPaymentId: null,
    failureCode: null,
    failureMessage: null,
    expiresAt: NOW,
    dueAt: NOW,
    paidAt: null,
    createdAt: NOW,
    ...changes,
  }
}

function attemptIn(status: AttemptStatus, number = 1): AttemptRow {
  return {
    merchantId: 'm',
    id: KEY,
    paymentId: 'p',
    number,
    operation: 'checkout',
    gateway: 'sandbox',
    accountId: null,
    channel: 'card',
    status,
    gatewayKey: KEY,
    gatewayReference: null,
    receiptNumber: null,
    earlierReference: null,
    referenceHint: null,
    report: null,
    choice: null,
    nextStep: null,
    failureCode: null,
    failureMessage: null,
    paidMinor: null,
    paidCurrency: null,
    refundedMinor: 0n,
    startedAt: NOW,
    endedAt: null,
    sentAt: null,
    returnedAt: null,
    completionStartedAt: null,
    paymentMethodId: null,
    dueAt: NOW,
    polls: 0,
    fence: 1,
  }
}

const paid = money(125_050n, 'KES')
const success: Extract<Outcome, { kind: 'succeeded' }> = {
  kind: 'succeeded',
  gatewayReference: 'g-1',
  paid,
  key: KEY,
  savedMethod: null,
  paidAt: NOW,
}
const decline: Outcome = {
  kind: 'declined',
  code: 'insufficient_funds',
  message: 'no money',
  gatewayReference: 'g-1',
}
const unknown = (reason: Extract<Outcome, { kind: 'unknown' }>['reason']): Outcome => ({
  kind: 'unknown',
  reason,
  message: 'x',
})
const later = { firstCall: false }
const first = { firstCall: true }

describe('a proven success', () => {
  it('moves every unpaid payment to successful on a proven success, also a failed, abandoned or expired one', () => {
    for (const status of ['pending', 'processing', 'failed', 'abandoned', 'expired'] as const) {
      for (const attempt of ['started', 'awaiting_customer', 'declined', 'requires_review'] as const) {
        assert.deepEqual(
          decide(paymentIn(status), attemptIn(attempt), success, later),
          {
            kind: 'move',
            to: 'successful',
            proof: 'gateway',
            attemptStatus: 'succeeded',
            failure: null,
            paid,
            paidAt: NOW,
            gatewayReference: 'g-1',
            fenced: false,
          },
          `${status}, ${attempt}`,
        )
      }
    }
  })

  it('closes a success on another attempt of a paid payment as duplicate_success, without a move', () => {
    const paidStates = PAYMENT_STATUSES.filter((status) =>
      ['successful', 'partially_refunded', 'refunded', 'disputed', 'reversed'].includes(status),
    )
    for (const status of paidStates) {
      const decision = decide(
        paymentIn(status, { attemptsUsed: 2 }),
        attemptIn('declined', 1),
        success,
        later,
      )
      assert.deepEqual(
        decision,
        {
          kind: 'close',
          attemptStatus: 'duplicate_success',
          statusReason: null,
          caseKind: null,
          failure: null,
          paid,
          gatewayReference: 'g-1',
        },
        status,
      )
    }
    assert.equal(paidStates.length, 5)
  })

  it('changes nothing when the same success is reported again, whatever the status of the payment', () => {
    for (const status of PAYMENT_STATUSES) {
      for (const attempt of ['succeeded', 'duplicate_success', 'amount_mismatch'] as const) {
        const decision = decide(paymentIn(status), attemptIn(attempt), success, later)
        assert.deepEqual(decision, { kind: 'nothing' }, `${status}, ${attempt}`)
      }
    }
  })

  it('credits nothing and records amount_mismatch for a success with another amount, currency or key (F-34)', () => {
    const wrong = {
      underpaid: { ...success, paid: money(125_049n, 'KES') },
      overpaid: { ...success, paid: money(125_051n, 'KES') },
      currency_mismatch: { ...success, paid: money(125_050n, 'USD') },
      reference_mismatch: { ...success, key: 'another-key' },
    }
    for (const [caseKind, outcome] of Object.entries(wrong)) {
      for (const status of PAYMENT_STATUSES) {
        const decision = decide(paymentIn(status), attemptIn('awaiting_customer'), outcome, later)
        assert.deepEqual(
          decision,
          {
            kind: 'close',
            attemptStatus: 'amount_mismatch',
            statusReason: 'amount_mismatch',
            failure: null,
            // Money under another key belongs to another payment.
            paid: caseKind === 'reference_mismatch' ? null : outcome.paid,
            gatewayReference: 'g-1',
            caseKind,
          },
          `${caseKind}, ${status}`,
        )
      }
    }
  })
})

describe('a decline', () => {
  const failure = { code: 'insufficient_funds', message: 'no money' }

  it('leaves a checkout open after a decline until its attempts are used up, then fails it', () => {
    for (let used = 1; used <= MAX_ATTEMPTS; used += 1) {
      const payment = paymentIn('processing', { attemptsUsed: used })
      const decision = decide(payment, attemptIn('awaiting_customer', used), decline, later)
      const to = used < MAX_ATTEMPTS ? 'pending' : 'failed'
      assert.deepEqual(decision, {
        kind: 'move',
        to,
        proof: 'declined',
        attemptStatus: 'declined',
        failure,
        paid: null,
        paidAt: null,
        gatewayReference: 'g-1',
        fenced: false,
      })
    }
    assert.equal(MAX_ATTEMPTS, 5)
  })

  it('fails a checkout at once after a final decline, which is about the payment itself', () => {
    const final: Outcome = { ...decline, final: true }
    for (const status of ['pending', 'processing'] as const) {
      const decision = decide(paymentIn(status), attemptIn('awaiting_customer'), final, later)
      assert.ok(decision.kind === 'move')
      assert.deepEqual([decision.to, decision.proof], ['failed', 'declined'])
    }
    const ended = decide(paymentIn('expired'), attemptIn('awaiting_customer'), final, later)
    assert.equal(ended.kind, 'close')
  })

  it('fails a charge after one decline, because a charge has one attempt', () => {
    const decision = decide(paymentIn('processing', { kind: 'charge' }), attemptIn('started'), decline, first)
    assert.equal(decision.kind === 'move' && decision.to, 'failed')
  })

  it('takes a rejected request as proof for the first call only, not for an earlier one', () => {
    const rejection: Outcome = { ...decline, refused: true }
    const charge = paymentIn('processing', { kind: 'charge' })
    const decision = decide(charge, attemptIn('started'), rejection, first)
    assert.ok(decision.kind === 'move')
    assert.deepEqual([decision.to, decision.proof, decision.fenced], ['failed', 'not_sent', true])
    assert.deepEqual(decide(charge, attemptIn('started'), rejection, later), { kind: 'nothing' })
  })

  it('ignores a decline of an attempt that has ended', () => {
    for (const attempt of ['succeeded', 'declined', 'amount_mismatch', 'duplicate_success'] as const) {
      const decision = decide(paymentIn('processing'), attemptIn(attempt), decline, later)
      assert.deepEqual(decision, { kind: 'nothing' }, attempt)
    }
  })

  it('ends an attempt in manual review when the gateway reports a decline', () => {
    const decision = decide(paymentIn('processing'), attemptIn('requires_review'), decline, later)
    assert.equal(decision.kind, 'move')
  })

  it('ends only the attempt when a decline is about an older attempt or an ended payment', () => {
    const older = decide(
      paymentIn('processing', { attemptsUsed: 2 }),
      attemptIn('awaiting_customer', 1),
      decline,
      later,
    )
    const closed = {
      kind: 'close',
      attemptStatus: 'declined',
      failure,
      paid: null,
      gatewayReference: 'g-1',
      statusReason: null,
      caseKind: null,
    }
    assert.deepEqual(older, closed)
    for (const status of PAYMENT_STATUSES.filter((one) => one !== 'processing' && one !== 'pending')) {
      assert.deepEqual(decide(paymentIn(status), attemptIn('started'), decline, later), closed, status)
    }
  })
})

describe('an unknown outcome', () => {
  it('changes nothing while the outcome is unknown or pending', () => {
    for (const reason of ['no_answer', 'unreadable', 'not_found'] as const) {
      for (const how of [first, later]) {
        const decision = decide(paymentIn('processing'), attemptIn('started'), unknown(reason), how)
        assert.deepEqual(decision, { kind: 'nothing' }, reason)
      }
    }
    const pending: Outcome = { kind: 'pending', gatewayReference: null }
    assert.deepEqual(decide(paymentIn('processing'), attemptIn('started'), pending, first), {
      kind: 'nothing',
    })
  })

  it('fails the attempt when no byte of the first call was sent, because the gateway cannot have acted (F-27)', () => {
    const charge = paymentIn('processing', { kind: 'charge' })
    const decision = decide(charge, attemptIn('started'), unknown('not_sent'), first)
    assert.deepEqual(decision, {
      kind: 'move',
      to: 'failed',
      proof: 'not_sent',
      attemptStatus: 'declined',
      failure: { code: 'provider_unavailable', message: 'x' },
      paid: null,
      paidAt: null,
      gatewayReference: null,
      fenced: true,
    })
    const checkout = decide(paymentIn('processing'), attemptIn('started'), unknown('not_sent'), first)
    assert.equal(checkout.kind === 'move' && checkout.to, 'pending')
  })

  it('changes nothing when no byte of a later call was sent, because the first call may have arrived', () => {
    const decision = decide(paymentIn('processing'), attemptIn('started'), unknown('not_sent'), later)
    assert.deepEqual(decision, { kind: 'nothing' })
  })
})
