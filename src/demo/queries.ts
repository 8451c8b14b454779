import { ADVISORY_LOCKS } from '../kit/db/advisory-locks.ts'
import { sql, type Tx } from '../kit/db/db.ts'
import { firstRow } from '../kit/db/rows.ts'

const tryLockStatement = sql<{ isLocked: boolean }>`
select pg_try_advisory_xact_lock(${ADVISORY_LOCKS.demoHistory}) as "isLocked"`

/** False while another process writes a history. The lock ends with the transaction. */
export async function tryLockHistory(tx: Tx): Promise<boolean> {
  return (await firstRow(tx, tryLockStatement, []))?.isLocked ?? false
}

const nextDeliveryStatement = sql<{ dueAt: Date | null }>`
select min(due_at) as "dueAt"
from deliveries
where merchant_id = $1 and due_at is not null`

/** When the next delivery of the merchant is due. */
export async function findNextDelivery(tx: Tx, merchantId: string): Promise<Date | null> {
  return (await firstRow(tx, nextDeliveryStatement, [merchantId]))?.dueAt ?? null
}

const WRITTEN = [
  ...['payments', 'attempts', 'moves', 'customers', 'payment_methods', 'payment_references'],
  ...[
    'events',
    'deliveries',
    'ledger_entries',
    'postings',
    'balance_deltas',
    'pending_settlements',
    'wallet_lines',
  ],
  ...['refunds', 'disputes', 'cases', 'p2p_transfers', 'payment_link_slots', 'collection_deltas'],
]

/**
 * Updates the statistics, and so the plans. A plan that was made for an empty table reads the whole table, and autovacuum does
 * not see rows that are not committed.
 */
export async function analyzeHistory(tx: Tx): Promise<void> {
  await tx.script(`analyze ${WRITTEN.join(', ')}`)
}
