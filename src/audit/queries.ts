// Reads the audit log. The lists of a merchant use an index for the object, the actor or the operation; the other filters
// apply to what it finds. The operators' list over all merchants is read in the order of time.

import { COUNT_CAP } from '../core/page.ts'
import { type Db, sql } from '../kit/db/db.ts'
import { type ListStatements, listRows, listStatements, readPage } from '../kit/db/list-statements.ts'
import { type CountedRows, keysetPosition, type ListWindow } from '../kit/db/pagination.ts'
import { ENTRY, type EntryRow } from './entry.ts'

export interface EntryFilter {
  object: string | null
  actor: string | null
  operation: string | null
  objectType: string | null
  requestId: string | null
  address: string | null
}

const valuesOf = ({ object, actor, operation, objectType, requestId, address }: EntryFilter) => [
  object,
  actor,
  operation,
  objectType,
  requestId,
  address,
]

const FILTERED = ['object_id', 'actor_id', 'operation', 'object_type', 'request_id', 'address']
const COLUMNS = `${ENTRY.select('a')}, audit_record(to_jsonb(a))::text as record`

/** The values of the filters are $4 to $9; the column of `indexed` must have a value. */
function conditions(indexed?: string): string {
  return FILTERED.map((name, index) => {
    const parameter = `$${index + 4}::text`
    return name === indexed
      ? `a.${name} = ${parameter}`
      : `(${parameter} is null or a.${name} = ${parameter})`
  }).join('\n  and ')
}

const source = (indexed?: string) => ({
  columns: COLUMNS,
  table: 'audit_entries',
  alias: 'a',
  filter: conditions(indexed),
  filterValues: FILTERED.length,
})

const BY_TIME = listStatements<EntryRow>(source())
const BY_OBJECT = listStatements<EntryRow>(source('object_id'))
const BY_ACTOR = listStatements<EntryRow>(source('actor_id'))
const BY_OPERATION = listStatements<EntryRow>(source('operation'))

function statementsFor({ object, actor, operation }: EntryFilter): ListStatements<EntryRow> {
  if (object !== null) return BY_OBJECT
  if (actor !== null) return BY_ACTOR
  return operation === null ? BY_TIME : BY_OPERATION
}

export function listEntryRows(
  db: Db,
  merchantId: string,
  filter: EntryFilter,
  window: ListWindow,
): Promise<CountedRows<EntryRow>> {
  return listRows(db, statementsFor(filter), merchantId, window, valuesOf(filter))
}

/** A page without the count, for exports. */
export function readEntryRows(
  db: Db,
  merchantId: string,
  filter: EntryFilter,
  window: ListWindow,
): Promise<EntryRow[]> {
  return readPage(db, statementsFor(filter), merchantId, window, valuesOf(filter))
}

// Over all merchants: $1 and $2 are the period, $3 is the offset.
const IN_PERIOD = `a.created_at >= $1::timestamptz and a.created_at <= $2::timestamptz and ${conditions()}`

const selectNewest = sql<EntryRow>`
select ${COLUMNS}
from audit_entries a
where ${IN_PERIOD}
  and a.created_at <= $10::timestamptz
  and (a.created_at, a.id) < ($10::timestamptz, $11::uuid)
order by a.created_at desc, a.id desc
limit $12
offset $3`

const selectOldest = sql<EntryRow>`
select ${COLUMNS}
from audit_entries a
where ${IN_PERIOD}
  and a.created_at >= $10::timestamptz
  and (a.created_at, a.id) > ($10::timestamptz, $11::uuid)
order by a.created_at, a.id
limit $12
offset $3`

const countAll = sql<{ total: number }>`
select count(*)::integer as total
from (
  select 1
  from audit_entries a
  where $3::integer is null and ${IN_PERIOD}
  limit ${String(COUNT_CAP + 1)}
) counted`

const periodOf = ({ createdFrom, createdTo }: ListWindow) => [
  createdFrom ?? '-infinity',
  createdTo ?? 'infinity',
]

export function readAllEntryRows(db: Db, filter: EntryFilter, window: ListWindow): Promise<EntryRow[]> {
  return db.query(window.order === 'desc' ? selectNewest : selectOldest, [
    ...periodOf(window),
    window.offset,
    ...valuesOf(filter),
    ...keysetPosition(window),
    window.limit + 1,
  ])
}

export async function listAllEntryRows(
  db: Db,
  filter: EntryFilter,
  window: ListWindow,
): Promise<CountedRows<EntryRow>> {
  const [rows, [counted]] = await Promise.all([
    readAllEntryRows(db, filter, window),
    db.query(countAll, [...periodOf(window), null, ...valuesOf(filter)]),
  ])
  return { rows, counted: counted?.total ?? 0 }
}

export interface Verification {
  chains: number
  entries: number
  violations: number
  firstViolations: { chain: string; number: number }[]
  digest: string
}

const verifyStatement = sql<{ verification: Verification }>`
select verify_audit_chains($1) as verification`

/** Recalculates every hash, without a time limit. */
export async function verifyChains(db: Db, merchantId: string | null): Promise<Verification> {
  const [row] = await db.transaction(
    async (tx) => {
      await tx.script('set local statement_timeout = 0')
      return tx.query(verifyStatement, [merchantId])
    },
    { noTimeout: true },
  )
  if (!row) throw new Error('the verification returned no row')
  return row.verification
}
