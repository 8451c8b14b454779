// The model's statements of payments and attempts, except their record and moves.

import {
  extendExpiry,
  markSentOrReturned,
  setOpenReason,
  updateAwaitingCustomer,
} from '../../../../src/checkout/queries.ts'
import { saveGatewayWebhook } from '../../../../src/gateway-webhooks/queries.ts'
import { retryUnmatchedWebhooks } from '../../../../src/gateway-webhooks/retry-queries.ts'
import {
  claimPoll,
  endCompletion,
  rescheduleAttempt,
  startCompletion,
} from '../../../../src/outcomes/queries.ts'
import { ATTEMPT } from '../../../../src/payments/attempt.ts'
import {
  findPayment,
  findPaymentByAccessHash,
  findPaymentByReference,
  listAttempts,
  lockAtVersion,
} from '../../../../src/payments/find.ts'
import { PAYMENT } from '../../../../src/payments/payment.ts'
import { claimDueAttempts, claimDueCheckouts } from '../../../../src/resolver/queries.ts'
import { claim, isDue, isSame, modelStatement, pickColumns, timeOf } from './statement.ts'
import type { Row, TableAccess } from './store.ts'

const columnsOf = (list: string) => pickColumns(...list.split(', '))

export const pickPayment = columnsOf(PAYMENT.list())

const pickAttempt = columnsOf(ATTEMPT.list())

/** The row of this merchant, if it has one. */
export function findOwned(
  access: TableAccess,
  table: string,
  merchantId: unknown,
  id: unknown,
): Row | undefined {
  const row = access.get(table, String(id))
  return row?.merchant_id === merchantId ? row : undefined
}

const rowsOf = (row: Row | undefined, pick: (row: Row) => Row) => (row ? [pick(row)] : [])

const ANY_ROW = { merchantId: '', id: '' } as never

function lockIfAtVersion(access: TableAccess, [merchantId, id, version]: readonly unknown[]): Row[] {
  const payment = findOwned(access, 'payments', merchantId, id)
  if (!payment) return []
  access.lock('payments', payment)
  return payment.version === version ? [{ id }] : []
}

function awaitCustomer(access: TableAccess, values: readonly unknown[]): Row[] {
  const [merchantId, id, fence, reference, nextStep, due_at] = values
  const attempt = findOwned(access, 'attempts', merchantId, id)
  const isOpen = attempt?.status === 'started' || attempt?.status === 'awaiting_customer'
  if (!attempt || attempt.fence !== fence || !isOpen) return []
  access.update('attempts', attempt, {
    status: 'awaiting_customer',
    gateway_reference: reference ?? attempt.gateway_reference,
    next_step: nextStep === null ? attempt.next_step : JSON.parse(nextStep as string),
    due_at,
  })
  const payment = findOwned(access, 'payments', merchantId, attempt.payment_id)
  if (payment?.status !== 'processing') return []
  access.update('payments', payment, { status_reason: 'awaiting_customer' })
  return [{ id }]
}

const OPEN_ATTEMPT: unknown[] = ['started', 'awaiting_customer']

/** Whether the payment of the attempt may still be collected by the completing call. */
function isCompletable(access: TableAccess, payment: Row, attempt: Row, at: unknown): boolean {
  const customer = access.get('customers', String(payment.customer_id))
  const method = access.get('payment_methods', String(attempt.payment_method_id ?? payment.payment_method_id))
  return (
    payment.status === 'processing' &&
    payment.attempts_used === attempt.number &&
    timeOf(payment.expires_at) > timeOf(at) &&
    payment.status_reason !== 'customer_cancelled' &&
    customer?.status !== 'blocked' &&
    (attempt.operation === 'checkout' || method?.status === 'active')
  )
}

function beginCompletion(access: TableAccess, values: readonly unknown[]): Row[] {
  const [merchantId, id, fence, at, gateway_reference, due_at] = values
  const attempt = findOwned(access, 'attempts', merchantId, id)
  const payment = attempt && findOwned(access, 'payments', merchantId, attempt.payment_id)
  const isFree = attempt?.fence === fence && attempt?.completion_started_at === null
  if (!attempt || !payment || !isFree || !OPEN_ATTEMPT.includes(attempt.status)) return []
  if (!isCompletable(access, payment, attempt, at)) return []
  const status = attempt.operation === 'checkout' ? 'awaiting_customer' : attempt.status
  const marked = { completion_started_at: at, gateway_reference, status, due_at }
  const started = pickAttempt(access.update('attempts', attempt, marked))
  const isReviewed = payment.status_reason === 'needs_review'
  access.update('payments', payment, { status_reason: isReviewed ? 'needs_review' : 'outcome_unknown' })
  return [started]
}

function finishCompletion(access: TableAccess, [merchantId, id, at, clears]: readonly unknown[]): Row[] {
  const attempt = findOwned(access, 'attempts', merchantId, id)
  if (!attempt || !OPEN_ATTEMPT.includes(attempt.status) || !isSame(attempt.completion_started_at, at))
    return []
  access.update('attempts', attempt, { completion_started_at: clears ? null : attempt.completion_started_at })
  const payment = findOwned(access, 'payments', merchantId, attempt.payment_id)
  const isCurrent = payment?.status === 'processing' && payment.attempts_used === attempt.number
  if (payment && isCurrent && payment.status_reason === 'outcome_unknown' && attempt.operation === 'checkout')
    access.update('payments', payment, { status_reason: 'awaiting_customer' })
  return []
}

function postpone(access: TableAccess, values: readonly unknown[]): Row[] {
  const [merchantId, id, fence, leasedUntil, due, reference, settlesBy] = values
  const attempt = findOwned(access, 'attempts', merchantId, id)
  if (attempt?.fence !== fence || !attempt) return []
  access.update('attempts', attempt, {
    due_at: isSame(attempt.due_at, leasedUntil) ? due : attempt.due_at,
    gateway_reference: reference ?? attempt.gateway_reference,
    settles_by: settlesBy ?? attempt.settles_by,
  })
  return []
}

/** The rows without those of the gateways that have the maximum in flight. */
export function withoutGateways(access: TableAccess, gateways: unknown): TableAccess {
  // A boundary: the names of gateways.
  const isExcluded = (row: Row) => (gateways as unknown[]).includes(row.gateway)
  return { ...access, all: (table) => access.all(table).filter((row) => !isExcluded(row)) }
}

function claimAttempts(access: TableAccess, [now, leaseUntil, limit, saturated]: readonly unknown[]): Row[] {
  return claim(withoutGateways(access, saturated), 'attempts', 'due_at', now, limit).map((attempt) => {
    const { merchant_id: merchantId, payment_id: paymentId, id, gateway } = attempt
    const [polls, fence] = [Number(attempt.polls) + 1, Number(attempt.fence) + 1]
    access.update('attempts', attempt, { due_at: leaseUntil, polled_at: now, polls, fence })
    return { merchantId, paymentId, id, gateway }
  })
}

const PAID: unknown[] = ['succeeded', 'duplicate_success']
const WAKEABLE: unknown[] = ['started', 'awaiting_customer', 'declined', 'requires_review']

function wakeAttempts(access: TableAccess, attempts: readonly Row[], checksPaid: unknown, at: unknown): void {
  for (const attempt of attempts) {
    const isWakeable = WAKEABLE.includes(attempt.status) || (PAID.includes(attempt.status) && checksPaid)
    if (isWakeable && timeOf(attempt.due_at) > timeOf(at))
      access.update('attempts', attempt, { due_at: at, polls: 0 })
  }
}

const attemptsAt = (access: TableAccess, { gateway_key, gateway_reference, gateway, account_id }: Row) =>
  access.all('attempts').filter((row) => {
    const isNamed =
      row.gateway_key === gateway_key ||
      (gateway_reference !== null && row.gateway_reference === gateway_reference)
    return isNamed && row.gateway === gateway && row.account_id === account_id
  })

function recordWebhook(access: TableAccess, values: readonly unknown[]): Row[] {
  const [gateway, account_id, event_id, gateway_key, received_at, retryAt, checks_paid, gateway_reference] =
    values
  const about = { gateway, account_id, gateway_key, gateway_reference }
  const known = attemptsAt(access, about)
  const isKnown = known.length > 0
  const handled = { handled_at: isKnown ? received_at : null, due_at: isKnown ? null : retryAt }
  const isRecorded = access.insertIfAbsent('gateway_webhooks', {
    id: access.nextSerial(),
    ...about,
    event_id,
    received_at,
    checks_paid,
    ...handled,
  })
  if (isRecorded) wakeAttempts(access, known, checks_paid, received_at)
  return known.map(({ gateway_key: key }) => ({ key }))
}

const MINUTE_MS = 60_000

function retryGatewayWebhooks(access: TableAccess, [now, expireBefore, limit]: readonly unknown[]): Row[] {
  return claim(access, 'gateway_webhooks', 'due_at', now, limit).map((event) => {
    const known = attemptsAt(access, event)
    wakeAttempts(access, known, event.checks_paid, now)
    const isKnown = known.length > 0
    const ageMs = timeOf(now) - timeOf(event.received_at)
    const nextAt = new Date(timeOf(now) + Math.max(ageMs, MINUTE_MS))
    const isExpired = timeOf(event.received_at) <= timeOf(expireBefore)
    const due_at = isKnown || isExpired ? null : nextAt
    access.update('gateway_webhooks', event, { handled_at: isKnown ? now : null, due_at })
    const { gateway, account_id: accountId, event_id: eventId, gateway_key: key } = event
    const { gateway_reference: gatewayReference, checks_paid: checksPaid } = event
    return { gateway, accountId, eventId, key, gatewayReference, checksPaid, isHandled: isKnown }
  })
}

function extend(access: TableAccess, [merchantId, id, now, until]: readonly unknown[]): Row[] {
  const payment = findOwned(access, 'payments', merchantId, id)
  const isOpen = payment?.kind === 'checkout' && payment.status === 'pending'
  const ends = timeOf(payment?.expires_at)
  if (payment && isOpen && ends > timeOf(now) && ends < timeOf(until))
    access.update('payments', payment, { expires_at: until, due_at: until })
  return []
}

function setReason(
  access: TableAccess,
  [merchantId, id, version, status_reason, seen, expiresAt]: readonly unknown[],
): Row[] {
  const payment = findOwned(access, 'payments', merchantId, id)
  const isOpen = payment?.kind === 'checkout' && /^(pending|processing)$/.test(String(payment.status))
  const isUnchanged =
    payment?.version === version && payment?.status_reason === seen && isSame(payment?.expires_at, expiresAt)
  if (payment && isOpen && isUnchanged) access.update('payments', payment, { status_reason })
  return []
}

function recordPayerAction(access: TableAccess, [merchantId, id, what, at]: readonly unknown[]): Row[] {
  const attempt = findOwned(access, 'attempts', merchantId, id)
  const column = what === 'sent' ? 'sent_at' : 'returned_at'
  if (attempt) access.update('attempts', attempt, { [column]: attempt[column] ?? at })
  return []
}

const isPaymentAt = (hash: unknown) => (row: Row) =>
  Buffer.isBuffer(row.access_hash) && row.access_hash.equals(hash as Buffer)

export const PAYMENT_STATEMENTS = [
  modelStatement(
    'findPayment',
    (db) => findPayment(db, '', ''),
    (access, [merchantId, id]) => rowsOf(findOwned(access, 'payments', merchantId, id), pickPayment),
  ),
  modelStatement('lockAtVersion', (db) => lockAtVersion(db, ANY_ROW), lockIfAtVersion),
  modelStatement(
    'findPaymentByReference',
    (db) => findPaymentByReference(db, '', ''),
    (access, [merchantId, reference]) => {
      const named = access.get('payment_references', `${merchantId}|${reference}`)
      return rowsOf(named && findOwned(access, 'payments', merchantId, named.payment_id), pickPayment)
    },
  ),
  modelStatement(
    'findPaymentByAccessHash',
    (db) => findPaymentByAccessHash(db, Buffer.alloc(0)),
    (access, [hash]) => rowsOf(access.all('payments').find(isPaymentAt(hash)), pickPayment),
  ),
  modelStatement('setOpenReason', (db) => setOpenReason(db, {} as never, null), setReason),
  modelStatement('extendExpiry', (db) => extendExpiry(db, '', '', new Date(0), new Date(0)), extend),
  modelStatement(
    'claimDueCheckouts',
    (db) => claimDueCheckouts(db, new Date(0), new Date(0), 0),
    (access, [now, leaseUntil, limit]) =>
      claim(access, 'payments', 'due_at', now, limit).map((payment) =>
        pickPayment(access.update('payments', payment, { due_at: leaseUntil })),
      ),
  ),
  modelStatement(
    'listAttempts',
    (db) => listAttempts(db, '', ''),
    (access, [merchantId, paymentId]) =>
      access
        .all('attempts')
        .filter((row) => row.merchant_id === merchantId && row.payment_id === paymentId)
        .sort((a, b) => Number(a.number) - Number(b.number))
        .map(pickAttempt),
  ),
  modelStatement(
    'updateAwaitingCustomer',
    (db) => updateAwaitingCustomer(db, ANY_ROW, null, null, null),
    awaitCustomer,
  ),
  modelStatement(
    'markSentOrReturned',
    (db) => markSentOrReturned(db, ANY_ROW, 'sent', new Date(0)),
    recordPayerAction,
  ),
  modelStatement(
    'startCompletion',
    (db) => startCompletion(db, ANY_ROW, '', new Date(0), new Date(0)),
    beginCompletion,
  ),
  modelStatement(
    'endCompletion',
    (db) => endCompletion(db, ANY_ROW, { isRepeatable: true }),
    finishCompletion,
  ),
  modelStatement(
    'rescheduleAttempt',
    (db) => rescheduleAttempt(db, ANY_ROW, null, { gatewayReference: null, settlesBy: null }),
    postpone,
  ),
  modelStatement(
    'claimPoll',
    (db) => claimPoll(db, ANY_ROW, new Date(0), new Date(0)),
    (access, [merchantId, id, now, notSince]) => {
      const attempt = findOwned(access, 'attempts', merchantId, id)
      if (!attempt || (attempt.polled_at !== null && !isDue(attempt.polled_at, notSince))) return []
      access.update('attempts', attempt, { polled_at: now })
      return [{ id }]
    },
  ),
  modelStatement(
    'claimDueAttempts',
    (db) => claimDueAttempts(db, new Date(0), new Date(0), 0, []),
    claimAttempts,
  ),
  modelStatement(
    'saveGatewayWebhook',
    (db) => saveGatewayWebhook(db, ANY_ROW, new Date(0), new Date(0)),
    recordWebhook,
  ),
  modelStatement(
    'retryUnmatchedWebhooks',
    (db) => retryUnmatchedWebhooks(db, new Date(0), new Date(0), 0),
    retryGatewayWebhooks,
  ),
]
