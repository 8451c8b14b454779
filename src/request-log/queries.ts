// The request log: written in batches, read by merchant, deleted by age and number.

import { worksHere } from '../kit/cells/moving-queries.ts'
import { type Db, sql } from '../kit/db/db.ts'
import { listRows, listStatements } from '../kit/db/list-statements.ts'
import type { CountedRows, ListWindow } from '../kit/db/pagination.ts'
import { firstRow } from '../kit/db/rows.ts'
import { type LookFilter, lookForRequests } from './look-queries.ts'
import { REQUEST, type RequestRow } from './request.ts'

const insertStatement = sql<unknown>`
insert into api_requests (${REQUEST.list()})
select ${REQUEST.list()}
from jsonb_to_recordset($1::jsonb) as r (${REQUEST.recordset()})
returning id`

export async function insertRequests(db: Db, rows: readonly RequestRow[]): Promise<void> {
  await db.query(insertStatement, [REQUEST.toJson(rows)])
}

export interface RequestFilter extends LookFilter {
  requestId: string | null
}

const source = { columns: REQUEST.select('r'), table: 'api_requests', alias: 'r' }
const ALL = listStatements<RequestRow>(source)
const FAILED = listStatements<RequestRow>({ ...source, filter: 'r.http >= 400' })
const BY_REQUEST_ID = listStatements<RequestRow>({
  ...source,
  filter: `r.request_id = $4 and (not $5::boolean or r.http >= 400) and ($6::text is null or r.key_id = $6)
  and ($7::text is null or r.route = $7) and ($8::text is null or r.reference = $8)`,
  filterValues: 5,
  findsByFilter: true,
})

export function listRequestRows(
  db: Db,
  merchantId: string,
  filter: RequestFilter,
  window: ListWindow,
): Promise<CountedRows<RequestRow>> {
  const { failed, keyId, route, requestId, reference } = filter
  if (requestId !== null) {
    const values = [requestId, failed, keyId, route, reference]
    return listRows(db, BY_REQUEST_ID, merchantId, window, values)
  }
  if (keyId ?? route ?? reference) return lookForRequests(db, merchantId, filter, window)
  return listRows(db, failed ? FAILED : ALL, merchantId, window)
}

// The merchants are found by jumps in the index, as there may be millions of rows. $1 is the earliest time that is kept, $2
// the number of rows that a merchant keeps.
const purgeStatement = sql<{ purged: number }>`
with recursive owners as (
  (select merchant_id from api_requests order by merchant_id limit 1)
  union all
  select (select r.merchant_id from api_requests r where r.merchant_id > o.merchant_id order by r.merchant_id limit 1)
  from owners o
  where o.merchant_id is not null
),
due as materialized (
  select old.place
  from owners o
  cross join lateral (
    select r.created_at
    from api_requests r
    where r.merchant_id = o.merchant_id
    order by r.created_at desc, r.id desc
    offset $2
    limit 1
  ) surplus
  cross join lateral (
    select r.ctid as place
    from api_requests r
    where r.merchant_id = o.merchant_id and r.created_at <= surplus.created_at
    order by r.created_at
    limit 2000
  ) old
  where ${worksHere('o')}
  union
  select old.place
  from owners o
  cross join lateral (
    select r.ctid as place
    from api_requests r
    where r.merchant_id = o.merchant_id and r.created_at < $1
    order by r.created_at
    limit 2000
  ) old
  where ${worksHere('o')}
  limit 10000
),
purged as (
  delete from api_requests
  where ctid = any (array(select place from due))
  returning 1
)
select count(*)::integer as purged
from purged`

export async function purgeRequests(db: Db, before: Date, kept: number): Promise<number> {
  return (await firstRow(db, purgeStatement, [before, kept]))?.purged ?? 0
}
