// Every statement over webhooks from gateways. Each stores or matches a webhook and wakes its attempt (makes it due).

import { type Db, sql } from '../kit/db/db.ts'
import { firstRow } from '../kit/db/rows.ts'
import type { Report, SavedReport } from '../payments/app.ts'

/** A webhook as stored: its id for deduplication, the account that signed it, and the attempt that it is about. */
export interface GatewayWebhook {
  gateway: string
  accountId: string | null
  eventId: string
  /** The attempt's key at the gateway, or else the provider's own id of the payment. */
  key: string | null
  gatewayReference: string | null
  /** An attempt that has succeeded is polled too: the webhook reports a dispute, or has a report. */
  checksPaid?: boolean
}

// Late payments are accepted, so a declined attempt is polled too. A paid attempt is polled only for a dispute or a report: a
// repeated success webhook costs no status check.
const wakeCondition = (checksPaid: string) => `(
    a.status in ('started', 'awaiting_customer', 'declined', 'requires_review')
    or (a.status in ('succeeded', 'duplicate_success') and ${checksPaid})
  )`

// Tenant isolation: only attempts of the account that signed the webhook are woken, never another merchant's.
const saveGatewayWebhookStatement = sql<{ key: string }>`
with matched as (
  select merchant_id, id, gateway_key
  from attempts
  where gateway_key = $4 and gateway = $1 and account_id is not distinct from $2
  union all
  select merchant_id, id, gateway_key
  from attempts
  where gateway_reference = $8 and gateway = $1 and account_id is not distinct from $2
),
inserted as (
  insert into gateway_webhooks (
    gateway, account_id, event_id, gateway_key, received_at, handled_at, due_at, checks_paid, gateway_reference
  )
  select
    $1, $2, $3, $4, $5::timestamptz,
    case when exists (select from matched) then $5::timestamptz end,
    case when not exists (select from matched) then $6::timestamptz end,
    $7::boolean,
    $8
  on conflict (gateway, event_id, account_id) do nothing
  returning event_id
),
woken as (
  update attempts a
  set due_at = $5, polls = 0
  from matched k
  where a.merchant_id = k.merchant_id
    and a.id = k.id
    and ${wakeCondition('$7::boolean')}
    and (a.due_at is null or a.due_at > $5)
    and exists (select from inserted)
)
select gateway_key as key
from matched`

/**
 * Stores a webhook and makes its attempt due, in one statement, so that a stored webhook always has its effect. A repeated
 * webhook does nothing. A webhook with an unknown key or reference is retried later. Returns the keys of the attempts.
 */
export async function saveGatewayWebhook(
  db: Db,
  webhook: GatewayWebhook,
  now: Date,
  retryAt: Date,
): Promise<string[]> {
  const { gateway, accountId, eventId, key, gatewayReference, checksPaid = false } = webhook
  const values = [gateway, accountId, eventId, key, now, retryAt, checksPaid, gatewayReference]
  return (await db.query(saveGatewayWebhookStatement, values)).map((row) => row.key)
}

/** An attempt by its key at an account of a gateway. */
export interface KeyedAttempt extends Pick<GatewayWebhook, 'gateway' | 'accountId'> {
  key: string
}

// Only while the provider's reference is not known: after a lost response there is nothing else to ask about.
const saveReferenceHintStatement = sql<unknown>`
update attempts
set reference_hint = $4
where gateway_key = $3
  and gateway = $1
  and account_id is not distinct from $2
  and gateway_reference is null
  and status in ('started', 'requires_review')`

/** Stores the provider's object that a webhook named. It decides what is asked about, never what is believed. */
export async function saveReferenceHint(
  db: Db,
  { gateway, accountId, key }: KeyedAttempt,
  hint: string,
): Promise<void> {
  await db.query(saveReferenceHintStatement, [gateway, accountId, key, hint])
}

const saveReportStatement = sql<SavedReport>`
with known as (
  select merchant_id, id, report
  from attempts
  where gateway_key = $3 and gateway = $1 and account_id is not distinct from $2
),
saved as (
  update attempts a
  set report = $4, report_is_final = $5
  from known k
  where a.merchant_id = k.merchant_id
    and a.id = k.id
    and (a.report is null or ($5 and not a.report_is_final))
  returning a.id
)
select exists (select from saved) or k.report = $4 as "isStored"
from known k`

/** Stores the report of a callback with its attempt. Undefined if the attempt is not known. */
export async function saveReport(
  db: Db,
  { gateway, accountId, key }: KeyedAttempt,
  { text, isFinal }: Report,
): Promise<SavedReport | undefined> {
  return firstRow(db, saveReportStatement, [gateway, accountId, key, text, isFinal])
}

// Exponential backoff: the delay equals the age. This covers a webhook that is a minute early and one after a restored
// backup; a webhook about another system's payment costs a dozen lookups.
const retryUnmatchedWebhooksStatement = sql<{ isHandled: boolean }>`
with due as (
  select
    id, gateway, account_id, gateway_key, gateway_reference, checks_paid, received_at,
    $1::timestamptz + greatest($1::timestamptz - received_at, interval '1 minute') as retry_at
  from gateway_webhooks
  where due_at <= $1
  order by due_at
  limit $3
  for update skip locked
),
matched as (
  select d.id as webhook_id, d.checks_paid, a.merchant_id, a.id
  from due d
  join attempts a
    on a.gateway_key = d.gateway_key
    and a.gateway = d.gateway
    and a.account_id is not distinct from d.account_id
  union all
  select d.id as webhook_id, d.checks_paid, a.merchant_id, a.id
  from due d
  join attempts a
    on a.gateway_reference = d.gateway_reference
    and a.gateway = d.gateway
    and a.account_id is not distinct from d.account_id
),
woken as (
  update attempts a
  set due_at = $1, polls = 0
  from matched k
  where a.merchant_id = k.merchant_id
    and a.id = k.id
    and ${wakeCondition('k.checks_paid')}
    and (a.due_at is null or a.due_at > $1)
)
update gateway_webhooks e
set
  handled_at = case when k.id is not null then $1 end,
  due_at = case when k.id is null and d.received_at > $2 then d.retry_at end
from due d
left join matched k on k.webhook_id = d.id
where e.id = d.id
returning e.handled_at is not null as "isHandled"`

/** Retries webhooks whose attempt was not found. Webhooks received before `expiredBefore` are not retried again. */
export async function retryUnmatchedWebhooks(
  db: Db,
  now: Date,
  expiredBefore: Date,
  limit: number,
): Promise<number> {
  return (await db.query(retryUnmatchedWebhooksStatement, [now, expiredBefore, limit])).length
}

const purgeWebhooksBeforeStatement = sql<unknown>`
with old as materialized (
  select id
  from gateway_webhooks
  where received_at < $1
  limit 1000
)
delete from gateway_webhooks e
using old
where e.id = old.id
returning 1`

export async function purgeWebhooksBefore(db: Db, before: Date): Promise<number> {
  return (await db.query(purgeWebhooksBeforeStatement, [before])).length
}
