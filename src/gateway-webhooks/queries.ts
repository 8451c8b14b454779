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
export const wakeCondition = (checksPaid: string) => `(
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

const selectMerchantsByReference = sql<{ merchantId: string }>`
select distinct merchant_id as "merchantId"
from attempts
where gateway_reference = $3 and gateway = $1 and account_id is not distinct from $2`

/** Whose attempts the provider names by this id. */
export async function findMerchantsByReference(
  db: Db,
  { gateway, accountId }: Pick<GatewayWebhook, 'gateway' | 'accountId'>,
  reference: string,
): Promise<string[]> {
  const found = await db.query(selectMerchantsByReference, [gateway, accountId, reference])
  return found.map(({ merchantId }) => merchantId)
}
