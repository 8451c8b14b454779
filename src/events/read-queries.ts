// Reading the outbox back. What is asked for decides the index, so each way to ask has statements of its own: one that
// served them all would read a merchant's whole history to find a rare event.

import { COUNT_CAP } from '../core/page.ts'
import { type Db, sql, type Tx } from '../kit/db.ts'
import type { ListWindow } from '../kit/pagination.ts'
import { EVENT_COLUMNS, type EventFilter, type EventRow } from './event.ts'

const selectEvent = sql<EventRow>`
select ${EVENT_COLUMNS}
from events
where merchant_id = $1 and id = $2`

export async function findEvent(db: Tx, merchantId: string, id: string): Promise<EventRow | undefined> {
  const [row] = await db.query(selectEvent, [merchantId, id])
  return row
}

const IN_PERIOD = `
  created_at >= coalesce($2::timestamptz, '-infinity')
  and created_at <= coalesce($3::timestamptz, 'infinity')`
// The time of the position stands beside it once more: of several bounds the server begins at the first plain one, and would
// walk from the end of the list to the position.
const BEFORE_CURSOR = `
  created_at <= coalesce($4::timestamptz, 'infinity')
  and ($4::timestamptz is null or (created_at, id) < ($4, $5::uuid))`
const AFTER_CURSOR = `
  created_at >= coalesce($4::timestamptz, '-infinity')
  and ($4::timestamptz is null or (created_at, id) > ($4, $5::uuid))`
const OF_TYPE = 'type = $8'
// All types of resources by name, because the index over a resource begins with its type.
const OF_RESOURCE =
  'resource_type = any($8::text[]) and resource_id = $9 and ($10::text is null or type = $10)'

const selectNewest = sql<EventRow>`
select ${EVENT_COLUMNS}
from events
where merchant_id = $1 and ${IN_PERIOD} and ${BEFORE_CURSOR}
order by created_at desc, id desc
limit $6
offset $7`

const selectOldest = sql<EventRow>`
select ${EVENT_COLUMNS}
from events
where merchant_id = $1 and ${IN_PERIOD} and ${AFTER_CURSOR}
order by created_at, id
limit $6
offset $7`

const selectNewestOfType = sql<EventRow>`
select ${EVENT_COLUMNS}
from events
where merchant_id = $1 and ${OF_TYPE} and ${IN_PERIOD} and ${BEFORE_CURSOR}
order by created_at desc, id desc
limit $6
offset $7`

const selectOldestOfType = sql<EventRow>`
select ${EVENT_COLUMNS}
from events
where merchant_id = $1 and ${OF_TYPE} and ${IN_PERIOD} and ${AFTER_CURSOR}
order by created_at, id
limit $6
offset $7`

const selectNewestOfResource = sql<EventRow>`
select ${EVENT_COLUMNS}
from events
where merchant_id = $1 and ${OF_RESOURCE} and ${IN_PERIOD} and ${BEFORE_CURSOR}
order by created_at desc, id desc
limit $6
offset $7`

const selectOldestOfResource = sql<EventRow>`
select ${EVENT_COLUMNS}
from events
where merchant_id = $1 and ${OF_RESOURCE} and ${IN_PERIOD} and ${AFTER_CURSOR}
order by created_at, id
limit $6
offset $7`

const LISTS = {
  all: { desc: selectNewest, asc: selectOldest },
  type: { desc: selectNewestOfType, asc: selectOldestOfType },
  resource: { desc: selectNewestOfResource, asc: selectOldestOfResource },
}

export async function listEventRows(
  db: Db,
  merchantId: string,
  filter: EventFilter,
  window: ListWindow,
  resourceTypes: readonly string[],
): Promise<EventRow[]> {
  const { by, values } = chooseFilter(filter, resourceTypes)
  const { createdFrom, createdTo, after, limit, offset } = window
  const page = [createdFrom, createdTo, after?.at ?? null, after?.id ?? null, limit, offset]
  return db.query(LISTS[by][window.order], [merchantId, ...page, ...values])
}

function chooseFilter({ type, resource }: EventFilter, resourceTypes: readonly string[]) {
  if (resource !== undefined)
    return { by: 'resource' as const, values: [resourceTypes, resource, type ?? null] }
  return type === undefined ? { by: 'all' as const, values: [] } : { by: 'type' as const, values: [type] }
}

// One more than the cap, which is how the caller knows that there are more.
const COUNT_LIMIT = String(COUNT_CAP + 1)

const countAll = sql<{ total: number }>`
select count(*)::integer as total
from (
  select 1
  from events
  where merchant_id = $1 and ${IN_PERIOD}
  limit ${COUNT_LIMIT}
) counted`

const countOfType = sql<{ total: number }>`
select count(*)::integer as total
from (
  select 1
  from events
  where merchant_id = $1 and ${IN_PERIOD} and type = $4
  limit ${COUNT_LIMIT}
) counted`

const countOfResource = sql<{ total: number }>`
select count(*)::integer as total
from (
  select 1
  from events
  where merchant_id = $1
    and ${IN_PERIOD}
    and resource_type = any($4::text[])
    and resource_id = $5
    and ($6::text is null or type = $6)
  limit ${COUNT_LIMIT}
) counted`

const COUNTS = { all: countAll, type: countOfType, resource: countOfResource }

export async function countEvents(
  db: Db,
  merchantId: string,
  filter: EventFilter,
  { createdFrom, createdTo }: Pick<ListWindow, 'createdFrom' | 'createdTo'>,
  resourceTypes: readonly string[],
): Promise<number> {
  const { by, values } = chooseFilter(filter, resourceTypes)
  const [row] = await db.query(COUNTS[by], [merchantId, createdFrom, createdTo, ...values])
  return row?.total ?? 0
}
