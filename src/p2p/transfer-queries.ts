// Every statement over transfers and their moves.

import { type Db, sql, type Tx } from '../kit/db/db.ts'
import { listRows, listStatements } from '../kit/db/list-statements.ts'
import type { CountedRows, ListWindow } from '../kit/db/pagination.ts'
import { firstRow } from '../kit/db/rows.ts'
import type { TransferStatus } from './states.ts'
import { TRANSFER, type TransferRow } from './transfer.ts'

const TRANSFER_COLUMNS = TRANSFER.select()

const insertTransferStatement = sql<{ id: string }>`
insert into p2p_transfers (${TRANSFER.list()})
values (${TRANSFER.placeholders()})
on conflict do nothing
returning payment_id as id`

/** False if the payment already has a transfer, or another transfer has the narration. */
export async function insertTransfer(tx: Tx, transfer: TransferRow): Promise<boolean> {
  return (await tx.query(insertTransferStatement, TRANSFER.values(transfer))).length > 0
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
  return firstRow(db, selectTransfer, [merchantId, paymentId])
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
  return firstRow(tx, lockTransferStatement, [merchantId, paymentId])
}

const selectTransferByAttempt = sql<TransferRow>`
select ${TRANSFER_COLUMNS}
from p2p_transfers
where merchant_id = $1 and (attempt_key = $2 or narration = $3)`

/** Found by the key of its attempt, or by the narration, which an earlier attempt has as its gateway reference. */
export async function findTransferByAttempt(
  db: Db,
  merchantId: string,
  attemptKey: string,
  narration: string | null,
): Promise<TransferRow | undefined> {
  return firstRow(db, selectTransferByAttempt, [merchantId, attemptKey, narration])
}

const CHANGEABLE = [
  'attemptKey',
  'channel',
  'accountId',
  'accountName',
  'accountNumber',
  'bankName',
  'network',
  'phoneNumber',
  'status',
  'version',
  'receivedMinor',
  'rejectionReason',
  'expiresAt',
  'dueAt',
  'updatedAt',
] as const

const updateTransferStatement = sql<unknown>`
update p2p_transfers
set (${TRANSFER.list(CHANGEABLE)}) = row (${TRANSFER.placeholders(CHANGEABLE, 3)})
where merchant_id = $1 and payment_id = $2`

/** Writes a transfer that the caller has locked. */
export async function updateTransfer(tx: Tx, transfer: TransferRow): Promise<void> {
  const { merchantId, id } = transfer
  await tx.query(updateTransferStatement, [merchantId, id, ...TRANSFER.values(transfer, CHANGEABLE)])
}

export type MoveSource = 'payer' | 'merchant' | 'time'

const insertMoveStatement = sql<unknown>`
insert into p2p_moves (merchant_id, payment_id, version, from_status, to_status, received_minor, source, at)
values ($1, $2, $3, $4, $5, $6, $7, $8)`

/** Records the state transition that led to the transfer as it is now. */
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

// This select takes no locks: the caller locks each transfer and checks again that it is due.
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
}

const LIST = listStatements<TransferRow>({
  columns: TRANSFER.select('t'),
  // A list orders by the column id.
  table: '(select *, payment_id as id from p2p_transfers)',
  alias: 't',
  filter: `($4::text is null or t.status = $4)
  and ($5::text is null or t.currency = $5)
  and ($6::text is null or t.narration = $6)`,
  filterValues: 3,
})

export function listTransferRows(
  db: Db,
  merchantId: string,
  { status, currency, narration }: TransferFilter,
  window: ListWindow,
): Promise<CountedRows<TransferRow>> {
  return listRows(db, LIST, merchantId, window, [status, currency, narration])
}
