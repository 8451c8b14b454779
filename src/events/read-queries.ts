// Reads the outbox. Each filter has statements of its own and so its own index: one statement for all filters would read the
// whole history of a merchant to find a rare event.

import { type Db, sql, type Tx } from '../kit/db/db.ts'
import { listRows, listStatements } from '../kit/db/list-statements.ts'
import type { CountedRows, ListWindow } from '../kit/db/pagination.ts'
import { firstRow } from '../kit/db/rows.ts'
import { EVENT, type EventFilter, type EventRow, type StoredEvent, toEventRow } from './event.ts'

const selectEvent = sql<StoredEvent>`
select ${EVENT.select()}
from events
where merchant_id = $1 and id = $2`

export async function findEvent(db: Tx, merchantId: string, id: string): Promise<EventRow | undefined> {
  const stored = await firstRow(db, selectEvent, [merchantId, id])
  return stored && toEventRow(stored)
}

const SOURCE = { columns: EVENT.select('e'), table: 'events', alias: 'e' }

const ALL = listStatements<StoredEvent>(SOURCE)

const OF_TYPE = listStatements<StoredEvent>({ ...SOURCE, filter: 'e.type = $4', filterValues: 1 })

// The index over a resource continues with its type, so the filter names every type.
const OF_RESOURCE = listStatements<StoredEvent>({
  ...SOURCE,
  filter: 'e.resource_type = any($4::text[]) and e.resource_id = $5 and ($6::text is null or e.type = $6)',
  filterValues: 3,
})

export async function listEventRows(
  db: Db,
  merchantId: string,
  filter: EventFilter,
  window: ListWindow,
  resourceTypes: readonly string[],
): Promise<CountedRows<EventRow>> {
  const { statements, values } = chooseStatements(filter, resourceTypes)
  const { rows, ...counts } = await listRows(db, statements, merchantId, window, values)
  return { ...counts, rows: rows.map(toEventRow) }
}

function chooseStatements({ type, resource }: EventFilter, resourceTypes: readonly string[]) {
  if (resource !== undefined)
    return { statements: OF_RESOURCE, values: [resourceTypes, resource, type ?? null] }
  return type === undefined ? { statements: ALL, values: [] } : { statements: OF_TYPE, values: [type] }
}

export interface ChangeRow {
  merchantId: string
  id: string
  type: string
  resourceType: string
  resourceId: string
  version: number
}

// Newest first, so that of a busy merchant the latest are found. Ids are in the order of time.
const selectChanges = sql<ChangeRow>`
select
  e.merchant_id as "merchantId", e.id, e.type, e.resource_type as "resourceType", e.resource_id as "resourceId", e.version
from unnest($1::uuid[]) as m (id)
cross join lateral (
  select *
  from events
  where merchant_id = m.id and id >= $2
  order by id desc
  limit $3
) e`

/** The latest events of each of these merchants from the id on. For a handle that is not scoped to one merchant. */
export function readChanges(
  db: Db,
  merchantIds: readonly string[],
  fromId: string,
  limit: number,
): Promise<ChangeRow[]> {
  return db.query(selectChanges, [merchantIds, fromId, limit])
}
