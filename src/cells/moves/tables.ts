// Which tables a move copies, and which of their rows only at the switch: those that a job may claim or an operator lists.
// Before the switch they are not in the new cell, and after it they are not claimed in the old one.

import { TABLES_BY_HOME } from '../../kit/db/homes.ts'

// The log of webhooks without a merchant, the list of archived files and the audit log stay where they were written. The lookups of an account have no
// column with the merchant, and are copied by themselves.
const NOT_COPIED = ['refund_lookups', 'archives']

export const MOVED_TABLES: readonly string[] = [
  ...TABLES_BY_HOME.cell.filter((table) => !NOT_COPIED.includes(table)),
  'idempotency_keys',
]

// Of a row that is called t.
const IS_DUE = 't.due_at is not null'
const EVERY_ROW = 'true'

/** By table: the rows that are copied at the switch. */
export const LATE_ROWS: Readonly<Record<string, string>> = {
  attempts: `${IS_DUE} or t.refund_due_at is not null or t.refund_lookup_due_at is not null`,
  payments: IS_DUE,
  refunds: IS_DUE,
  payment_links: IS_DUE,
  p2p_transfers: IS_DUE,
  deliveries: IS_DUE,
  payment_link_slots: 't.paid_at is not null',
  pending_settlements: EVERY_ROW,
  balance_deltas: EVERY_ROW,
  balances: EVERY_ROW,
  collection_deltas: EVERY_ROW,
  webhook_replays: EVERY_ROW,
  webhook_endpoints: EVERY_ROW,
  cases: EVERY_ROW,
  case_steps: EVERY_ROW,
  test_clocks: EVERY_ROW,
  archive_boundaries: EVERY_ROW,
}

/** A time at which no job of the old cell looks any more. */
const NEVER = `timestamptz '9999-01-01Z'`
const NEVER_DUE = `due_at = ${NEVER}`
const neverIfSet = (column: string) => `${column} = case when ${column} is not null then ${NEVER} end`

/** By table: how the late rows of the old copy are kept from its jobs. Those of other tables are deleted at once. */
export const PARKED: Readonly<Record<string, string>> = {
  attempts: ['due_at', 'refund_due_at', 'refund_lookup_due_at'].map(neverIfSet).join(', '),
  payments: NEVER_DUE,
  refunds: NEVER_DUE,
  payment_links: NEVER_DUE,
  p2p_transfers: NEVER_DUE,
  deliveries: NEVER_DUE,
  pending_settlements: NEVER_DUE,
}

/** What jobs of the old cell do not use, so that a request which still reads there finds it. */
export const KEPT_LATE: readonly string[] = ['balances', 'test_clocks', 'archive_boundaries']

export interface KeyColumn {
  name: string
  type: string
}

export interface MovedTable {
  name: string
  /** Without those that the database fills: generated ones and numbers. */
  columns: string[]
  /** The primary key, which begins with the merchant; of a queue, the number. */
  key: KeyColumn[]
  late: string | undefined
}

/** Its rows have no key of their own, and are copied at the switch only. */
export const isLateOnly = ({ late }: MovedTable) => late === EVERY_ROW
