// Every statement over payments, references and idempotency keys, except the two that carry the money path
// (record-queries and settle-queries).

import { type Db, sql, type Tx } from '../kit/db.ts'
import { type LockedPayment, PAYMENT_COLUMNS, type PaymentRow } from './payment.ts'

export interface ReferenceRow {
  paymentId: string
  fingerprint: Buffer
}

const selectByReference = sql<ReferenceRow>`
select payment_id as "paymentId", fingerprint
from payment_references
where merchant_id = $1 and reference = $2`

export async function findReference(
  db: Db,
  merchantId: string,
  reference: string,
): Promise<ReferenceRow | undefined> {
  const [row] = await db.query(selectByReference, [merchantId, reference])
  return row
}

// A key that was claimed together with a reference which another body holds has made nothing, so it is given back.
const deleteIdempotencyKey = sql<unknown>`
delete from idempotency_keys
where merchant_id = $1 and key = $2 and claimed_by = $3`

export async function releaseIdempotencyKey(
  db: Db,
  merchantId: string,
  key: string,
  claimedBy: string,
): Promise<void> {
  await db.query(deleteIdempotencyKey, [merchantId, key, claimedBy])
}

const purgeIdempotencyKeysStatement = sql<{ key: string }>`
with old as materialized (
  select merchant_id, key
  from idempotency_keys
  where created_at < $1
  limit 1000
)
delete from idempotency_keys k
using old
where k.merchant_id = old.merchant_id and k.key = old.key
returning k.key`

export async function purgeIdempotencyKeys(db: Db, before: Date): Promise<number> {
  return (await db.query(purgeIdempotencyKeysStatement, [before])).length
}

const selectPayment = sql<PaymentRow>`
select ${PAYMENT_COLUMNS}
from payments p
where p.merchant_id = $1 and p.id = $2`

export async function findPayment(db: Tx, merchantId: string, id: string): Promise<PaymentRow | undefined> {
  const [row] = await db.query(selectPayment, [merchantId, id])
  return row
}

const selectPayments = sql<PaymentRow>`
select ${PAYMENT_COLUMNS}
from payments p
where p.merchant_id = $1 and p.id = any ($2::uuid[])`

/** In no order. */
export async function findPayments(
  db: Db,
  merchantId: string,
  ids: readonly string[],
): Promise<PaymentRow[]> {
  return db.query(selectPayments, [merchantId, ids])
}

const selectPaymentByReference = sql<PaymentRow>`
select ${PAYMENT_COLUMNS}
from payment_references r
join payments p on p.merchant_id = r.merchant_id and p.id = r.payment_id
where r.merchant_id = $1 and r.reference = $2`

export async function findPaymentByReference(
  db: Db,
  merchantId: string,
  reference: string,
): Promise<PaymentRow | undefined> {
  const [row] = await db.query(selectPaymentByReference, [merchantId, reference])
  return row
}

// The access code is a capability that stands for merchant and payment together, so no merchant is asked for here.
const selectPaymentByAccessHash = sql<PaymentRow>`
select ${PAYMENT_COLUMNS}
from payments p
where p.access_hash = $1`

export async function findPaymentByAccessHash(db: Db, accessHash: Buffer): Promise<PaymentRow | undefined> {
  const [row] = await db.query(selectPaymentByAccessHash, [accessHash])
  return row
}

export interface CheckoutExtension {
  merchantId: string
  paymentId: string
  /** Of the attempt by which the money is said to come. */
  gatewayKey: string
  reason: string
  at: Date
  until: Date
  /** For a payment of a link, where somebody else may be waiting for the place. */
  untilAtLink: Date
}

// As above the version stays, and who ends the checkout for the payer compares the time as well. Whoever has said that
// money is under way is given the time to find it. The attempt goes first, as in every statement that writes both.
const keepCheckoutOpenStatement = sql<unknown>`
with sent as (
  update attempts
  set sent_at = coalesce(sent_at, $5)
  where merchant_id = $1
    and payment_id = $2
    and gateway_key = $3
    and status in ('started', 'awaiting_customer')
  returning number
)
update payments p
set
  status_reason = $4,
  expires_at = greatest(p.expires_at, case when p.link_id is null then $6::timestamptz else $7::timestamptz end),
  due_at = greatest(p.expires_at, case when p.link_id is null then $6::timestamptz else $7::timestamptz end)
from sent s
where p.merchant_id = $1
  and p.id = $2
  and p.kind = 'checkout'
  and p.status = 'processing'
  and p.attempts_used = s.number`

/**
 * Notes that the money of an attempt is said to be sent, and keeps its checkout open for it. A checkout that is over, or
 * that another attempt has under way, stays as it is.
 */
export async function keepCheckoutOpen(tx: Tx, extension: CheckoutExtension): Promise<void> {
  const { merchantId, paymentId, gatewayKey, reason, at, until, untilAtLink } = extension
  await tx.query(keepCheckoutOpenStatement, [
    merchantId,
    paymentId,
    gatewayKey,
    reason,
    at,
    until,
    untilAtLink,
  ])
}

const lockPaymentStatement = sql<LockedPayment>`
select ${PAYMENT_COLUMNS}, p.refund_reserved_minor as "refundReservedMinor"
from payments p
where p.merchant_id = $1 and p.id = $2
for no key update of p`

/** The payment as it stands, and stays to the end of the transaction. */
export async function lockPayment(tx: Tx, merchantId: string, id: string): Promise<LockedPayment> {
  const [row] = await tx.query(lockPaymentStatement, [merchantId, id])
  if (!row) throw new Error(`payment ${id} has vanished`)
  return row
}

const selectReferences = sql<{ id: string; reference: string }>`
select id, reference
from payments
where merchant_id = $1 and id = any ($2::uuid[])`

/** The references of payments, by their uuid. */
export async function findReferences(
  db: Db,
  merchantId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = ids.length === 0 ? [] : await db.query(selectReferences, [merchantId, ids])
  return new Map(rows.map(({ id, reference }) => [id, reference]))
}
