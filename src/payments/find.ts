// Reads of payments, references and attempts, for this slice and for the slices above. Each read names its merchant.

import { ApiError, requireFound } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import type { Db, Tx } from '../kit/db/db.ts'
import { firstRow } from '../kit/db/rows.ts'
import type { PaymentsApp } from './app.ts'
import type { AttemptRow, ShownAttempt } from './attempt.ts'
import type { LockedPayment, PaymentRow } from './payment.ts'
import {
  type ReferenceRow,
  selectAttempts,
  selectAttemptsOfPayments,
  selectAtVersion,
  selectByReference,
  selectMerchantByAccessHash,
  selectMerchantByGatewayKey,
  selectPayment,
  selectPaymentByAccessHash,
  selectPaymentByReference,
  selectPaymentForUpdate,
  selectPayments,
  selectReferences,
  selectWholePayment,
  selectWholePaymentByReference,
  selectWithoutMethod,
  WHOLE_PAYMENT,
} from './queries.ts'

export type PaymentIdentifier = { reference: string } | { uuid: string }

export async function findPayment(db: Tx, merchantId: string, id: string): Promise<PaymentRow | undefined> {
  return firstRow(db, selectPayment, [merchantId, id])
}

/** In no particular order. */
export async function findPayments(
  db: Db,
  merchantId: string,
  ids: readonly string[],
): Promise<PaymentRow[]> {
  return db.query(selectPayments, [merchantId, ids])
}

export async function findPaymentByReference(
  db: Db,
  merchantId: string,
  reference: string,
): Promise<PaymentRow | undefined> {
  return firstRow(db, selectPaymentByReference, [merchantId, reference])
}

export async function findPaymentByAccessHash(db: Db, accessHash: Buffer): Promise<PaymentRow | undefined> {
  return firstRow(db, selectPaymentByAccessHash, [accessHash])
}

/** The merchant of the payment with this access code. */
export async function findMerchantByAccessHash(db: Db, accessHash: Buffer): Promise<string | undefined> {
  return (await firstRow(db, selectMerchantByAccessHash, [accessHash]))?.merchantId
}

/** The merchant of the attempt or refund with this key at the gateway. */
export async function findMerchantByGatewayKey(db: Db, gatewayKey: string): Promise<string | undefined> {
  return (await firstRow(db, selectMerchantByGatewayKey, [gatewayKey]))?.merchantId
}

export async function requirePayment(
  app: PaymentsApp,
  merchant: Merchant,
  name: PaymentIdentifier,
): Promise<PaymentRow> {
  const payment =
    'uuid' in name
      ? await findPayment(app.db, merchant.id, name.uuid)
      : await findPaymentByReference(app.db, merchant.id, name.reference)
  return requireFound(payment, 'payment_not_found')
}

/** A payment with its attempts, first to last, and the saved method that it has. */
export interface WholePayment {
  payment: PaymentRow
  attempts: readonly ShownAttempt[]
  method: ReturnType<typeof WHOLE_PAYMENT.method.read> | null
}

/** In one statement: the most frequent read. */
export async function requireWholePayment(
  app: PaymentsApp,
  merchant: Merchant,
  name: PaymentIdentifier,
): Promise<WholePayment> {
  const rows =
    'uuid' in name
      ? await app.db.query(selectWholePayment, [merchant.id, [name.uuid]])
      : await app.db.query(selectWholePaymentByReference, [merchant.id, [name.reference]])
  const whole = wholePayments.get(rows) ?? readWhole(rows)
  wholePayments.set(rows, whole)
  return whole
}

// The same rows are returned until one of them changes (shared-reads.ts).
const wholePayments = new WeakMap<readonly object[], WholePayment>()

function readWhole(rows: readonly object[]): WholePayment {
  const row = requireFound(rows[0], 'payment_not_found')
  const payment = requireFound(WHOLE_PAYMENT.payment.read(row), 'payment_not_found')
  const attempts = rows.flatMap((one) => WHOLE_PAYMENT.attempt.read(one) ?? [])
  return { payment, attempts, method: WHOLE_PAYMENT.method.read(row) ?? null }
}

export async function requireCharge(app: PaymentsApp, merchant: Merchant, uuid: string): Promise<PaymentRow> {
  const charge = await findPayment(app.db, merchant.id, uuid)
  if (charge?.kind !== 'charge') throw new ApiError('charge_not_found')
  return charge
}

/** The payment to which a row such as a refund belongs. */
export async function getPayment(
  app: PaymentsApp,
  { merchantId, paymentId }: { merchantId: string; paymentId: string },
): Promise<PaymentRow> {
  const payment = await findPayment(app.db, merchantId, paymentId)
  if (!payment) throw new Error(`payment ${paymentId} does not exist`)
  return payment
}

/** Locks the payment's row until the end of the transaction. */
export async function lockPayment(tx: Tx, merchantId: string, id: string): Promise<LockedPayment> {
  const [row] = await tx.query(selectPaymentForUpdate, [merchantId, id])
  if (!row) throw new Error(`payment ${id} does not exist`)
  return row
}

/** Locks the payment if it has not moved since it was read. */
export async function lockAtVersion(tx: Tx, { merchantId, id, version }: PaymentRow): Promise<boolean> {
  return (await tx.query(selectAtVersion, [merchantId, id, version])).length === 1
}

/** Locks the payment if it has no saved method. */
export async function lockWithoutMethod(tx: Tx, { merchantId, id }: PaymentRow): Promise<boolean> {
  return (await tx.query(selectWithoutMethod, [merchantId, id])).length === 1
}

export async function findReference(
  db: Db,
  merchantId: string,
  reference: string,
): Promise<ReferenceRow | undefined> {
  return firstRow(db, selectByReference, [merchantId, reference])
}

/** The references of payments by payment id. */
export async function findReferences(
  db: Db,
  merchantId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = ids.length === 0 ? [] : await db.query(selectReferences, [merchantId, ids])
  return new Map(rows.map(({ id, reference }) => [id, reference]))
}

/** The attempts of a payment, first to last. */
export async function listAttempts(db: Tx, merchantId: string, paymentId: string): Promise<AttemptRow[]> {
  return db.query(selectAttempts, [merchantId, paymentId])
}

/** The attempts of several payments; those of each payment first to last. */
export async function listAttemptsOfPayments(
  db: Db,
  merchantId: string,
  paymentIds: readonly string[],
): Promise<AttemptRow[]> {
  return db.query(selectAttemptsOfPayments, [merchantId, paymentIds])
}
