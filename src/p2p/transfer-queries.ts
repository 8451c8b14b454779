// Every statement over transfers and their moves.

import type { Currency } from '../core/currency.ts'
import { COUNT_CAP } from '../core/page.ts'
import { type Db, sql, type Tx } from '../kit/db.ts'
import type { ListWindow } from '../kit/pagination.ts'
import type { AccountChannel, Destination } from './account-queries.ts'
import type { TransferStatus } from './states.ts'

export interface TransferRow extends Destination {
  merchantId: string
  /** Of the payment: each has one transfer at most. */
  id: string
  attemptKey: string
  channel: AccountChannel
  accountId: string | null
  narration: string
  status: TransferStatus
  version: number
  currency: Currency
  expectedMinor: bigint
  /** All that has arrived so far. */
  receivedMinor: bigint | null
  rejectionReason: string | null
  expiresAt: Date
  dueAt: Date | null
  createdAt: Date
  updatedAt: Date
}

const TRANSFER_COLUMNS = `
  merchant_id as "merchantId", payment_id as id, attempt_key as "attemptKey", channel, account_id as "accountId",
  account_name as "accountName", account_number as "accountNumber", bank_name as "bankName", network,
  phone_number as "phoneNumber", narration, status, version, currency, expected_minor as "expectedMinor",
  received_minor as "receivedMinor", rejection_reason as "rejectionReason", expires_at as "expiresAt",
  due_at as "dueAt", created_at as "createdAt", updated_at as "updatedAt"`

const insertTransferStatement = sql<{ id: string }>`
insert into p2p_transfers (
  merchant_id, payment_id, attempt_key, channel, account_id, account_name, account_number, bank_name, network,
  phone_number, narration, status, version, currency, expected_minor, expires_at, due_at, created_at, updated_at
)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $18)
on conflict do nothing
returning payment_id as id`

/** False when the payment has a transfer already, or the narration is taken. */
export async function insertTransfer(tx: Tx, transfer: TransferRow): Promise<boolean> {
  const rows = await tx.query(insertTransferStatement, [
    transfer.merchantId,
    transfer.id,
    transfer.attemptKey,
    transfer.channel,
    transfer.accountId,
    transfer.accountName,
    transfer.accountNumber,
    transfer.bankName,
    transfer.network,
    transfer.phoneNumber,
    transfer.narration,
    transfer.status,
    transfer.version,
    transfer.currency,
    transfer.expectedMinor,
    transfer.expiresAt,
    transfer.dueAt,
    transfer.createdAt,
  ])
  return rows.length > 0
}

const selectTransfer = sql<TransferRow>`
select ${TRANSFER_COLUMNS}
from p2p_transfers
where merchant_id = $1 and payment_id = $2`

export async function findTransferRow(
  db: Db,
  merchantId: string,
  paymentId: string,
): Promise<TransferRow | undefined> {
  const [row] = await db.query(selectTransfer, [merchantId, paymentId])
  return row
}

const lockTransferStatement = sql<TransferRow>`
select ${TRANSFER_COLUMNS}
from p2p_transfers
where merchant_id = $1 and payment_id = $2
for update`

export async function lockTransfer(
  tx: Tx,
  merchantId: string,
  paymentId: string,
): Promise<TransferRow | undefined> {
  const [row] = await tx.query(lockTransferStatement, [merchantId, paymentId])
  return row
}

const selectTransferByAttempt = sql<TransferRow>`
select ${TRANSFER_COLUMNS}
from p2p_transfers
where merchant_id = $1 and (attempt_key = $2 or narration = $3)`

/** By the key of its attempt, or by the narration under which an earlier attempt knew it. */
export async function findTransferByAttempt(
  db: Db,
  merchantId: string,
  attemptKey: string,
  narration: string | null,
): Promise<TransferRow | undefined> {
  const [row] = await db.query(selectTransferByAttempt, [merchantId, attemptKey, narration])
  return row
}

const updateTransferStatement = sql<unknown>`
update p2p_transfers
set
  attempt_key = $3,
  channel = $4,
  account_id = $5,
  account_name = $6,
  account_number = $7,
  bank_name = $8,
  network = $9,
  phone_number = $10,
  status = $11,
  version = $12,
  received_minor = $13,
  rejection_reason = $14,
  expires_at = $15,
  due_at = $16,
  updated_at = $17
where merchant_id = $1 and payment_id = $2`

/** Writes a transfer that the caller has locked. */
export async function updateTransfer(tx: Tx, transfer: TransferRow): Promise<void> {
  await tx.query(updateTransferStatement, [
    transfer.merchantId,
    transfer.id,
    transfer.attemptKey,
    transfer.channel,
    transfer.accountId,
    transfer.accountName,
    transfer.accountNumber,
    transfer.bankName,
    transfer.network,
    transfer.phoneNumber,
    transfer.status,
    transfer.version,
    transfer.receivedMinor,
    transfer.rejectionReason,
    transfer.expiresAt,
    transfer.dueAt,
    transfer.updatedAt,
  ])
}

export type MoveSource = 'payer' | 'merchant' | 'time'

const insertMoveStatement = sql<unknown>`
insert into p2p_moves (merchant_id, payment_id, version, from_status, to_status, received_minor, source, at)
values ($1, $2, $3, $4, $5, $6, $7, $8)`

/** Keeps how the transfer came to be as it is now. */
export async function insertMove(
  tx: Tx,
  from: TransferStatus | null,
  to: TransferRow,
  source: MoveSource,
): Promise<void> {
  const { merchantId, id, version, status, receivedMinor, updatedAt } = to
  await tx.query(insertMoveStatement, [
    merchantId,
    id,
    version,
    from,
    status,
    receivedMinor,
    source,
    updatedAt,
  ])
}

// Nobody is locked out here: whoever ends one locks it first and looks again.
const selectDueTransfers = sql<{ merchantId: string; id: string }>`
select merchant_id as "merchantId", payment_id as id
from p2p_transfers
where due_at <= $1
order by due_at
limit $2`

export async function listDueTransfers(
  db: Db,
  now: Date,
  limit: number,
): Promise<{ merchantId: string; id: string }[]> {
  return db.query(selectDueTransfers, [now, limit])
}

export interface TransferFilter {
  status: string | null
  currency: string | null
  narration: string | null
  createdFrom: Date | null
  createdTo: Date | null
}

const FILTER = `
  merchant_id = $1
  and ($2::text is null or status = $2)
  and ($3::text is null or currency = $3)
  and ($4::text is null or narration = $4)
  and ($5::timestamptz is null or created_at >= $5)
  and ($6::timestamptz is null or created_at <= $6)`

const filterValues = ({ status, currency, narration, createdFrom, createdTo }: TransferFilter) => [
  status,
  currency,
  narration,
  createdFrom,
  createdTo,
]

const countTransfersStatement = sql<{ total: number }>`
select count(*)::integer as total
from (
  select 1
  from p2p_transfers
  where ${FILTER}
  limit ${String(COUNT_CAP + 1)}
) counted`

/** At most one more than the cap, which is how the caller knows that there are more. */
export async function countTransfers(db: Db, merchantId: string, filter: TransferFilter): Promise<number> {
  const [row] = await db.query(countTransfersStatement, [merchantId, ...filterValues(filter)])
  return row?.total ?? 0
}

const selectNewestTransfers = sql<TransferRow>`
select ${TRANSFER_COLUMNS}
from p2p_transfers
where ${FILTER}
  and ($7::timestamptz is null or (created_at, payment_id) < ($7, $8::uuid))
order by created_at desc, payment_id desc
limit $9
offset $10`

const selectOldestTransfers = sql<TransferRow>`
select ${TRANSFER_COLUMNS}
from p2p_transfers
where ${FILTER}
  and ($7::timestamptz is null or (created_at, payment_id) > ($7, $8::uuid))
order by created_at, payment_id
limit $9
offset $10`

/** One more than the page has, which is how the caller knows that there is a next one. */
export async function listTransferRows(
  db: Db,
  merchantId: string,
  filter: TransferFilter,
  window: ListWindow,
): Promise<TransferRow[]> {
  const statement = window.order === 'desc' ? selectNewestTransfers : selectOldestTransfers
  const after = [window.after?.at ?? null, window.after?.id ?? null]
  const page = [window.limit + 1, window.offset]
  return db.query(statement, [merchantId, ...filterValues(filter), ...after, ...page])
}
