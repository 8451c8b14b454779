// Reads the history of one merchant before the boundary, a page at a time. A page has every row that it passed, with whether
// the row is archived: the work of a statement is bounded, however few rows are.

import { type PackedEvent, unpackEvent } from '../events/packed.ts'
import { type Db, type Statement, sql } from '../kit/db/db.ts'
import { type ArchivedTable, cellsOf, withBody } from './tables.ts'

export interface PageRow {
  cells: (string | null)[]
  isDue: boolean
  /** Where the next page begins. */
  position: string[]
}

type StoredEvent = Omit<PackedEvent, 'packed'> & { packed: Buffer | null }

/** Of one merchant. */
export interface PageWindow {
  merchantId: string
  before: Date
  /** Ids of payments and entries from this one on, and before that one: they are in the order of time. */
  fromId: string
  beforeId: string
}

// An event with a delivery stays until the delivery is purged.
const selectEvents = sql<PageRow & StoredEvent>`
select
  ${cellsOf('events')} as "cells",
  not exists (select from deliveries d where d.merchant_id = t.merchant_id and d.event_id = t.id) as "isDue",
  array[t.created_at::text, t.id::text] as position, t.id, t.type, t.resource_type as "resourceType",
  t.resource_id as "resourceId", t.version, t.created_at as "createdAt", t.packed
from events t
where t.merchant_id = $2
  and t.created_at < $1::timestamptz
  and (t.created_at, t.id) > ($3::timestamptz, $4::uuid)
  and t.created_at >= $3::timestamptz
order by t.created_at, t.id
limit $5`

// The lines of a currency are in the order of their numbers.
const selectLines = sql<PageRow>`
select
  ${cellsOf('wallet_lines')} as "cells", true as "isDue",
  array[t.currency, t.created_at::text, t.number::text] as position
from (
  select
    merchant_id, currency, case when currency = $3 then $4::timestamptz else '-infinity' end as after_time,
    case when currency = $3 then $5::bigint else 0 end as after_number
  from balances
  where merchant_id = $2 and currency >= $3::text
) b
cross join lateral (
  select *
  from wallet_lines
  where merchant_id = b.merchant_id
    and currency = b.currency
    and created_at < $1::timestamptz
    and (created_at, number) > (b.after_time, b.after_number)
    and created_at >= b.after_time
  order by created_at, number
  limit $6
) t
order by t.currency, t.created_at, t.number
limit $6`

// The last move proves the status of the payment, and a late payment counts towards the maximum of its link. Where the
// last move is not archived yet, the others stay with it. A payment of version 1 has no moves, or one from before
// migration 0084.
const selectMoves = sql<PageRow>`
with page as materialized (
  select *
  from moves
  where merchant_id = $2
    and payment_id >= $3::uuid
    and payment_id < $4::uuid
    and (payment_id, version) > ($5::uuid, $6::integer)
    and payment_id >= $5::uuid
  order by payment_id, version
  limit $7
)
select
  ${cellsOf('moves')} as "cells",
  t.version < p.version
  and l.at < $1::timestamptz
  and t.at < $1::timestamptz
  and p.status not in ('pending', 'processing', 'disputed')
  and p.refund_reserved_minor = 0
  and not (t.to_status = 'successful' and coalesce(t.from_status, '') in ('failed', 'abandoned', 'expired')) as "isDue",
  array[t.payment_id::text, t.version::text] as position
from page t
join payments p on p.merchant_id = t.merchant_id and p.id = t.payment_id
join moves l on l.merchant_id = t.merchant_id and l.payment_id = t.payment_id and l.version = p.version
order by t.payment_id, t.version`

// Settlements only: the other entries prove the state of their payment. A settlement stays as long as one of its lines does.
const selectPostings = sql<PageRow>`
with page as materialized (
  select *
  from ledger_entries
  where merchant_id = $2 and id >= $3::uuid and id < $4::uuid and id > $5::uuid
  order by id
  limit $6
)
select
  ${cellsOf('postings')} as "cells",
  e.kind = 'settlement'
  and e.at < $1::timestamptz
  and not exists (
    select
    from wallet_lines w
    where w.merchant_id = e.merchant_id
      and w.payment_id = e.payment_id
      and w.entry_id = e.id
      and w.created_at >= $1::timestamptz
  ) as "isDue",
  array[e.id::text] as position
from page e
left join postings t on t.merchant_id = e.merchant_id and t.entry_id = e.id and e.kind = 'settlement'
order by e.id, t.position`

interface Pages {
  statement: Statement<PageRow & Partial<StoredEvent>>
  /** Between ids, or only before the time. */
  isById: boolean
  first: readonly string[]
}

const FIRST_ID = '00000000-0000-0000-0000-000000000000'

const PAGES: Readonly<Record<ArchivedTable, Pages>> = {
  events: { statement: selectEvents, isById: false, first: ['-infinity', FIRST_ID] },
  wallet_lines: { statement: selectLines, isById: false, first: ['', '-infinity', '0'] },
  moves: { statement: selectMoves, isById: true, first: [FIRST_ID, '0'] },
  postings: { statement: selectPostings, isById: true, first: [FIRST_ID] },
}

// The bodies of events are one or two kilobytes.
const PAGE_SIZE = 1_000

/** Yields the rows of the merchant that are archived, in pages. */
export async function* readPages(
  db: Db,
  table: ArchivedTable,
  { merchantId, before, fromId, beforeId }: PageWindow,
): AsyncGenerator<(string | null)[][]> {
  const { statement, isById, first } = PAGES[table]
  let position = first
  for (;;) {
    const values = [before, merchantId, ...(isById ? [fromId, beforeId] : []), ...position, PAGE_SIZE]
    const rows = await db.query(statement, values)
    const last = rows.at(-1)
    if (!last) return
    yield rows.filter(({ isDue }) => isDue).map(readableCells)
    position = last.position
  }
}

function readableCells({ cells, packed, ...event }: PageRow & Partial<StoredEvent>): (string | null)[] {
  // A boundary: a row with a packed body is an event, with all of its columns.
  return packed ? withBody(cells, unpackEvent({ ...(event as Omit<PackedEvent, 'packed'>), packed })) : cells
}
