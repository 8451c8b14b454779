// What is read and written of refunds, and of the payments that they take money from.

import { insertCase } from '../../../../src/disputes/case-queries.ts'
import {
  claimDuplicates,
  noteDuplicateRefund,
  takeDuplicate,
} from '../../../../src/disputes/duplicate-queries.ts'
import { lockPayment } from '../../../../src/payments/queries.ts'
import { changeRefunds } from '../../../../src/refunds/payment-queries.ts'
import {
  claimDueRefunds,
  completeRefund,
  findRefund,
  insertRefund,
  markRefundsDue,
  markSubmitted,
  saveRecheck,
  saveRefundProgress,
  wakeQueued,
} from '../../../../src/refunds/queries.ts'
import { own, pickPayment } from './payments.ts'
import { claim, isSame, modelled, picking, timeOf } from './statement.ts'
import type { Hands, Row } from './store.ts'

const pickRefund = picking(
  ...['merchant_id', 'id', 'payment_id', 'payment_reference', 'attempt_id', 'attempt_key'],
  ...['attempt_reference', 'gateway', 'account_id', 'status', 'status_reason', 'version', 'amount_minor'],
  ...['currency', 'is_full', 'is_duplicate', 'reason', 'metadata', 'gateway_key', 'gateway_reference'],
  ...['failure_message', 'submitted_at', 'due_at', 'polls', 'fence', 'created_at', 'updated_at'],
)

const nobody = { merchantId: '', id: '' } as never
const never = new Date(0)

const INSERTED = [
  ...['merchant_id', 'id', 'payment_id', 'payment_reference', 'attempt_id', 'attempt_key'],
  ...['attempt_reference', 'gateway', 'account_id', 'amount_minor', 'currency', 'is_full', 'is_duplicate'],
  ...['reason', 'metadata', 'gateway_key', 'due_at', 'created_at'],
]

function insert(hands: Hands, values: readonly unknown[]): Row[] {
  const row: Row = Object.fromEntries(INSERTED.map((column, index) => [column, values[index]]))
  const metadata = JSON.parse(row.metadata as string)
  hands.insert('refunds', { ...row, metadata, status: 'pending', version: 1, updated_at: row.created_at })
  return []
}

/** The pending refund that this fence still speaks for. */
function spoken(hands: Hands, [merchantId, id, fence]: readonly unknown[]): Row | undefined {
  const refund = own(hands, 'refunds', merchantId, id)
  return refund?.fence === fence && refund?.status === 'pending' ? refund : undefined
}

function mark(hands: Hands, values: readonly unknown[]): Row[] {
  const [at, is_blocking] = values.slice(3)
  const refund = spoken(hands, values)
  if (!refund) return []
  const submitted_at = refund.submitted_at ?? at
  return [pickRefund(hands.update('refunds', refund, { submitted_at, is_blocking }))]
}

function note(hands: Hands, values: readonly unknown[]): Row[] {
  const [status_reason, reference, seenDueAt, due, isUnsent, stopsBlocking, at] = values.slice(3)
  const refund = spoken(hands, values)
  if (!refund) return []
  const noted = hands.update('refunds', refund, {
    status_reason,
    gateway_reference: reference ?? refund.gateway_reference,
    due_at: isSame(refund.due_at, seenDueAt) ? due : refund.due_at,
    submitted_at: isUnsent ? null : refund.submitted_at,
    is_blocking: refund.is_blocking && !stopsBlocking,
    updated_at: refund.status_reason === status_reason ? refund.updated_at : at,
  })
  return [pickRefund(noted)]
}

function noteSeen(hands: Hands, values: readonly unknown[]): Row[] {
  const [merchantId, id, fence, status_reason, seenDueAt, due, at] = values
  const refund = own(hands, 'refunds', merchantId, id)
  if (refund?.fence !== fence || refund?.status !== 'successful') return []
  const noted = hands.update('refunds', refund, {
    status_reason,
    due_at: isSame(refund.due_at, seenDueAt) ? due : refund.due_at,
    updated_at: refund.status_reason === status_reason ? refund.updated_at : at,
  })
  return [pickRefund(noted)]
}

function openCase(hands: Hands, values: readonly unknown[]): Row[] {
  const [merchant_id, id, kind, payment_id, attempt_id, refund_id, opened_at, reopens] = values
  const row = { merchant_id, id, kind, payment_id, attempt_id, refund_id, opened_at }
  if (hands.insertNew('cases', row)) return [{ id }]
  const isSameCase = (one: Row) =>
    one.attempt_id === attempt_id && one.kind === kind && one.refund_id === refund_id
  const known = hands.all('cases').find(isSameCase)
  if (!known || known.closed_at === null || !reopens) return []
  hands.update('cases', known, { opened_at, closed_at: null, note: null })
  return [{ id: known.id }]
}

const hasOpenCase = (attempt: Row) => (row: Row) =>
  row.attempt_id === attempt.id && row.kind === 'duplicate_not_refundable' && row.closed_at === null

function end(hands: Hands, [merchantId, id, status, reference, words, at]: readonly unknown[]): Row[] {
  const refund = own(hands, 'refunds', merchantId, id)
  if (refund?.status !== 'pending') return []
  const ended = hands.update('refunds', refund, {
    status,
    status_reason: null,
    version: Number(refund.version) + 1,
    gateway_reference: reference ?? refund.gateway_reference,
    failure_message: words,
    is_blocking: false,
    due_at: null,
    updated_at: at,
  })
  return [pickRefund(ended)]
}

function wake(hands: Hands, [merchantId, paymentId, at]: readonly unknown[]): Row[] {
  for (const refund of hands.all('refunds')) {
    const isOfPayment = refund.merchant_id === merchantId && refund.payment_id === paymentId
    const waits = refund.status_reason === 'queued' && refund.due_at !== null
    if (isOfPayment && waits && timeOf(refund.due_at) > timeOf(at))
      hands.update('refunds', refund, { due_at: at })
  }
  return []
}

function ring(hands: Hands, [gateway, accountId, key, at]: readonly unknown[]): Row[] {
  for (const refund of hands.all('refunds')) {
    const isMeant =
      refund.attempt_key === key && refund.gateway === gateway && refund.account_id === accountId
    const isWaiting = refund.due_at !== null && timeOf(refund.due_at) > timeOf(at)
    const isGiven = refund.due_at === null && refund.status === 'successful' && refund.status_reason === null
    if (isMeant && (isWaiting || isGiven)) hands.update('refunds', refund, { due_at: at, polls: 0 })
  }
  return []
}

function claimRefunds(hands: Hands, [now, due_at, limit]: readonly unknown[]): Row[] {
  return claim(hands, 'refunds', 'due_at', now, limit).map((refund) => {
    const [polls, fence] = [Number(refund.polls) + 1, Number(refund.fence) + 1]
    return pickRefund(hands.update('refunds', refund, { due_at, polls, fence }))
  })
}

function change(hands: Hands, [merchantId, id, refunded, reserved]: readonly unknown[]): Row[] {
  const payment = own(hands, 'payments', merchantId, id)
  // A boundary: amounts are bigint on both sides.
  const add = (a: unknown, b: unknown) => (a as bigint) + (b as bigint)
  if (payment) {
    hands.update('payments', payment, {
      refunded_minor: add(payment.refunded_minor, refunded),
      refund_reserved_minor: add(payment.refund_reserved_minor, reserved),
    })
  }
  return []
}

function noteDuplicate(hands: Hands, [merchantId, id, amount]: readonly unknown[]): Row[] {
  const attempt = own(hands, 'attempts', merchantId, id)
  if (attempt?.status === 'duplicate_success') {
    const refunded_minor = (attempt.refunded_minor as bigint) + (amount as bigint)
    hands.update('attempts', attempt, { refunded_minor })
  }
  return []
}

export const REFUND_STATEMENTS = [
  modelled(
    'lockPayment',
    (db) => lockPayment(db, '', ''),
    (hands, [merchantId, id]) => {
      const payment = own(hands, 'payments', merchantId, id)
      if (!payment) return []
      hands.lock('payments', payment)
      return [{ ...pickPayment(payment), refundReservedMinor: payment.refund_reserved_minor }]
    },
  ),
  modelled(
    'changeRefunds',
    (db) => changeRefunds(db, '', '', { refundedMinor: 0n, reservedMinor: 0n }),
    change,
  ),
  modelled('noteDuplicateRefund', (db) => noteDuplicateRefund(db, '', '', 0n), noteDuplicate),
  modelled(
    'claimDuplicates',
    (db) => claimDuplicates(db, never, never, 0),
    (hands, [now, refund_due_at, limit]) =>
      claim(hands, 'attempts', 'refund_due_at', now, limit).map((attempt) => {
        hands.update('attempts', attempt, { refund_due_at })
        const { merchant_id: merchantId, id: attemptId, payment_id: paymentId } = attempt
        return {
          merchantId,
          attemptId,
          paymentId,
          hasOpenCase: hands.all('cases').some(hasOpenCase(attempt)),
        }
      }),
  ),
  modelled(
    'takeDuplicate',
    (db) => takeDuplicate(db, '', ''),
    (hands, [merchantId, id]) => {
      const attempt = own(hands, 'attempts', merchantId, id)
      if (attempt?.status !== 'duplicate_success' || attempt.refund_due_at === null) return []
      hands.update('attempts', attempt, { refund_due_at: null })
      return [{ id }]
    },
  ),
  modelled('insertRefund', (db) => insertRefund(db, { metadata: {} } as never), insert),
  modelled(
    'findRefund',
    (db) => findRefund(db, '', ''),
    (hands, [merchantId, id]) => {
      const refund = own(hands, 'refunds', merchantId, id)
      return refund ? [pickRefund(refund)] : []
    },
  ),
  modelled('markSubmitted', (db) => markSubmitted(db, nobody, never, false), mark),
  modelled('saveRefundProgress', (db) => saveRefundProgress(db, nobody, {} as never), note),
  modelled('saveRecheck', (db) => saveRecheck(db, nobody, {} as never), noteSeen),
  modelled('insertCase', (db) => insertCase(db, {} as never, false), openCase),
  modelled('completeRefund', (db) => completeRefund(db, nobody, {} as never), end),
  modelled('wakeQueued', (db) => wakeQueued(db, nobody, never), wake),
  modelled('claimDueRefunds', (db) => claimDueRefunds(db, never, never, 0), claimRefunds),
  modelled('markRefundsDue', (db) => markRefundsDue(db, nobody, never), ring),
]
