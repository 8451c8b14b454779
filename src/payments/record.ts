// Records a payment before any gateway is called, and replays the record to repeated requests (idempotency). The insert
// claims the reference and the key, so that identical requests in several processes execute once.

import { hash } from 'node:crypto'
import { defaultCountry } from '../core/currency.ts'
import { ApiError } from '../core/errors.ts'
import { base62 } from '../core/ids.ts'
import type { Money } from '../core/money.ts'
import { searchTextOf } from '../core/search-text.ts'
import { type PaymentData, packEventWithoutCustomer } from '../events/packed.ts'
import { API_VERSION } from '../events/service.ts'
import { currentCell } from '../kit/cells/cells.ts'
import { cellOfCode, withCell } from '../kit/cells/values.ts'
import { addMs } from '../kit/clock.ts'
import { findKey, releaseIdempotencyKey } from '../kit/db/idempotency.ts'
import { awaitStandby } from '../kit/db/standby.ts'
import type { PaymentsApp } from './app.ts'
import { ATTEMPT, type AttemptRow, NEW_ATTEMPT, type NewAttempt, newAttempt } from './attempt.ts'
import { findPayment, findReference } from './find.ts'
import type { InitiateInput, PaymentInput } from './input.ts'
import { detailsOf, type PaymentDetails, type PaymentRow } from './payment.ts'
import type { RecordInput } from './record-queries.ts'
import { eventType, FIRST_STATES } from './states.ts'
import { accessContext, serializeRedacted } from './views.ts'

/** The identity of a request: its reference and Idempotency-Key, and a fingerprint of its content. */
export interface Claim {
  operation: string
  reference: string
  fingerprint: string
  idempotencyKey: string | null
}

/** A payment to record, with the details of its request. */
export interface NewPayment extends Partial<PaymentDetails> {
  kind: 'checkout' | 'charge'
  amount: Money
  gateway: string
  customer: PaymentInput['customer']
  paymentMethodId: string | null
  /** How long the checkout is open; null for a charge. */
  openForMs: number | null
  /** The attempt that starts together with a charge. */
  attempt: Omit<NewAttempt, 'startedAt'> | null
}

export interface Recorded {
  payment: PaymentRow
  replayed: boolean
  /** The attempt that started together with a new charge. */
  attempt?: AttemptRow | null
  /** The access code of a new checkout. */
  accessCode?: string | null
}

/**
 * Records the payment, or returns the payment that an earlier request with this claim recorded. `serialize` makes the data
 * of its event.
 */
export async function recordPayment(
  app: PaymentsApp,
  merchantId: string,
  claim: Claim,
  newPayment: NewPayment,
  serialize: (payment: PaymentRow, attempt: AttemptRow | null) => PaymentData,
): Promise<Recorded> {
  const draft = draftPayment(app, merchantId, claim.reference, newPayment)
  const result = await app.writers.record(
    toRecordInput(app, claim, newPayment, draft, serialize(draft.payment, draft.attempt)),
  )
  switch (result.kind) {
    case 'recorded':
      return {
        payment: { ...draft.payment, customerId: result.customerId },
        attempt: draft.attempt,
        accessCode: draft.accessCode,
        replayed: false,
      }
    case 'conflict':
      return { payment: await replay(app, merchantId, claim, draft.payment.id), replayed: true }
    case 'blocked':
    case 'inactive': {
      const error = new ApiError(REJECTION_CODES[result.kind])
      return { payment: await replayOrRethrow(app, merchantId, claim, error), replayed: true }
    }
  }
}

/** Records an open checkout for a gateway that the caller has chosen. */
export async function openCheckout(
  app: PaymentsApp,
  merchantId: string,
  claim: Claim,
  input: InitiateInput,
  gateway: string,
): Promise<Recorded> {
  const newPayment: NewPayment = {
    ...input,
    kind: 'checkout',
    gateway,
    country: input.country ?? defaultCountry(input.amount.currency),
    paymentMethodId: null,
    openForMs: input.openForMs ?? app.settings.checkoutMs,
    attempt: null,
  }
  await app.failpoints.hit('initiate.before_record')
  const serialize = (payment: PaymentRow) => serializeRedacted(app, payment, [], null)
  return recordPayment(app, merchantId, claim, newPayment, serialize)
}

const REJECTION_CODES = { blocked: 'customer_blocked', inactive: 'recurring_token_inactive' } as const

/** The payment of an earlier request with this claim. Throws an ApiError when that request had another content. */
export async function findReplay(
  app: PaymentsApp,
  merchantId: string,
  claim: Claim,
): Promise<PaymentRow | undefined> {
  await rejectReusedKey(app, merchantId, claim)
  const existing = await findReference(app.db, merchantId, claim.reference)
  if (!existing) return undefined
  const payment = await findPayment(app.db, merchantId, existing.paymentId)
  if (!payment) throw new Error('a reference exists without its payment')
  if (existing.fingerprint.toString('hex') !== claim.fingerprint) throw duplicateReference(payment)
  await awaitStandby(app.db)
  return payment
}

/** Returns the payment of an earlier identical request, or throws `error`: a retry of an accepted request is no error. */
export async function replayOrRethrow(
  app: PaymentsApp,
  merchantId: string,
  claim: Claim,
  error: unknown,
): Promise<PaymentRow> {
  if (!(error instanceof ApiError)) throw error
  const payment = await findReplay(app, merchantId, claim)
  if (!payment) throw error
  return payment
}

async function replay(
  app: PaymentsApp,
  merchantId: string,
  claim: Claim,
  claimedBy: string,
): Promise<PaymentRow> {
  try {
    const payment = await findReplay(app, merchantId, claim)
    // Another request holds the claim, but its record is not visible. Only a lost reply of the database can cause this.
    if (!payment) throw new ApiError('temporarily_unavailable')
    return payment
  } catch (error) {
    if (error instanceof ApiError && error.code === 'duplicate_reference' && claim.idempotencyKey !== null) {
      await releaseIdempotencyKey(app.db, merchantId, claim.idempotencyKey, claimedBy)
    }
    throw error
  }
}

async function rejectReusedKey(app: PaymentsApp, merchantId: string, claim: Claim): Promise<void> {
  if (claim.idempotencyKey === null) return
  const existing = await findKey(app.db, merchantId, claim.idempotencyKey)
  if (!existing) return
  const same =
    existing.operation === claim.operation && existing.fingerprint.toString('hex') === claim.fingerprint
  if (!same) throw new ApiError('idempotency_key_reused')
}

function duplicateReference(payment: PaymentRow): ApiError {
  const message = `The reference ${JSON.stringify(payment.reference)} was used with another body: it names ${payment.kind === 'charge' ? 'charge' : 'payment'} ${payment.id}, which is ${payment.status}. Use a new reference for another payment.`
  return new ApiError('duplicate_reference', {
    message,
    details: [{ field: 'reference', code: 'duplicate_reference', message }],
  })
}

const ACCESS_BYTES = 32
const ACCESS_CHARACTERS = 43

export function hashAccessCode(accessCode: string): Buffer {
  return hash('sha256', accessCode, 'buffer')
}

/** The cell of the checkout with this access code. */
export const cellOfAccessCode = (accessCode: string) => cellOfCode(accessCode, ACCESS_CHARACTERS)

function newAccessCode({ random }: PaymentsApp): string {
  return withCell(base62(random.bytes(ACCESS_BYTES), ACCESS_CHARACTERS), currentCell())
}

interface Draft {
  payment: PaymentRow
  attempt: AttemptRow | null
  accessCode: string | null
}

function draftPayment(
  app: PaymentsApp,
  merchantId: string,
  reference: string,
  newPayment: NewPayment,
): Draft {
  const { kind, amount, gateway, customer, paymentMethodId, openForMs } = newPayment
  const { status, reason: statusReason } = FIRST_STATES[kind]
  const id = app.random.uuid()
  const createdAt = app.clock.now()
  const expiresAt = openForMs === null ? null : addMs(createdAt, openForMs)
  const accessCode = kind === 'checkout' ? newAccessCode(app) : null
  const payment: PaymentRow = {
    ...detailsOf(newPayment),
    ...{ merchantId, id, kind, reference, status, statusReason, gateway, paymentMethodId, createdAt },
    version: 1,
    channel: newPayment.attempt?.channel ?? null,
    amountMinor: amount.minor,
    currency: amount.currency,
    amountPaidMinor: null,
    amountReceivedMinor: null,
    feeMinor: null,
    refundedMinor: 0n,
    // A candidate: an existing customer keeps the id of the first payment.
    customerId: app.random.uuid(),
    customerEmail: customer.email,
    customerFirstname: customer.firstname,
    customerLastname: customer.lastname,
    customerPhone: customer.phone ?? null,
    accessSealed: accessCode === null ? null : app.vault.seal(accessCode, accessContext({ merchantId, id })),
    attemptsUsed: newPayment.attempt === null ? 0 : 1,
    failovers: 0,
    recoveryPaymentId: null,
    failureCode: null,
    failureMessage: null,
    expiresAt,
    dueAt: expiresAt,
    paidAt: null,
  }
  return {
    payment,
    attempt: newPayment.attempt && newAttempt(payment, { ...newPayment.attempt, startedAt: createdAt }),
    accessCode,
  }
}

function toRecordInput(
  app: PaymentsApp,
  claim: Claim,
  { customer }: NewPayment,
  { payment, attempt, accessCode }: Draft,
  serialized: PaymentData,
): RecordInput {
  const { mode } = app.settings
  return {
    ...payment,
    fingerprint: claim.fingerprint,
    idempotencyKey: claim.idempotencyKey,
    operation: claim.operation,
    emailKey: emailKey(customer.email),
    customerCountry: customer.country,
    searchText: searchTextOf(customer),
    customerEventId: app.random.uuid(),
    accessHash: accessCode === null ? null : hashAccessCode(accessCode).toString('hex'),
    attempt: attempt && ATTEMPT.toRecord(attempt, NEW_ATTEMPT),
    eventId: app.random.uuid(),
    eventType: eventType(payment.kind, payment.status),
    envelope: { apiVersion: API_VERSION, mode, createdAt: payment.createdAt.toISOString() },
    eventPacked: packEventWithoutCustomer({ apiVersion: API_VERSION, mode }, serialized),
  }
}

export function emailKey(email: string): string {
  return email.toLowerCase()
}
