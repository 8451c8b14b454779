// The model's statements of refunds, and of the payments that they refund.

import {
  claimDueDuplicates,
  unscheduleDuplicateRefund,
  updateDuplicateRefundTotal,
} from '../../../../src/disputes/duplicates.ts'
import { lockPayment } from '../../../../src/payments/find.ts'
import { selectOtherReferences } from '../../../../src/refunds/gateway-refund-queries.ts'
import {
  REFUND_FAILED,
  sumEarlierRefunds,
  updateRefundTotals,
} from '../../../../src/refunds/payment-queries.ts'
import {
  claimDueRefunds,
  claimRefundReference,
  completeRefund,
  findRefund,
  findRefundReference,
  insertRefund,
  markRefundsDue,
  markSubmitted,
  saveRecheck,
  saveRefundProgress,
  wakeQueued,
} from '../../../../src/refunds/queries.ts'
import { REFUND } from '../../../../src/refunds/refund.ts'
import { findOwned, pickPayment, withoutGateways } from './payments.ts'
import { claim, isSame, modelStatement, pickColumns, timeOf } from './statement.ts'
import type { Row, TableAccess } from './store.ts'

const COLUMNS = REFUND.list().split(', ')
const pickRefund = pickColumns(...COLUMNS)

const ANY_ROW = { merchantId: '', id: '' } as never
const never = new Date(0)

function insert(access: TableAccess, values: readonly unknown[]): Row[] {
  const row: Row = Object.fromEntries(COLUMNS.map((column, index) => [column, values[index]]))
  const metadata = JSON.parse(row.metadata as string)
  access.insert('refunds', { ...row, metadata })
  return []
}

/** The pending refund whose fence is still valid. */
function findPendingByFence(
  access: TableAccess,
  [merchantId, id, fence]: readonly unknown[],
): Row | undefined {
  const refund = findOwned(access, 'refunds', merchantId, id)
  return refund?.fence === fence && refund?.status === 'pending' ? refund : undefined
}

function markAsSubmitted(access: TableAccess, values: readonly unknown[]): Row[] {
  const [at, is_blocking] = values.slice(3)
  const refund = findPendingByFence(access, values)
  if (!refund) return []
  const submitted_at = refund.submitted_at ?? at
  return [pickRefund(access.update('refunds', refund, { submitted_at, is_blocking }))]
}

function updateRefund(access: TableAccess, values: readonly unknown[]): Row[] {
  const [status_reason, reference, seenDueAt, due, isUnsent, stopsBlocking, at] = values.slice(3)
  const refund = findPendingByFence(access, values)
  if (!refund) return []
  const updated = access.update('refunds', refund, {
    status_reason,
    gateway_reference: reference ?? refund.gateway_reference,
    due_at: isSame(refund.due_at, seenDueAt) ? due : refund.due_at,
    submitted_at: isUnsent ? null : refund.submitted_at,
    is_blocking: refund.is_blocking && !stopsBlocking,
    updated_at: refund.status_reason === status_reason ? refund.updated_at : at,
  })
  return [pickRefund(updated)]
}

function updateRecheckedRefund(access: TableAccess, values: readonly unknown[]): Row[] {
  const [merchantId, id, fence, status_reason, seenDueAt, due, at] = values
  const refund = findOwned(access, 'refunds', merchantId, id)
  if (refund?.fence !== fence || refund?.status !== 'successful') return []
  const updated = access.update('refunds', refund, {
    status_reason,
    due_at: isSame(refund.due_at, seenDueAt) ? due : refund.due_at,
    updated_at: refund.status_reason === status_reason ? refund.updated_at : at,
  })
  return [pickRefund(updated)]
}

const hasOpenCase = (attempt: Row) => (row: Row) =>
  row.attempt_id === attempt.id && row.kind === 'duplicate_not_refundable' && row.closed_at === null

function applyRefundEnd(
  access: TableAccess,
  [merchantId, id, status, reference, message, at]: readonly unknown[],
): Row[] {
  const refund = findOwned(access, 'refunds', merchantId, id)
  if (refund?.status !== 'pending') return []
  const ended = access.update('refunds', refund, {
    status,
    status_reason: null,
    version: Number(refund.version) + 1,
    gateway_reference: reference ?? refund.gateway_reference,
    failure_message: message,
    is_blocking: false,
    due_at: null,
    updated_at: at,
  })
  return [pickRefund(ended)]
}

function wake(access: TableAccess, [merchantId, paymentId, at]: readonly unknown[]): Row[] {
  for (const refund of access.all('refunds')) {
    const isOfPayment = refund.merchant_id === merchantId && refund.payment_id === paymentId
    const waits = refund.status_reason === 'queued' && refund.due_at !== null
    if (isOfPayment && waits && timeOf(refund.due_at) > timeOf(at))
      access.update('refunds', refund, { due_at: at })
  }
  return []
}

function wakeRefunds(access: TableAccess, [gateway, accountId, key, at]: readonly unknown[]): Row[] {
  for (const refund of access.all('refunds')) {
    const isMeant =
      refund.attempt_key === key && refund.gateway === gateway && refund.account_id === accountId
    const isWaiting = refund.due_at !== null && timeOf(refund.due_at) > timeOf(at)
    const isGiven = refund.due_at === null && refund.status === 'successful' && refund.status_reason === null
    if (isMeant && (isWaiting || isGiven)) access.update('refunds', refund, { due_at: at, polls: 0 })
  }
  return []
}

function claimRefunds(access: TableAccess, [now, due_at, limit, saturated]: readonly unknown[]): Row[] {
  return claim(withoutGateways(access, saturated), 'refunds', 'due_at', now, limit).map((refund) => {
    const [polls, fence] = [Number(refund.polls) + 1, Number(refund.fence) + 1]
    return pickRefund(access.update('refunds', refund, { due_at, polls, fence }))
  })
}

function updatePaymentRefunds(
  access: TableAccess,
  [merchantId, id, refunded, reserved]: readonly unknown[],
): Row[] {
  const payment = findOwned(access, 'payments', merchantId, id)
  // A boundary: amounts are bigint on both sides.
  const add = (a: unknown, b: unknown) => (a as bigint) + (b as bigint)
  if (payment) {
    const refunded_minor = add(payment.refunded_minor, refunded)
    const isLess =
      (payment.status === 'refunded' && refunded_minor < (payment.amount_paid_minor as bigint)) ||
      (payment.status === 'partially_refunded' && refunded_minor === 0n)
    const other = payment.status_reason === REFUND_FAILED ? null : payment.status_reason
    access.update('payments', payment, {
      refunded_minor,
      refund_reserved_minor: add(payment.refund_reserved_minor, reserved),
      status_reason: isLess ? REFUND_FAILED : other,
    })
  }
  return []
}

function updateDuplicateRefund(access: TableAccess, [merchantId, id, amount]: readonly unknown[]): Row[] {
  const attempt = findOwned(access, 'attempts', merchantId, id)
  if (attempt?.status === 'duplicate_success' || attempt?.status === 'amount_mismatch') {
    const refunded_minor = (attempt.refunded_minor as bigint) + (amount as bigint)
    access.update('attempts', attempt, { refunded_minor })
  }
  return []
}

function selectReferencesOfOthers(access: TableAccess, values: readonly unknown[]): Row[] {
  const [merchantId, paymentId, id] = values
  return access
    .all('refunds')
    .filter((row) => row.merchant_id === merchantId && row.payment_id === paymentId && row.id !== id)
    .filter((row) => row.gateway_reference !== null)
    .map((row) => ({ reference: row.gateway_reference }))
}

function sumOfEarlier(access: TableAccess, values: readonly unknown[]): Row[] {
  const [merchantId, paymentId, attemptId, id, before] = values
  const isEarlier = (row: Row) =>
    row.submitted_at !== null && (before === null || timeOf(row.submitted_at) < timeOf(before))
  const earlier = access
    .all('refunds')
    .filter((row) => row.merchant_id === merchantId && row.payment_id === paymentId)
    .filter((row) => row.attempt_id === attemptId && row.id !== id && row.status !== 'failed')
    .filter(isEarlier)
  // A boundary: amounts are bigint on both sides.
  return [{ minor: earlier.reduce((sum, row) => sum + (row.amount_minor as bigint), 0n) }]
}

export const REFUND_STATEMENTS = [
  modelStatement('sumEarlierRefunds', (db) => sumEarlierRefunds(db, ANY_ROW), sumOfEarlier),
  modelStatement(
    'selectOtherReferences',
    (db) => selectOtherReferences(db, ANY_ROW),
    selectReferencesOfOthers,
  ),
  modelStatement(
    'lockPayment',
    (db) => lockPayment(db, '', ''),
    (access, [merchantId, id]) => {
      const payment = findOwned(access, 'payments', merchantId, id)
      if (!payment) return []
      access.lock('payments', payment)
      return [{ ...pickPayment(payment), refundReservedMinor: payment.refund_reserved_minor }]
    },
  ),
  modelStatement(
    'updateRefundTotals',
    (db) => updateRefundTotals(db, '', '', { refundedMinor: 0n, reservedMinor: 0n }),
    updatePaymentRefunds,
  ),
  modelStatement(
    'updateDuplicateRefundTotal',
    (db) => updateDuplicateRefundTotal(db, '', '', 0n),
    updateDuplicateRefund,
  ),
  modelStatement(
    'claimDueDuplicates',
    (db) => claimDueDuplicates(db, never, never, 0),
    (access, [now, refund_due_at, limit]) =>
      claim(access, 'attempts', 'refund_due_at', now, limit).map((attempt) => {
        access.update('attempts', attempt, { refund_due_at })
        const { merchant_id: merchantId, id: attemptId, payment_id: paymentId } = attempt
        return {
          merchantId,
          attemptId,
          paymentId,
          hasOpenCase: access.all('cases').some(hasOpenCase(attempt)),
        }
      }),
  ),
  modelStatement(
    'unscheduleDuplicateRefund',
    (db) => unscheduleDuplicateRefund(db, '', ''),
    (access, [merchantId, id]) => {
      const attempt = findOwned(access, 'attempts', merchantId, id)
      if (attempt?.status !== 'duplicate_success' || attempt.refund_due_at === null) return []
      access.update('attempts', attempt, { refund_due_at: null })
      return [{ id }]
    },
  ),
  modelStatement('insertRefund', (db) => insertRefund(db, { metadata: {} } as never), insert),
  modelStatement(
    'findRefund',
    (db) => findRefund(db, '', ''),
    (access, [merchantId, id]) => {
      const refund = findOwned(access, 'refunds', merchantId, id)
      return refund ? [pickRefund(refund)] : []
    },
  ),
  modelStatement(
    'claimRefundReference',
    (db) => claimRefundReference(db, '', '', {} as never),
    (access, [merchant_id, reference, refund_id, fingerprint]) => {
      const row = { merchant_id, reference, refund_id, fingerprint }
      return access.insertIfAbsent('refund_references', row) ? [{ refundId: refund_id }] : []
    },
  ),
  modelStatement(
    'findRefundReference',
    (db) => findRefundReference(db, '', ''),
    (access, [merchantId, reference]) => {
      const row = access.get('refund_references', `${merchantId}|${reference}`)
      return row ? [pickColumns('refund_id', 'fingerprint')(row)] : []
    },
  ),
  modelStatement('markSubmitted', (db) => markSubmitted(db, ANY_ROW, never, false), markAsSubmitted),
  modelStatement('saveRefundProgress', (db) => saveRefundProgress(db, ANY_ROW, {} as never), updateRefund),
  modelStatement('saveRecheck', (db) => saveRecheck(db, ANY_ROW, {} as never), updateRecheckedRefund),
  modelStatement('completeRefund', (db) => completeRefund(db, ANY_ROW, {} as never), applyRefundEnd),
  modelStatement('wakeQueued', (db) => wakeQueued(db, ANY_ROW, never), wake),
  modelStatement('claimDueRefunds', (db) => claimDueRefunds(db, never, never, 0, []), claimRefunds),
  modelStatement('markRefundsDue', (db) => markRefundsDue(db, ANY_ROW, never), wakeRefunds),
]
