// What is read and written of payments and attempts beside their record and moves.

import { extendExpiry, markAwaiting, notePayer } from '../../../../src/checkout/queries.ts'
import { retryRings, ringDoorbell } from '../../../../src/gateway-webhooks/queries.ts'
import { claimQuestion, postponeAttempt } from '../../../../src/outcomes/queries.ts'
import { listAttempts } from '../../../../src/payments/attempt-queries.ts'
import { findPayment, findPaymentByAccess, findPaymentByReference } from '../../../../src/payments/queries.ts'
import { claimDueAttempts, claimDueCheckouts } from '../../../../src/resolver/queries.ts'
import { claim, isDue, isSame, modelled, picking, timeOf } from './statement.ts'
import type { Hands, Row } from './store.ts'

export const pickPayment = picking(
  ...['merchant_id', 'id', 'kind', 'reference', 'status', 'status_reason', 'version', 'amount_minor'],
  ...['currency', 'amount_paid_minor', 'fee_minor', 'refunded_minor', 'gateway', 'country', 'description'],
  ...['metadata', 'redirect_url', 'is_recurring', 'customer_id', 'customer_email', 'customer_firstname'],
  ...['customer_lastname', 'access_sealed', 'attempts_used', 'failovers', 'payment_method_id'],
  ...['recovery_payment_id', 'link_id', 'failure_code', 'failure_message', 'expires_at', 'due_at', 'paid_at'],
  'created_at',
)

const pickAttempt = picking(
  ...['merchant_id', 'id', 'payment_id', 'number', 'operation', 'gateway', 'account_id', 'channel', 'status'],
  ...['gateway_key', 'gateway_reference', 'choice', 'next_step', 'failure_code', 'failure_message'],
  ...['paid_minor', 'paid_currency', 'refunded_minor', 'started_at', 'ended_at', 'sent_at', 'returned_at'],
  ...['due_at', 'polls', 'fence'],
)

/** The row of this merchant, if it has one. */
export function own(hands: Hands, table: string, merchantId: unknown, id: unknown): Row | undefined {
  const row = hands.get(table, String(id))
  return row?.merchant_id === merchantId ? row : undefined
}

const rowsOf = (row: Row | undefined, pick: (row: Row) => Row) => (row ? [pick(row)] : [])

const nobody = { merchantId: '', id: '' } as never

function awaitCustomer(hands: Hands, values: readonly unknown[]): Row[] {
  const [merchantId, id, fence, reference, nextStep, due_at] = values
  const attempt = own(hands, 'attempts', merchantId, id)
  const isOpen = attempt?.status === 'started' || attempt?.status === 'awaiting_customer'
  if (!attempt || attempt.fence !== fence || !isOpen) return []
  hands.update('attempts', attempt, {
    status: 'awaiting_customer',
    gateway_reference: reference ?? attempt.gateway_reference,
    next_step: nextStep === null ? attempt.next_step : JSON.parse(nextStep as string),
    due_at,
  })
  const payment = own(hands, 'payments', merchantId, attempt.payment_id)
  if (payment?.status !== 'processing') return []
  hands.update('payments', payment, { status_reason: 'awaiting_customer' })
  return [{ id }]
}

function postpone(hands: Hands, values: readonly unknown[]): Row[] {
  const [merchantId, id, fence, leasedUntil, due, reference] = values
  const attempt = own(hands, 'attempts', merchantId, id)
  if (attempt?.fence !== fence || !attempt) return []
  hands.update('attempts', attempt, {
    due_at: isSame(attempt.due_at, leasedUntil) ? due : attempt.due_at,
    gateway_reference: reference ?? attempt.gateway_reference,
  })
  return []
}

function claimAttempts(hands: Hands, [now, leaseUntil, limit, busy]: readonly unknown[]): Row[] {
  // A boundary: the names of gateways.
  const isBusy = (row: Row) => (busy as unknown[]).includes(row.gateway)
  const others: Hands = { ...hands, all: (table) => hands.all(table).filter((row) => !isBusy(row)) }
  return claim(others, 'attempts', 'due_at', now, limit).map((attempt) => {
    const { merchant_id: merchantId, payment_id: paymentId, id, gateway } = attempt
    const [polls, fence] = [Number(attempt.polls) + 1, Number(attempt.fence) + 1]
    hands.update('attempts', attempt, { due_at: leaseUntil, polled_at: now, polls, fence })
    return { merchantId, paymentId, id, gateway }
  })
}

const PAID: unknown[] = ['succeeded', 'duplicate_success']
const RINGS_AT: unknown[] = ['started', 'awaiting_customer', 'declined', 'requires_review']

function ringAt(hands: Hands, attempts: readonly Row[], isDispute: unknown, at: unknown): void {
  for (const attempt of attempts) {
    const rings = RINGS_AT.includes(attempt.status) || (PAID.includes(attempt.status) && isDispute)
    if (rings && timeOf(attempt.due_at) > timeOf(at))
      hands.update('attempts', attempt, { due_at: at, polls: 0 })
  }
}

const attemptsAt = (hands: Hands, { gateway_key, gateway, account_id }: Row) =>
  hands
    .all('attempts')
    .filter(
      (row) => row.gateway_key === gateway_key && row.gateway === gateway && row.account_id === account_id,
    )

function ring(hands: Hands, values: readonly unknown[]): Row[] {
  const [gateway, account_id, event_id, gateway_key, received_at, retryAt, is_dispute] = values
  const about = { gateway, account_id, gateway_key }
  const known = attemptsAt(hands, about)
  const isKnown = known.length > 0
  const handled = { handled_at: isKnown ? received_at : null, due_at: isKnown ? null : retryAt }
  const noted = hands.insertNew('gateway_webhooks', {
    ...about,
    event_id,
    received_at,
    is_dispute,
    ...handled,
  })
  if (noted) ringAt(hands, known, is_dispute, received_at)
  return []
}

const MINUTE_MS = 60_000

function retry(hands: Hands, [now, giveUpBefore, limit]: readonly unknown[]): Row[] {
  return claim(hands, 'gateway_webhooks', 'due_at', now, limit).map((event) => {
    const known = attemptsAt(hands, event)
    ringAt(hands, known, event.is_dispute, now)
    const isKnown = known.length > 0
    const ageMs = timeOf(now) - timeOf(event.received_at)
    const nextAt = new Date(timeOf(now) + Math.max(ageMs, MINUTE_MS))
    const isGivenUp = timeOf(event.received_at) <= timeOf(giveUpBefore)
    const due_at = isKnown || isGivenUp ? null : nextAt
    hands.update('gateway_webhooks', event, { handled_at: isKnown ? now : null, due_at })
    return { isHandled: isKnown }
  })
}

function extend(hands: Hands, [merchantId, id, now, until]: readonly unknown[]): Row[] {
  const payment = own(hands, 'payments', merchantId, id)
  const isOpen = payment?.kind === 'checkout' && payment.status === 'pending'
  const ends = timeOf(payment?.expires_at)
  if (payment && isOpen && ends > timeOf(now) && ends < timeOf(until))
    hands.update('payments', payment, { expires_at: until, due_at: until })
  return []
}

function note(hands: Hands, [merchantId, id, what, at]: readonly unknown[]): Row[] {
  const attempt = own(hands, 'attempts', merchantId, id)
  const column = what === 'sent' ? 'sent_at' : 'returned_at'
  if (attempt) hands.update('attempts', attempt, { [column]: attempt[column] ?? at })
  return []
}

const isPaymentAt = (hash: unknown) => (row: Row) =>
  Buffer.isBuffer(row.access_hash) && row.access_hash.equals(hash as Buffer)

export const PAYMENT_STATEMENTS = [
  modelled(
    'findPayment',
    (db) => findPayment(db, '', ''),
    (hands, [merchantId, id]) => rowsOf(own(hands, 'payments', merchantId, id), pickPayment),
  ),
  modelled(
    'findPaymentByReference',
    (db) => findPaymentByReference(db, '', ''),
    (hands, [merchantId, reference]) => {
      const named = hands.get('payment_references', `${merchantId}|${reference}`)
      return rowsOf(named && own(hands, 'payments', merchantId, named.payment_id), pickPayment)
    },
  ),
  modelled(
    'findPaymentByAccess',
    (db) => findPaymentByAccess(db, Buffer.alloc(0)),
    (hands, [hash]) => rowsOf(hands.all('payments').find(isPaymentAt(hash)), pickPayment),
  ),
  modelled('extendExpiry', (db) => extendExpiry(db, '', '', new Date(0), new Date(0)), extend),
  modelled(
    'claimDueCheckouts',
    (db) => claimDueCheckouts(db, new Date(0), new Date(0), 0),
    (hands, [now, leaseUntil, limit]) =>
      claim(hands, 'payments', 'due_at', now, limit).map((payment) =>
        pickPayment(hands.update('payments', payment, { due_at: leaseUntil })),
      ),
  ),
  modelled(
    'listAttempts',
    (db) => listAttempts(db, '', ''),
    (hands, [merchantId, paymentId]) =>
      hands
        .all('attempts')
        .filter((row) => row.merchant_id === merchantId && row.payment_id === paymentId)
        .sort((a, b) => Number(a.number) - Number(b.number))
        .map(pickAttempt),
  ),
  modelled('markAwaiting', (db) => markAwaiting(db, nobody, null, null, null), awaitCustomer),
  modelled('notePayer', (db) => notePayer(db, nobody, 'sent', new Date(0)), note),
  modelled('postponeAttempt', (db) => postponeAttempt(db, nobody, null, null), postpone),
  modelled(
    'claimQuestion',
    (db) => claimQuestion(db, nobody, new Date(0), new Date(0)),
    (hands, [merchantId, id, now, notSince]) => {
      const attempt = own(hands, 'attempts', merchantId, id)
      if (!attempt || (attempt.polled_at !== null && !isDue(attempt.polled_at, notSince))) return []
      hands.update('attempts', attempt, { polled_at: now })
      return [{ id }]
    },
  ),
  modelled('claimDueAttempts', (db) => claimDueAttempts(db, new Date(0), new Date(0), 0, []), claimAttempts),
  modelled('ringDoorbell', (db) => ringDoorbell(db, nobody, new Date(0), new Date(0)), ring),
  modelled('retryRings', (db) => retryRings(db, new Date(0), new Date(0), 0), retry),
]
