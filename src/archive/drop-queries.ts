// Deletes rows that are in a checked file, in batches. One statement deletes a batch and carries it forward, so the
// invariants hold after each of them.

import { type Db, type Statement, sql } from '../kit/db/db.ts'
import { type ArchivedTable, digestOf, TABLES } from './tables.ts'

const JOINED: Partial<Record<ArchivedTable, string>> = {
  postings: 'join ledger_entries e on e.merchant_id = w.merchant_id and e.id = w.entry_id',
}

const isWanted = (table: ArchivedTable) =>
  Object.keys(TABLES[table].key)
    .map((name) => `t.${name} = w.${name}`)
    .join(' and ')

/** Not in the delete itself: a distributed schema takes no function there whose result depends on settings. */
const wantedOf = (table: ArchivedTable) => {
  const types = Object.entries({ ...TABLES[table].key, digest: 'text' })
  const columns = types.map(([name, type]) => `${name} ${type}`).join(', ')
  return `wanted as materialized (
  select w.*
  from jsonb_to_recordset($1::jsonb) as w (${columns})
  join ${table} t on ${isWanted(table)}
  ${JOINED[table] ?? ''}
  where ${digestOf(table)} = w.digest
)`
}

interface Dropped {
  dropped: number
}

const dropEvents = sql<Dropped>`
with ${wantedOf('events')},
gone as (
  delete from events t
  using wanted w
  where ${isWanted('events')}
    and not exists (select from deliveries d where d.merchant_id = t.merchant_id and d.event_id = t.id)
  returning t.merchant_id, t.resource_type, t.resource_id, t.version, t.type
),
carried as (
  insert into archived_versions as a (
    merchant_id, resource_type, resource_id, first_version, version, events, paid_events
  )
  select
    merchant_id, resource_type, resource_id, min(version), max(version), count(*),
    count(*) filter (where type = 'payment_link.paid')
  from gone
  where resource_type not in ('payment', 'charge')
  group by merchant_id, resource_type, resource_id
  on conflict (merchant_id, resource_type, resource_id) do update
  set
    first_version = least(a.first_version, excluded.first_version),
    version = greatest(a.version, excluded.version),
    events = a.events + excluded.events,
    paid_events = a.paid_events + excluded.paid_events
  returning 1
)
select count(*)::integer as dropped
from gone`

const dropLines = sql<Dropped>`
with ${wantedOf('wallet_lines')},
gone as (
  delete from wallet_lines t
  using wanted w
  where ${isWanted('wallet_lines')}
  returning t.merchant_id, t.currency, t.number, t.available_minor, t.pending_minor, t.created_at
),
carried as (
  insert into archived_lines as a (
    merchant_id, currency, before, number, available_minor, pending_minor, created_at
  )
  select distinct on (merchant_id, currency)
    merchant_id, currency, $2::timestamptz, number, available_minor, pending_minor, created_at
  from gone
  order by merchant_id, currency, number desc
  on conflict (merchant_id, currency, before) do update
  set
    number = excluded.number,
    available_minor = excluded.available_minor,
    pending_minor = excluded.pending_minor,
    created_at = excluded.created_at
  returning 1
)
select count(*)::integer as dropped
from gone`

const dropMoves = sql<Dropped>`
with ${wantedOf('moves')},
gone as (
  delete from moves t
  using wanted w
  where ${isWanted('moves')}
  returning 1
)
select count(*)::integer as dropped
from gone`

const dropPostings = sql<Dropped>`
with ${wantedOf('postings')},
gone as (
  delete from postings t
  using wanted w
  where ${isWanted('postings')}
  returning t.merchant_id, t.entry_id, t.account, t.currency, t.amount_minor
),
entry as (
  delete from ledger_entries e
  using (select distinct merchant_id, entry_id from gone) g
  where e.merchant_id = g.merchant_id and e.id = g.entry_id
  returning 1
),
carried as (
  insert into archived_sums as a (merchant_id, account, currency, amount_minor, postings)
  select merchant_id, account, currency, sum(amount_minor), count(*)
  from gone
  group by merchant_id, account, currency
  on conflict (merchant_id, account, currency) do update
  set amount_minor = a.amount_minor + excluded.amount_minor, postings = a.postings + excluded.postings
  returning 1
)
select count(*)::integer as dropped
from gone`

const DROPS: Readonly<Record<ArchivedTable, Statement<Dropped>>> = {
  events: dropEvents,
  wallet_lines: dropLines,
  moves: dropMoves,
  postings: dropPostings,
}

const openStatement = sql<unknown>`
update archives
set is_open = true
where before = $1 and table_name = $2 and state = 'exported'
returning 1`

const closeStatement = sql<unknown>`
update archives
set is_open = false, dropped_rows = dropped_rows + $3
where before = $1 and table_name = $2
returning 1`

/** The key of a row with the digest of its cells. */
export type WantedRow = Record<string, string | null>

/** Returns how many rows were deleted: those that are still there, and equal the file. */
export function dropBatch(
  db: Db,
  before: Date,
  table: ArchivedTable,
  wanted: readonly WantedRow[],
): Promise<number> {
  return db.transaction(async (tx) => {
    const opened = await tx.query(openStatement, [before, table])
    if (opened.length === 0) throw new Error(`no archive of ${table} is ready to be dropped`)
    const rows = JSON.stringify(wanted)
    const [row] = await tx.query(DROPS[table], table === 'wallet_lines' ? [rows, before] : [rows])
    const dropped = row?.dropped ?? 0
    await tx.query(closeStatement, [before, table, dropped])
    return dropped
  })
}
