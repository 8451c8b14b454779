// The request log: written in batches, read by merchant, deleted by age and number.

import { type Db, sql } from '../kit/db/db.ts'
import { type ListStatements, listRows, listStatements } from '../kit/db/list-statements.ts'
import type { CountedRows, ListWindow } from '../kit/db/pagination.ts'
import { firstRow } from '../kit/db/rows.ts'
import { REQUEST, type RequestRow } from './request.ts'

const insertStatement = sql<unknown>`
insert into api_requests (${REQUEST.list()})
select ${REQUEST.list()}
from jsonb_to_recordset($1::jsonb) as r (${REQUEST.recordset()})`

export async function insertRequests(db: Db, rows: readonly RequestRow[]): Promise<void> {
  await db.query(insertStatement, [JSON.stringify(rows.map((row) => REQUEST.toRecord(row)))])
}

export interface RequestFilter {
  failed: boolean
  keyId: string | null
  route: string | null
  requestId: string | null
  reference: string | null
}

const CONDITIONS = `($4::text is null or r.key_id = $4) and ($5::text is null or r.route = $5)
  and ($6::text is null or r.request_id = $6) and ($7::text is null or r.reference = $7)`

const source = (condition: string) => ({
  columns: REQUEST.select('r'),
  table: 'api_requests',
  alias: 'r',
  filter: `${condition}${CONDITIONS}`,
  filterValues: 4,
})

const BY_TIME = listStatements<RequestRow>(source(''))
const FAILED = listStatements<RequestRow>(source('r.http >= 400 and '))
const BY_REQUEST_ID = listStatements<RequestRow>({ ...source('r.request_id = $6 and '), findsByFilter: true })

function statementsFor({ failed, requestId }: RequestFilter): ListStatements<RequestRow> {
  if (requestId !== null) return BY_REQUEST_ID
  return failed ? FAILED : BY_TIME
}

export function listRequestRows(
  db: Db,
  merchantId: string,
  filter: RequestFilter,
  window: ListWindow,
): Promise<CountedRows<RequestRow>> {
  const { keyId, route, requestId, reference } = filter
  return listRows(db, statementsFor(filter), merchantId, window, [keyId, route, requestId, reference])
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
