// The model's statements of payment moves and of closing attempts.

import { applyMoves } from '../../../../src/payments/move-queries.ts'
import { closeAttempt } from '../../../../src/payments/update-attempt.ts'
import {
  bytea,
  isSame,
  type Kind,
  latest,
  modelStatement,
  readRows,
  recordsetColumns,
  timeOf,
} from './statement.ts'
import { type Row, sqlError, type TableAccess } from './store.ts'

const KINDS: Record<string, Kind> = {
  paid_minor: 'minor',
  fee_minor: 'minor',
  settlement_minor: 'minor',
  paid_at: 'date',
  expected_expires_at: 'date',
  attempt_due_at: 'date',
  attempt_next_poll_at: 'date',
  settlement_due_at: 'date',
  at: 'date',
}

/** The checks before a move is applied; a mutant removes one. */
export interface Guards {
  version: boolean
  fence: boolean
  event: boolean
  ledger: boolean
}

export const EVERY_GUARD: Guards = { version: true, fence: true, event: true, ledger: true }

const COLUMNS = recordsetColumns((db) => applyMoves(db, []))

export function move(access: TableAccess, [json]: readonly unknown[], guards = EVERY_GUARD): Row[] {
  const inputs = readRows(json, KINDS, COLUMNS)
  const locked = lockAttempts(access, inputs, guards)
  const done: [Row, Row][] = []
  for (const input of inputs) {
    const payment = access.get('payments', String(input.payment_id))
    if (!payment || !matchesExpected(access, payment, input, locked, guards)) continue
    done.push([input, movePayment(access, payment, input)])
  }
  for (const [input, payment] of done) writeMove(access, input, payment, guards)
  for (const [input, payment] of done) recordCapture(access, input, payment)
  return done.map(([input]) => ({ n: input.n }))
}

/** The numbers of the rows whose attempt is still fenced by this process. */
function lockAttempts(access: TableAccess, inputs: readonly Row[], guards: Guards): Set<unknown> {
  const locked = new Set<unknown>()
  const named = inputs.filter(({ attempt_id: id }) => id !== null)
  for (const input of named.toSorted((a, b) => (String(a.attempt_id) < String(b.attempt_id) ? -1 : 1))) {
    const attempt = access.get('attempts', String(input.attempt_id))
    const ownsFence =
      !guards.fence || input.expected_fence === null || attempt?.fence === input.expected_fence
    if (!attempt || !ownsFence) continue
    access.lock('attempts', attempt)
    locked.add(input.n)
  }
  return locked
}

function matchesExpected(
  access: TableAccess,
  payment: Row,
  input: Row,
  locked: Set<unknown>,
  guards: Guards,
): boolean {
  const isSameState = payment.version === input.expected_version && payment.status === input.from_status
  const isSameTime =
    input.expected_expires_at === null || isSame(payment.expires_at, input.expected_expires_at)
  const isUnderReview = ['needs_review', 'requires_review'].includes(String(payment.status_reason))
  const isExpected = input.expects_review === true || !isUnderReview
  const isHeld = input.attempt_id === null || locked.has(input.n)
  const isDecided =
    input.attempt_id !== null || input.proof === 'review' || payment.status_reason !== 'outcome_unknown'
  return (
    (isSameState || !guards.version) &&
    isSameTime &&
    isExpected &&
    isHeld &&
    isDecided &&
    isCustomerAllowed(access, payment, input) &&
    isMethodAllowed(access, payment, input)
  )
}

function isCustomerAllowed(access: TableAccess, payment: Row, input: Row): boolean {
  return (
    input.new_attempt === null || access.get('customers', String(payment.customer_id))?.status !== 'blocked'
  )
}

function isMethodAllowed(access: TableAccess, payment: Row, input: Row): boolean {
  const id = (input.new_attempt as Row | null)?.payment_method_id ?? null
  if (id === null) return true
  const method = access.get('payment_methods', String(id))
  const isOwn = method?.merchant_id === payment.merchant_id && method?.customer_id === payment.customer_id
  return isOwn && method?.status === 'active' && timeOf(method.expires_at) > timeOf(input.at)
}

const OPEN: unknown[] = ['pending', 'processing']

function movePayment(access: TableAccess, payment: Row, input: Row): Row {
  return access.update('payments', payment, {
    status: input.to_status,
    status_reason: input.status_reason,
    version: Number(payment.version) + 1,
    failure_code: input.failure_code,
    failure_message: input.failure_message,
    amount_paid_minor: input.paid_minor ?? payment.amount_paid_minor,
    fee_minor: input.fee_minor ?? payment.fee_minor,
    paid_at: input.paid_at ?? payment.paid_at,
    gateway: input.gateway ?? payment.gateway,
    channel: input.channel ?? payment.channel,
    payment_method_id: input.payment_method_id ?? payment.payment_method_id,
    recovery_payment_id: input.recovery_payment_id ?? payment.recovery_payment_id,
    due_at: OPEN.includes(input.to_status) ? payment.expires_at : null,
    attempts_used: (input.new_attempt as Row | null)?.number ?? payment.attempts_used,
    failovers: input.failovers,
  })
}

function writeMove(access: TableAccess, input: Row, payment: Row, guards: Guards): void {
  const { merchant_id, payment_id, from_status, to_status, status_reason: reason, proof, source, at } = input
  const { version } = payment
  // A boundary: the service makes it.
  const newAttempt = input.new_attempt as Row | null
  if (input.attempt_id !== null) endAttempt(access, input)
  if (newAttempt) insertNewAttempt(access, newAttempt)
  const attempt_id = input.attempt_id ?? newAttempt?.id ?? null
  const facts = { merchant_id, payment_id, version, from_status, to_status, reason, proof, source }
  access.insert('moves', { ...facts, attempt_id, at })
  const { event_id: id, event_type: type } = input
  const resource_type = payment.kind === 'charge' ? 'charge' : 'payment'
  const event = {
    id,
    type,
    resource_type,
    resource_id: payment_id,
    version,
    packed: bytea(input.event_packed),
  }
  if (guards.event) access.insert('events', { merchant_id, ...event, created_at: at })
  if (input.entry_id !== null && guards.ledger) credit(access, input, payment)
}

function endAttempt(access: TableAccess, input: Row): void {
  const attempt = access.get('attempts', String(input.attempt_id))
  if (!attempt) return
  const wasWoken =
    input.attempt_status === 'declined' &&
    attempt.due_at !== null &&
    timeOf(attempt.due_at) < timeOf(input.attempt_due_at)
  access.update('attempts', attempt, {
    status: input.attempt_status,
    gateway_reference: input.gateway_reference ?? attempt.gateway_reference,
    receipt_number: input.receipt_number ?? attempt.receipt_number,
    failure_code: input.attempt_failure_code,
    failure_message: input.attempt_failure_message,
    paid_minor: input.paid_minor,
    paid_currency: input.paid_currency,
    ended_at: input.at,
    due_at: wasWoken ? attempt.due_at : input.attempt_next_poll_at,
  })
}

/** The row of an attempt from JSON: its times and amounts are texts there. */
export function insertNewAttempt(access: TableAccess, attempt: Row): void {
  const due_at = attempt.due_at === null ? null : new Date(attempt.due_at as string)
  const started_at = new Date(attempt.started_at as string)
  access.insert('attempts', { ...attempt, refunded_minor: 0n, started_at, due_at })
}

export interface Line {
  account: string
  amount_minor: string
}

function credit(access: TableAccess, input: Row, payment: Row): void {
  const { merchant_id, entry_id: id, entry_kind: kind, payment_id, attempt_id, at } = input
  access.insert('ledger_entries', { merchant_id, id, kind, payment_id, attempt_id, at })
  // A boundary: the service makes the lines.
  post(
    access,
    { merchant_id, id, kind, payment_id, currency: payment.currency, at },
    input.postings as Line[],
  )
  const { settlement_minor: amount_minor, settlement_due_at: due_at } = input
  if (amount_minor === null || (amount_minor as bigint) <= 0n) return
  const { currency } = payment
  access.insert('pending_settlements', { merchant_id, payment_id, currency, amount_minor, due_at })
}

/** Inserts the lines of an entry, and their balance deltas. */
export function post(access: TableAccess, entry: Row, lines: readonly Line[], writesDeltas = true): void {
  const { merchant_id, id: entry_id, kind, payment_id, currency, at } = entry
  let sum = 0n
  for (const [index, { account, amount_minor: text }] of lines.entries()) {
    const amount_minor = BigInt(text)
    const position = index + 1
    sum += amount_minor
    const line = { merchant_id, entry_id, position, account, currency, amount_minor }
    access.insert('postings', line)
    if (!writesDeltas || (account !== 'available' && account !== 'pending')) continue
    access.insert('balance_deltas', { ...line, id: access.nextSerial(), at, kind, payment_id })
  }
  if (sum !== 0n) throw sqlError('23514', 'the postings of an entry must sum to zero')
}

function recordCapture(access: TableAccess, input: Row, payment: Row): void {
  if (input.entry_kind !== 'capture') return
  const customer = access.get('customers', String(payment.customer_id))
  const at = input.paid_at ?? input.at
  if (customer) {
    access.update('customers', customer, {
      successful_payments: (customer.successful_payments as bigint) + 1n,
      last_payment_at: latest(customer.last_payment_at, at),
    })
  }
  const method = access.get('payment_methods', String(input.payment_method_id))
  if (method) {
    access.update('payment_methods', method, { last_used_at: latest(method.last_used_at, input.at) })
  }
}

const FINAL: unknown[] = ['succeeded', 'amount_mismatch', 'duplicate_success']

export function close(access: TableAccess, values: readonly unknown[]): Row[] {
  const [merchant_id, id, status, failure_code, failure_message, paid_minor, paid_currency, reference] =
    values
  const [reason, entryId, lines, at, seenDueAt, watchAt, receiptNumber] = values.slice(8)
  const attempt = access.get('attempts', String(id))
  if (!attempt || FINAL.includes(attempt.status) || attempt.status === status) return []
  const wasWoken =
    (status === 'declined' || status === 'requires_review') &&
    attempt.due_at !== null &&
    timeOf(attempt.due_at) < timeOf(seenDueAt)
  access.update('attempts', attempt, {
    ...{ status, failure_code, failure_message, paid_minor, paid_currency },
    gateway_reference: reference ?? attempt.gateway_reference,
    receipt_number: receiptNumber ?? attempt.receipt_number,
    ended_at: at,
    refund_due_at: status === 'duplicate_success' ? at : null,
    due_at: wasWoken ? attempt.due_at : watchAt,
  })
  const payment = access.get('payments', String(attempt.payment_id))
  if (payment && reason !== null) {
    const isCurrent = OPEN.includes(payment.status) && payment.attempts_used === attempt.number
    const isReceived = payment.amount_paid_minor === null && paid_currency === payment.currency
    access.update('payments', payment, {
      ...(isCurrent && { status_reason: reason, due_at: null }),
      ...(isReceived && { amount_received_minor: paid_minor }),
    })
  }
  if (entryId !== null) {
    const kind = status === 'duplicate_success' ? 'duplicate_capture' : 'unmatched_capture'
    const entry = { merchant_id, id: entryId, kind, payment_id: attempt.payment_id, at }
    access.insert('ledger_entries', { ...entry, attempt_id: id })
    post(access, { ...entry, currency: paid_currency }, JSON.parse(lines as string), false)
  }
  return [{ id }]
}

export const MOVE_STATEMENTS = [
  modelStatement(
    'applyMoves',
    (db) => applyMoves(db, []),
    (access, values) => move(access, values),
  ),
  modelStatement('closeAttempt', (db) => closeAttempt(db, { postings: [] } as never), close),
]
