// Every statement over webhook endpoints, except the health that the delivery worker records with its results. These
// statements skip deleted endpoints; only their deliveries still refer to them.

import { type Db, sql, type Tx } from '../kit/db/db.ts'
import { firstRow } from '../kit/db/rows.ts'
import {
  type DisableInput,
  ENDPOINT,
  type EndpointChanges,
  type EndpointRow,
  NEW_ENDPOINT,
  type NewEndpoint,
  type NewSecret,
} from './endpoint.ts'

const ENDPOINT_COLUMNS = ENDPOINT.select()

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
  return firstRow(db, selectEndpoint, [merchantId, id])
}

const lockEndpointsStatement = sql<unknown>`
select pg_advisory_xact_lock(hashtextextended('webhook_endpoints', 0) # hashtextextended($1::text, 0))`

/** Serializes the creation of a merchant's endpoints, so that the limit can be checked by counting. */
export async function lockEndpoints(tx: Tx, merchantId: string): Promise<void> {
  await tx.query(lockEndpointsStatement, [merchantId])
}

const insertEndpointStatement = sql<EndpointRow>`
insert into webhook_endpoints (
  ${ENDPOINT.list(NEW_ENDPOINT)}, status, secret_request_id, checked_from, updated_at
)
select ${ENDPOINT.list(NEW_ENDPOINT)}, 'enabled', id, created_at, created_at
from jsonb_to_recordset($1::jsonb) as e (${ENDPOINT.recordset(NEW_ENDPOINT)})
returning ${ENDPOINT_COLUMNS}`

export async function insertEndpoint(tx: Tx, endpoint: NewEndpoint): Promise<EndpointRow> {
  const [row] = await tx.query(insertEndpointStatement, [JSON.stringify([ENDPOINT.toRecord(endpoint)])])
  if (!row) throw new Error('the insert of a webhook endpoint returned no row')
  return row
}

// A new URL starts without failures, and so does an endpoint that is enabled again.
const RESETS_FAILURES =
  'url is distinct from coalesce($4, url) or status is distinct from coalesce($8, status)'

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
  failing_since = case when ${RESETS_FAILURES} then null else failing_since end,
  last_failed_at = case when ${RESETS_FAILURES} then null else last_failed_at end,
  checked_from = case
    when events is distinct from coalesce($7, events) or status is distinct from coalesce($8, status) then $3
    else checked_from
  end,
  updated_at = $3
where merchant_id = $1
  and id = $2
  and status <> 'deleted'
  and ($9::boolean or (url = $10 and description is not distinct from $11 and events = $12::text[]))
returning ${ENDPOINT_COLUMNS}`

export async function updateEndpoint(
  db: Db,
  merchantId: string,
  id: string,
  at: Date,
  { url, description, events, status, expected }: EndpointChanges,
): Promise<EndpointRow | undefined> {
  const changesDescription = description !== undefined
  const changes = [url, changesDescription, description, events, status]
  const unchanged = [expected === undefined, expected?.url, expected?.description, expected?.events]
  return firstRow(db, updateEndpointStatement, [merchantId, id, at, ...changes, ...unchanged])
}

const rotateSecretStatement = sql<EndpointRow>`
update webhook_endpoints
set
  previous_secret_sealed = case when $6::timestamptz > $5 then secret_sealed end,
  previous_secret_until = case when $6::timestamptz > $5 then $6 end,
  secret_sealed = $3,
  secret_request_id = $4,
  updated_at = $5
where merchant_id = $1
  and id = $2
  and status <> 'deleted'
  and ($6::timestamptz <= $5 or previous_secret_until is null or previous_secret_until <= $5)
returning ${ENDPOINT_COLUMNS}`

/** Returns undefined if there is no such endpoint, or if a previous secret still signs and must stay valid. */
export async function replaceSecret(
  tx: Tx,
  merchantId: string,
  id: string,
  { sealed, requestId, at, previousSecretUntil }: NewSecret,
): Promise<EndpointRow | undefined> {
  const values = [merchantId, id, sealed, requestId, at, previousSecretUntil]
  return firstRow(tx, rotateSecretStatement, values)
}

const clearPreviousSecretsStatement = sql<unknown>`
with expired as materialized (
  select merchant_id, id
  from webhook_endpoints
  where previous_secret_until <= $1
  limit 1000
)
update webhook_endpoints e
set previous_secret_sealed = null, previous_secret_until = null
from expired
where e.merchant_id = expired.merchant_id and e.id = expired.id and e.previous_secret_until <= $1
returning 1`

/** Deletes previous secrets whose overlap is over, up to a thousand per call; returns how many. */
export async function clearPreviousSecrets(db: Db, now: Date): Promise<number> {
  return (await db.query(clearPreviousSecretsStatement, [now])).length
}

const deleteEndpointStatement = sql<EndpointRow>`
update webhook_endpoints
set
  status = 'deleted',
  disabled_reason = 'endpoint_deleted',
  disabled_at = $3,
  secret_sealed = null,
  secret_request_id = null,
  previous_secret_sealed = null,
  previous_secret_until = null,
  updated_at = $3
where merchant_id = $1 and id = $2 and status <> 'deleted'
returning ${ENDPOINT_COLUMNS}`

/** Marks the endpoint as deleted, destroys its secrets and returns it. */
export async function deleteEndpointRow(
  db: Db,
  merchantId: string,
  id: string,
  now: Date,
): Promise<EndpointRow | undefined> {
  return firstRow(db, deleteEndpointStatement, [merchantId, id, now])
}

const disableEndpointStatement = sql<EndpointRow>`
update webhook_endpoints
set status = 'disabled', disabled_reason = $4, disabled_at = $5, version = version + 1, updated_at = $5
where merchant_id = $1
  and id = $2
  and url = $3
  and status = 'enabled'
  and ($6::timestamptz is null or failing_since <= $6)
returning ${ENDPOINT_COLUMNS}`

/** Returns undefined if the endpoint has changed since the call was made. */
export async function disableEndpoint(tx: Tx, disabling: DisableInput): Promise<EndpointRow | undefined> {
  const { merchantId, endpointId, url, reason, at, failingBefore } = disabling
  return firstRow(tx, disableEndpointStatement, [...[merchantId, endpointId, url, reason, at, failingBefore]])
}

const nextVersionStatement = sql<EndpointRow>`
update webhook_endpoints
set version = version + 1
where merchant_id = $1 and id = $2 and status <> 'deleted'
returning ${ENDPOINT_COLUMNS}`

/** Returns the endpoint with the version of its next event, and locks the row until the transaction ends. */
export async function incrementVersion(
  tx: Tx,
  merchantId: string,
  id: string,
): Promise<EndpointRow | undefined> {
  return firstRow(tx, nextVersionStatement, [merchantId, id])
}
