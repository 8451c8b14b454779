// The statements that debit a merchant and insert a ledger entry, inside the caller's transaction.

import type { Currency } from '../core/currency.ts'
import { sql, type Tx } from '../kit/db/db.ts'

const lockDebitsStatement = sql<{ id: string }>`
select id
from merchants
where id = $1
for no key update`

/** Serializes the debits of one merchant until the transaction ends. Credits do not take this lock. */
export async function lockDebits(tx: Tx, merchantId: string): Promise<void> {
  await tx.query(lockDebitsStatement, [merchantId])
}

const selectAvailableStatement = sql<{ availableMinor: bigint }>`
select coalesce(sum(amount_minor), 0)::bigint as "availableMinor"
from (
  select available_minor as amount_minor
  from balances
  where merchant_id = $1 and currency = $2
  union all
  select amount_minor
  from balance_deltas
  where merchant_id = $1 and currency = $2 and account = 'available'
) parts`

export async function readAvailable(tx: Tx, merchantId: string, currency: Currency): Promise<bigint> {
  const [row] = await tx.query(selectAvailableStatement, [merchantId, currency])
  return row?.availableMinor ?? 0n
}

// The row lock waits for a concurrent settlement. That settlement deletes the row, because its money is then available.
const reduceSettlementsStatement = sql<{ takenMinor: bigint }>`
with latest as (
  select payment_id, amount_minor, due_at
  from pending_settlements
  where merchant_id = $1 and currency = $2 and ($3::uuid is null or payment_id = $3)
  order by due_at desc, payment_id desc
  limit $5
  for update
),
running as (
  select
    payment_id, amount_minor,
    sum(amount_minor) over (order by due_at desc, payment_id desc) - amount_minor as before_minor
  from latest
),
taken as (
  select payment_id, amount_minor, least(amount_minor, $4::bigint - before_minor)::bigint as taken_minor
  from running
  where before_minor < $4::bigint
),
emptied as (
  delete from pending_settlements s
  using taken t
  where s.merchant_id = $1 and s.payment_id = t.payment_id and t.taken_minor = t.amount_minor
),
shrunk as (
  update pending_settlements s
  set amount_minor = s.amount_minor - t.taken_minor
  from taken t
  where s.merchant_id = $1 and s.payment_id = t.payment_id and t.taken_minor < t.amount_minor
)
select coalesce(sum(taken_minor), 0)::bigint as "takenMinor"
from taken`

/**
 * Reduces pending settlements by up to `wantedMinor`: of this payment, or of all payments if it is null, the latest due
 * first, at most `limit` rows. Returns the amount by which they were reduced.
 */
export async function reduceSettlements(
  tx: Tx,
  merchantId: string,
  currency: Currency,
  paymentId: string | null,
  wantedMinor: bigint,
  limit: number,
): Promise<bigint> {
  const values = [merchantId, currency, paymentId, wantedMinor, limit]
  const [row] = await tx.query(reduceSettlementsStatement, values)
  return row?.takenMinor ?? 0n
}

// The index leaves out captures, which are most of the entries.
const selectHeldStatement = sql<{ heldMinor: bigint }>`
select coalesce(sum(p.amount_minor), 0)::bigint as "heldMinor"
from ledger_entries e
join postings p on p.merchant_id = e.merchant_id and p.entry_id = e.id
where e.merchant_id = $1 and e.attempt_id = $2 and e.kind <> 'capture' and p.account = $3`

export type HoldingAccount = 'duplicates' | 'unmatched'

export async function selectHeld(
  tx: Tx,
  merchantId: string,
  attemptId: string,
  account: HoldingAccount,
): Promise<bigint> {
  const [row] = await tx.query(selectHeldStatement, [merchantId, attemptId, account])
  return row?.heldMinor ?? 0n
}

export interface WrittenOff {
  /** Money of refunds that failed after their success. */
  writtenOffMinor: bigint
  /** What lost disputes have taken of it. */
  takenMinor: bigint
}

const selectWrittenOffStatement = sql<WrittenOff>`
select
  coalesce(sum(p.amount_minor) filter (where e.kind = 'write_off'), 0)::bigint as "writtenOffMinor",
  coalesce(-sum(p.amount_minor) filter (where e.kind = 'reversal'), 0)::bigint as "takenMinor"
from ledger_entries e
join postings p on p.merchant_id = e.merchant_id and p.entry_id = e.id
where e.merchant_id = $1
  and e.attempt_id = $2
  and e.kind <> 'capture'
  and (e.kind = 'reversal' or e.refund_id is not null)
  and p.account = 'written_off'`

export async function selectWrittenOff(tx: Tx, merchantId: string, attemptId: string): Promise<WrittenOff> {
  const [row] = await tx.query(selectWrittenOffStatement, [merchantId, attemptId])
  return row ?? { writtenOffMinor: 0n, takenMinor: 0n }
}

export interface EntryInput {
  merchantId: string
  id: string
  kind: 'refund' | 'refund_reversal' | 'dispute' | 'dispute_won' | 'reversal' | 'write_off'
  paymentId: string
  attemptId: string | null
  refundId: string | null
  currency: Currency
  postings: readonly { account: string; amount_minor: string }[]
  at: Date
}

const insertEntryStatement = sql<unknown>`
with entry as (
  insert into ledger_entries (merchant_id, id, kind, payment_id, attempt_id, refund_id, at)
  values ($1, $2, $3, $4, $5, $6, $9)
),
posted as (
  insert into postings (merchant_id, entry_id, position, account, currency, amount_minor)
  select $1, $2, l.position, l.posting ->> 'account', $7, (l.posting ->> 'amount_minor')::bigint
  from jsonb_array_elements($8::jsonb) with ordinality as l (posting, position)
  returning position, account, amount_minor
)
insert into balance_deltas (
  merchant_id, currency, account, amount_minor, at, entry_id, position, kind, payment_id
)
select $1, $7, account, amount_minor, $9, $2, position, $3, $4
from posted
where account in ('available', 'pending')
returning position`

export async function insertEntry(tx: Tx, entry: EntryInput): Promise<void> {
  const { merchantId, id, kind, paymentId, attemptId, refundId, currency, postings, at } = entry
  await tx.query(insertEntryStatement, [
    merchantId,
    id,
    kind,
    paymentId,
    attemptId,
    refundId,
    currency,
    JSON.stringify(postings),
    at,
  ])
}
