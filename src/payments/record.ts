// The first half of the rhythm: what is about to happen is on disk before anything happens. Insert first, then act, so
// that N identical requests over several processes come to one execution.

import { createHash } from 'node:crypto'
import { ApiError } from '../core/errors.ts'
import { base62 } from '../core/ids.ts'
import type { Money } from '../core/money.ts'
import { searchTextOf } from '../core/search-text.ts'
import { toEventBody } from '../events/service.ts'
import { addMs } from '../kit/clock.ts'
import { findKey, releaseIdempotencyKey } from '../kit/idempotency.ts'
import { awaitStandby } from '../kit/standby.ts'
import type { PaymentsApp } from './app.ts'
import { findPayment, findReference } from './find.ts'
import type { PaymentRow } from './payment.ts'
import type { RecordInput } from './record-queries.ts'
import { eventType } from './states.ts'

/** How a request is told from another one: by its reference and key, and by what it says. */
export interface Claim {
  operation: string
  reference: string
  fingerprint: string
  idempotencyKey: string | null
}

export interface NewPayment {
  kind: 'checkout' | 'charge'
  status: 'pending' | 'processing'
  statusReason: string | null
  amount: Money
  gateway: string
  country: string | null
  description: string | null
  metadata: Record<string, unknown>
  redirectUrl: string | null
  isRecurring: boolean
  customer: { email: string; firstname: string; lastname: string; country: string | null }
  paymentMethodId: string | null
  /** The payment link at which it is begun. */
  linkId?: string
  /** How long the checkout is open; null for a charge. */
  openForMs: number | null
  /** The attempt that starts together with a charge, and when the resolver looks after it. */
  attempt: { id: string; gatewayKey: string; accountId: string | null; dueAt: Date } | null
}

export type Recorded = { payment: PaymentRow; replayed: boolean }

/** Records the payment, or answers the one that this claim made before. `show` is the record as events tell it. */
export async function recordPayment(
  app: PaymentsApp,
  merchantId: string,
  claim: Claim,
  newPayment: NewPayment,
  serialize: (payment: PaymentRow) => unknown,
): Promise<Recorded> {
  const draft = draftPayment(app, merchantId, claim.reference, newPayment)
  const result = await app.writers.record(
    toRecordInput(app, claim, newPayment, draft, serialize(draft.payment)),
  )
  switch (result.kind) {
    case 'recorded':
      return { payment: { ...draft.payment, customerId: result.customerId }, replayed: false }
    case 'conflict':
      return { payment: await replay(app, merchantId, claim, draft.payment.id), replayed: true }
    case 'blocked':
    case 'inactive': {
      const error = new ApiError(REJECTION_CODES[result.kind])
      return { payment: await replayOrRethrow(app, merchantId, claim, error), replayed: true }
    }
  }
}

const REJECTION_CODES = { blocked: 'customer_blocked', inactive: 'recurring_token_inactive' } as const

/** What an earlier request with this claim made, if there was one. Refuses when it said something else. */
export async function findReplay(
  app: PaymentsApp,
  merchantId: string,
  claim: Claim,
): Promise<PaymentRow | undefined> {
  await rejectReusedKey(app, merchantId, claim)
  const existing = await findReference(app.db, merchantId, claim.reference)
  if (!existing) return undefined
  const payment = await findPayment(app.db, merchantId, existing.paymentId)
  if (!payment) throw new Error('a reference is claimed together with its payment')
  if (existing.fingerprint.toString('hex') !== claim.fingerprint) throw duplicateReference(payment)
  await awaitStandby(app.db)
  return payment
}

/** Gives the answer of an earlier request where this one would be refused: a retry is never an error. */
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
    // The claim was lost to a request that has not shown its record: only a lost answer of the database does that.
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
  const message = `The reference ${JSON.stringify(payment.reference)} was used with another body: it names ${payment.kind === 'charge' ? 'charge' : 'payment'} ${payment.id}, which is ${payment.status}.`
  return new ApiError('duplicate_reference', {
    message,
    details: [{ field: 'reference', code: 'duplicate_reference', message }],
  })
}

interface Draft {
  payment: PaymentRow
  accessHash: string | null
}

const ACCESS_BYTES = 32
const ACCESS_CHARACTERS = 43

export function hashAccessCode(accessCode: string): Buffer {
  return createHash('sha256').update(accessCode).digest()
}

export function accessContext(payment: { merchantId: string; id: string }) {
  return { table: 'payments', column: 'access_sealed', rowId: payment.id, merchantId: payment.merchantId }
}

function draftPayment(
  app: PaymentsApp,
  merchantId: string,
  reference: string,
  newPayment: NewPayment,
): Draft {
  const id = app.random.uuid()
  const createdAt = app.clock.now()
  const expiresAt = newPayment.openForMs === null ? null : addMs(createdAt, newPayment.openForMs)
  const accessCode =
    newPayment.kind === 'checkout' ? base62(app.random.bytes(ACCESS_BYTES), ACCESS_CHARACTERS) : null
  const accessSealed =
    accessCode === null ? null : app.vault.seal(accessCode, accessContext({ merchantId, id }))
  return {
    accessHash: accessCode === null ? null : hashAccessCode(accessCode).toString('hex'),
    payment: {
      merchantId,
      id,
      kind: newPayment.kind,
      reference,
      status: newPayment.status,
      statusReason: newPayment.statusReason,
      version: 1,
      amountMinor: newPayment.amount.minor,
      currency: newPayment.amount.currency,
      amountPaidMinor: null,
      feeMinor: null,
      refundedMinor: 0n,
      gateway: newPayment.gateway,
      country: newPayment.country,
      description: newPayment.description,
      metadata: newPayment.metadata,
      redirectUrl: newPayment.redirectUrl,
      isRecurring: newPayment.isRecurring,
      // A candidate: a customer who is known already keeps the id of their first payment.
      customerId: app.random.uuid(),
      customerEmail: newPayment.customer.email,
      customerFirstname: newPayment.customer.firstname,
      customerLastname: newPayment.customer.lastname,
      accessSealed,
      attemptsUsed: newPayment.attempt === null ? 0 : 1,
      failovers: 0,
      paymentMethodId: newPayment.paymentMethodId,
      recoveryPaymentId: null,
      linkId: newPayment.linkId ?? null,
      failureCode: null,
      failureMessage: null,
      expiresAt,
      dueAt: expiresAt,
      paidAt: null,
      createdAt,
    },
  }
}

function toRecordInput(
  app: PaymentsApp,
  claim: Claim,
  newPayment: NewPayment,
  { payment, accessHash }: Draft,
  serialized: unknown,
): RecordInput {
  const eventId = app.random.uuid()
  const type = eventType(payment.kind, payment.status)
  return {
    merchant_id: payment.merchantId,
    payment_id: payment.id,
    kind: payment.kind,
    reference: payment.reference,
    fingerprint: claim.fingerprint,
    idempotency_key: claim.idempotencyKey,
    operation: claim.operation,
    status: payment.status,
    status_reason: payment.statusReason,
    amount_minor: String(payment.amountMinor),
    currency: payment.currency,
    gateway: payment.gateway,
    country: payment.country,
    description: payment.description,
    metadata: payment.metadata,
    redirect_url: payment.redirectUrl,
    is_recurring: payment.isRecurring,
    customer_id: payment.customerId,
    email: payment.customerEmail,
    email_key: emailKey(payment.customerEmail),
    firstname: payment.customerFirstname,
    lastname: payment.customerLastname,
    customer_country: newPayment.customer.country,
    search_text: searchTextOf(newPayment.customer),
    customer_event_id: app.random.uuid(),
    access_hash: accessHash,
    access_sealed: payment.accessSealed,
    expires_at: payment.expiresAt,
    payment_method_id: payment.paymentMethodId,
    link_id: payment.linkId,
    attempt_id: newPayment.attempt?.id ?? null,
    attempt_key: newPayment.attempt?.gatewayKey ?? null,
    account_id: newPayment.attempt?.accountId ?? null,
    attempt_due_at: newPayment.attempt?.dueAt ?? null,
    event_id: eventId,
    event_type: type,
    event_body: toEventBody({
      id: eventId,
      type,
      mode: app.settings.mode,
      createdAt: payment.createdAt,
      resource: { type: payment.kind === 'charge' ? 'charge' : 'payment', uuid: payment.id, version: 1 },
      data: serialized,
    }),
    source: 'api',
    at: payment.createdAt,
  }
}

export function emailKey(email: string): string {
  return email.toLowerCase()
}
