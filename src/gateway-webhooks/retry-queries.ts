// The statements over webhooks that were stored before their attempt was known, and over old ones.

import { worksHere } from '../kit/cells/moving-queries.ts'
import { type Db, sql } from '../kit/db/db.ts'
import { type GatewayWebhook, wakeCondition } from './queries.ts'

export interface RetriedWebhook extends Required<GatewayWebhook> {
  /** Its attempt is woken. */
  isHandled: boolean
}

// Exponential backoff: the delay equals the age. This covers a webhook that is a minute early and one after a restored
// backup; a webhook about another system's payment costs a dozen lookups. An attempt of a merchant that works in another cell
// cannot be woken here, and one whose merchant is moved meanwhile was not.
const retryUnmatchedWebhooksStatement = sql<RetriedWebhook>`
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
named as (
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
matched as (
  select k.webhook_id, k.merchant_id, k.id, ${wakeCondition('k.checks_paid')} and (a.due_at is null or a.due_at > $1) as sleeps
  from named k
  join attempts a on a.merchant_id = k.merchant_id and a.id = k.id
  where ${worksHere('k')}
),
woken as (
  update attempts a
  set due_at = $1, polls = 0
  from matched k
  where a.merchant_id = k.merchant_id
    and a.id = k.id
    and k.sleeps
    and (a.due_at is null or a.due_at > $1)
  returning a.merchant_id, a.id
),
handled as (
  select k.webhook_id
  from matched k
  where not k.sleeps or exists (select from woken w where w.merchant_id = k.merchant_id and w.id = k.id)
)
update gateway_webhooks e
set
  handled_at = case when h.webhook_id is not null then $1 end,
  due_at = case when h.webhook_id is null and d.received_at > $2 then d.retry_at end
from due d
left join handled h on h.webhook_id = d.id
where e.id = d.id
returning
  e.gateway, e.account_id as "accountId", e.event_id as "eventId", e.gateway_key as key, e.gateway_reference as "gatewayReference",
  e.checks_paid as "checksPaid", e.handled_at is not null as "isHandled"`

/** Retries webhooks whose attempt was not found. Webhooks received before `expiredBefore` are not retried again. */
export function retryUnmatchedWebhooks(
  db: Db,
  now: Date,
  expiredBefore: Date,
  limit: number,
): Promise<RetriedWebhook[]> {
  return db.query(retryUnmatchedWebhooksStatement, [now, expiredBefore, limit])
}

export interface NamedAttempt {
  /** The position of the webhook in the list. */
  index: number
  merchantId: string
  attemptId: string
}

const selectAttemptsOf = sql<NamedAttempt>`
with wanted as (
  select *
  from jsonb_to_recordset($1::jsonb) w (
    index integer, gateway text, "accountId" uuid, key text, "gatewayReference" text
  )
)
select w.index, a.merchant_id as "merchantId", a.id as "attemptId"
from wanted w
join attempts a
  on a.gateway_key = w.key
  and a.gateway = w.gateway
  and a.account_id is not distinct from w."accountId"
union all
select w.index, a.merchant_id, a.id
from wanted w
join attempts a
  on a.gateway_reference = w."gatewayReference"
  and a.gateway = w.gateway
  and a.account_id is not distinct from w."accountId"`

/** The attempts that the webhooks name, also those in a copy of their merchant. */
export function findNamedAttempts(db: Db, webhooks: readonly RetriedWebhook[]): Promise<NamedAttempt[]> {
  const wanted = webhooks.map((webhook, index) => ({ ...webhook, index }))
  return db.query(selectAttemptsOf, [JSON.stringify(wanted)])
}

const wakeStatement = sql<unknown>`
update attempts a
set due_at = $3, polls = 0
where a.merchant_id = $1
  and a.id = $2
  and ${wakeCondition('$4::boolean')}
  and (a.due_at is null or a.due_at > $3)`

/** Makes the attempt due. Fails in a cell where its merchant does not work. */
export async function wakeAttempt(
  db: Db,
  { merchantId, attemptId }: Omit<NamedAttempt, 'index'>,
  { checksPaid, now }: { checksPaid: boolean; now: Date },
): Promise<void> {
  await db.query(wakeStatement, [merchantId, attemptId, now, checksPaid])
}

const handleStatement = sql<unknown>`
update gateway_webhooks e
set handled_at = $2, due_at = null
from jsonb_to_recordset($1::jsonb) w (gateway text, "accountId" uuid, "eventId" text)
where e.gateway = w.gateway
  and e.event_id = w."eventId"
  and e.account_id is not distinct from w."accountId"`

export async function markHandled(db: Db, webhooks: readonly RetriedWebhook[], now: Date): Promise<void> {
  await db.query(handleStatement, [JSON.stringify(webhooks), now])
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
