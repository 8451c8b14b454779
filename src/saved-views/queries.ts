// Every statement over saved views.

import { column, columnTable, type RowOf } from '../kit/db/columns.ts'
import { sql, type Tx } from '../kit/db/db.ts'
import { firstRow } from '../kit/db/rows.ts'

const VIEW = columnTable({
  merchantId: column<string>('uuid'),
  id: column<string>('uuid'),
  userId: column<string>('uuid'),
  name: column<string>('text'),
  query: column<string>('text'),
  isShared: column<boolean>('boolean'),
  createdAt: column<Date>('timestamptz'),
  updatedAt: column<Date>('timestamptz'),
})

export type ViewRow = RowOf<typeof VIEW>

const saveStatement = sql<ViewRow>`
insert into saved_views (${VIEW.list()})
values (${VIEW.placeholders()})
on conflict (merchant_id, user_id, name) do update
set query = excluded.query, is_shared = excluded.is_shared, updated_at = excluded.updated_at
returning ${VIEW.select()}`

/** A view of the person with the same name gets the new filters. */
export function saveView(tx: Tx, view: ViewRow): Promise<ViewRow | undefined> {
  return firstRow(tx, saveStatement, VIEW.values(view))
}

const findStatement = sql<ViewRow>`
select ${VIEW.select()}
from saved_views
where merchant_id = $1 and id = $2 and (user_id = $3 or is_shared)`

/** A view that the person sees. */
export function findView(
  db: Tx,
  merchantId: string,
  id: string,
  userId: string,
): Promise<ViewRow | undefined> {
  return firstRow(db, findStatement, [merchantId, id, userId])
}

// Two reads, so that each uses its own index.
const listStatement = sql<ViewRow>`
select ${VIEW.select()}
from (
  (
    select *
    from saved_views
    where merchant_id = $1 and user_id = $2
    order by name
    limit 50
  )
  union all
  (
    select *
    from saved_views
    where merchant_id = $1 and is_shared and user_id <> $2
    order by name
    limit 50
  )
) v
order by v.name, v.id`

/** The views of the person, and those of others that are shared. */
export function listViews(db: Tx, merchantId: string, userId: string): Promise<ViewRow[]> {
  return db.query(listStatement, [merchantId, userId])
}

const updateStatement = sql<{ id: string }>`
update saved_views v
set name = $3, is_shared = $4, updated_at = $5
where v.merchant_id = $1 and v.id = $2 and not exists (
  select
  from saved_views o
  where o.merchant_id = $1 and o.user_id = v.user_id and o.name = $3 and o.id <> $2
)
returning v.id`

/** False if the person has another view of this name. */
export async function updateView(tx: Tx, view: ViewRow): Promise<boolean> {
  const { merchantId, id, name, isShared, updatedAt } = view
  return (await tx.query(updateStatement, [merchantId, id, name, isShared, updatedAt])).length > 0
}

const deleteStatement = sql<unknown>`
delete from saved_views
where merchant_id = $1 and id = $2`

export async function deleteView(tx: Tx, merchantId: string, id: string): Promise<void> {
  await tx.query(deleteStatement, [merchantId, id])
}
