// Every statement over webhook endpoints, except what the delivery worker writes with its results. A deleted endpoint is
// never found here; only the deliveries that were made to it still name it.

import { type Db, sql, type Tx } from '../kit/db.ts'
import type { DisabledReason } from './states.ts'

export interface EndpointRow {
  merchantId: string
  id: string
  url: string
  description: string | null
  events: string[]
  status: 'enabled' | 'disabled'
  disabledReason: DisabledReason | null
  disabledAt: Date | null
  secretSealed: string
  previousUntil: Date | null
  failingSince: Date | null
  version: number
  createdAt: Date
  updatedAt: Date
}

const ENDPOINT_COLUMNS = `
  merchant_id as "merchantId", id, url, description, events, status, disabled_reason as "disabledReason",
  disabled_at as "disabledAt", secret_sealed as "secretSealed", previous_until as "previousUntil",
  failing_since as "failingSince", version, created_at as "createdAt", updated_at as "updatedAt"`

const selectEndpoints = sql<EndpointRow>`
select ${ENDPOINT_COLUMNS}
from webhook_endpoints
where merchant_id = $1 and status <> 'deleted'
order by created_at desc, id desc`

export async function listEndpointRows(db: Tx, merchantId: string): Promise<EndpointRow[]> {
  return db.query(selectEndpoints, [merchantId])
}

const selectEndpoint = sql<EndpointRow>`
select ${ENDPOINT_COLUMNS}
from webhook_endpoints
where merchant_id = $1 and id = $2 and status <> 'deleted'`

export async function findEndpoint(db: Tx, merchantId: string, id: string): Promise<EndpointRow | undefined> {
  const [row] = await db.query(selectEndpoint, [merchantId, id])
  return row
}

const lockEndpointsStatement = sql<unknown>`
select pg_advisory_xact_lock(hashtextextended('webhook_endpoints', 0) # hashtextextended($1::text, 0))`

/** Whoever makes endpoints of one merchant goes one after the other, so that they can be counted. */
export async function lockEndpoints(tx: Tx, merchantId: string): Promise<void> {
  await tx.query(lockEndpointsStatement, [merchantId])
}

const insertEndpointStatement = sql<EndpointRow>`
insert into webhook_endpoints (
  merchant_id, id, url, description, events, status, disabled_reason, disabled_at, secret_sealed, checked_from,
  created_at, updated_at
)
values ($1, $2, $3, $4, $5, 'enabled', null, null, $6, $7, $7, $7)
returning ${ENDPOINT_COLUMNS}`

export interface NewEndpoint {
  merchantId: string
  id: string
  url: string
  description: string | null
  events: readonly string[]
  secretSealed: string
  createdAt: Date
}

export async function insertEndpoint(tx: Tx, endpoint: NewEndpoint): Promise<EndpointRow> {
  const { merchantId, id, url, description, events, secretSealed, createdAt } = endpoint
  const values = [merchantId, id, url, description, events, secretSealed, createdAt]
  const [row] = await tx.query(insertEndpointStatement, values)
  if (!row) throw new Error('an insert returns its row')
  return row
}

// What it listens to is another thing from now on; a new address and a new beginning have no failures behind them.
const updateEndpointStatement = sql<EndpointRow>`
update webhook_endpoints
set
  url = coalesce($4, url),
  description = case when $5 then $6 else description end,
  events = coalesce($7, events),
  status = coalesce($8, status),
  disabled_reason = case
    when coalesce($8, status) = 'enabled' then null else coalesce(disabled_reason, 'disabled_by_merchant')
  end,
  disabled_at = case when coalesce($8, status) = 'enabled' then null else coalesce(disabled_at, $3) end,
  failing_since = case
    when url is distinct from coalesce($4, url) or status is distinct from coalesce($8, status) then null
    else failing_since
  end,
  checked_from = $3,
  updated_at = $3
where merchant_id = $1 and id = $2 and status <> 'deleted'
returning ${ENDPOINT_COLUMNS}`

export interface EndpointChanges {
  url: string | undefined
  /** Undefined leaves it, null takes it away. */
  description: string | null | undefined
  events: readonly string[] | undefined
  status: EndpointRow['status'] | undefined
}

export async function updateEndpoint(
  db: Db,
  merchantId: string,
  id: string,
  at: Date,
  { url, description, events, status }: EndpointChanges,
): Promise<EndpointRow | undefined> {
  const changesDescription = description !== undefined
  const values = [merchantId, id, at, url, changesDescription, description, events, status]
  const [row] = await db.query(updateEndpointStatement, values)
  return row
}

const rotateSecretStatement = sql<EndpointRow>`
update webhook_endpoints
set
  previous_sealed = case when $5::timestamptz > $4 then secret_sealed end,
  previous_until = case when $5::timestamptz > $4 then $5 end,
  secret_sealed = $3,
  updated_at = $4
where merchant_id = $1 and id = $2 and status <> 'deleted'
returning ${ENDPOINT_COLUMNS}`

/** The secret so far goes on signing until `previousUntil`; one that did so before it ends now. */
export async function replaceSecret(
  tx: Tx,
  merchantId: string,
  id: string,
  secretSealed: string,
  now: Date,
  previousUntil: Date,
): Promise<EndpointRow | undefined> {
  const [row] = await tx.query(rotateSecretStatement, [merchantId, id, secretSealed, now, previousUntil])
  return row
}

const deleteEndpointStatement = sql<EndpointRow>`
with before as (
  select ${ENDPOINT_COLUMNS}
  from webhook_endpoints
  where merchant_id = $1 and id = $2 and status <> 'deleted'
  for update
),
gone as (
  update webhook_endpoints
  set
    status = 'deleted',
    disabled_reason = 'endpoint_deleted',
    disabled_at = $3,
    secret_sealed = null,
    previous_sealed = null,
    previous_until = null,
    updated_at = $3
  where merchant_id = $1 and id in (select id from before)
)
select *
from before`

/** The endpoint as it was. */
export async function deleteEndpointRow(
  db: Db,
  merchantId: string,
  id: string,
  now: Date,
): Promise<EndpointRow | undefined> {
  const [row] = await db.query(deleteEndpointStatement, [merchantId, id, now])
  return row
}

const disableEndpointStatement = sql<EndpointRow>`
update webhook_endpoints
set status = 'disabled', disabled_reason = $3, disabled_at = $4, version = version + 1, updated_at = $4
where merchant_id = $1 and id = $2 and status = 'enabled' and ($5::timestamptz is null or failing_since <= $5)
returning ${ENDPOINT_COLUMNS}`

/** Undefined when it is not enabled, or when it did not fail all the time since `failingBefore`. */
export async function disableEndpoint(
  tx: Tx,
  merchantId: string,
  id: string,
  reason: DisabledReason,
  now: Date,
  failingBefore: Date | null,
): Promise<EndpointRow | undefined> {
  const [row] = await tx.query(disableEndpointStatement, [merchantId, id, reason, now, failingBefore])
  return row
}

const nextVersionStatement = sql<EndpointRow>`
update webhook_endpoints
set version = version + 1
where merchant_id = $1 and id = $2 and status <> 'deleted'
returning ${ENDPOINT_COLUMNS}`

/** The endpoint, with the version of its next event. It stays as it is until the transaction ends. */
export async function raiseVersion(tx: Tx, merchantId: string, id: string): Promise<EndpointRow | undefined> {
  const [row] = await tx.query(nextVersionStatement, [merchantId, id])
  return row
}
