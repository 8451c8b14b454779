// The record of a payment or charge, as one statement over several slices' tables, because each further round trip
// would cost more than the whole statement: claim the idempotency key and the reference, upsert the customer, insert
// payment, attempt, move and events. It takes many rows at once, so that callers who wait together share a commit.
//
// The customer is locked first, then the saved method that is charged: who is blocked by then, or what is revoked, claims
// nothing, and whoever blocks or revokes comes before or after.
//
// Rows are claimed in one order everywhere, so that two batches never wait for each other in a circle.
//
// The rows come with a limit, which is their number: from a limit that it does not know the planner expects few rows, and
// looks each of them up by an index. Otherwise it would read all customers of a smaller installation for every payment. It
// stands in a select of its own: known beforehand, it would make planning each batch anew look worth its while.

import { type Db, sql } from '../kit/db.ts'

/** One payment to record, in the words of the columns. Amounts travel as text: JSON numbers would round them. */
export interface RecordInput {
  merchant_id: string
  payment_id: string
  kind: 'checkout' | 'charge'
  reference: string
  fingerprint: string
  idempotency_key: string | null
  operation: string
  status: string
  status_reason: string | null
  amount_minor: string
  currency: string
  gateway: string
  country: string | null
  description: string | null
  metadata: Record<string, unknown>
  redirect_url: string | null
  is_recurring: boolean
  customer_id: string
  email: string
  email_key: string
  firstname: string
  lastname: string
  customer_country: string | null
  search_text: string
  /** Of the event that tells of the customer, if this payment is their first. */
  customer_event_id: string
  access_hash: string | null
  access_sealed: string | null
  expires_at: Date | null
  payment_method_id: string | null
  link_id: string | null
  attempt_id: string | null
  attempt_key: string | null
  account_id: string | null
  attempt_due_at: Date | null
  event_id: string
  event_type: string
  event_body: unknown
  source: string
  at: Date
}

interface RecordedRow {
  paymentId: string
  /** Null when it was refused. */
  customerId: string | null
  rejection: 'blocked' | 'inactive' | null
}

export type RecordResult =
  | { kind: 'recorded'; customerId: string }
  /** The key or the reference names another payment. */
  | { kind: 'conflict' }
  /** The customer is blocked. */
  | { kind: 'blocked' }
  /** The saved method was revoked or has expired. */
  | { kind: 'inactive' }

const recordPaymentsStatement = sql<RecordedRow>`
with input as (
  select *
  from jsonb_to_recordset($1::jsonb) as i (
    n integer, merchant_id uuid, payment_id uuid, kind text, reference text, fingerprint text, idempotency_key text,
    operation text, status text, status_reason text, amount_minor bigint, currency text, gateway text, country text,
    description text, metadata jsonb, redirect_url text, is_recurring boolean, customer_id uuid, email text,
    email_key text, firstname text, lastname text, customer_country text, search_text text, customer_event_id uuid, access_hash text,
    access_sealed text, expires_at timestamptz, payment_method_id uuid, link_id uuid, attempt_id uuid, attempt_key text, account_id uuid,
    attempt_due_at timestamptz, event_id uuid, event_type text, event_body jsonb, source text, at timestamptz
  )
  limit (select jsonb_array_length($1::jsonb))
),
existing_customer as (
  select i.payment_id, c.status, c.email, c.firstname, c.lastname, c.country, c.search_text
  from input i
  join customers c on c.merchant_id = i.merchant_id and c.email_key = i.email_key
  order by c.merchant_id, c.email_key
  for no key update of c
),
charged as (
  select i.payment_id, m.status = 'active' and coalesce(m.expires_at > i.at, true) as is_active
  from input i
  join payment_methods m on m.merchant_id = i.merchant_id and m.id = i.payment_method_id
  order by m.merchant_id, m.id
  for share of m
),
rejected as (
  select payment_id, 'blocked' as rejection
  from existing_customer
  where status = 'blocked'
  union all
  select payment_id, 'inactive'
  from charged
  where not is_active
),
claimed_keys as (
  insert into idempotency_keys (merchant_id, key, operation, fingerprint, resource, claimed_by, created_at)
  select merchant_id, idempotency_key, operation, decode(fingerprint, 'hex'), reference, payment_id, at
  from input
  where idempotency_key is not null and payment_id not in (select payment_id from rejected)
  order by merchant_id, idempotency_key, n
  on conflict (merchant_id, key) do nothing
  returning claimed_by
),
claimed as (
  insert into payment_references (merchant_id, reference, payment_id, fingerprint, created_at)
  select merchant_id, reference, payment_id, decode(fingerprint, 'hex'), at
  from input
  where (idempotency_key is null or payment_id in (select claimed_by from claimed_keys))
    and payment_id not in (select payment_id from rejected)
  order by merchant_id, reference, n
  on conflict (merchant_id, reference) do nothing
  returning payment_id
),
fresh as (
  select *
  from input
  where payment_id in (select payment_id from claimed)
),
customer as (
  insert into customers as c (
    merchant_id, id, email, email_key, firstname, lastname, country, search_text, created_at, updated_at
  )
  -- Anybody can fill in the form of a link, so it does not rename a customer who is known.
  select distinct on (f.merchant_id, f.email_key)
    f.merchant_id, f.customer_id, coalesce(k.email, f.email), f.email_key, coalesce(k.firstname, f.firstname),
    coalesce(k.lastname, f.lastname), coalesce(k.country, f.customer_country), coalesce(k.search_text, f.search_text),
    f.at, f.at
  from fresh f
  left join existing_customer k on k.payment_id = f.payment_id and f.link_id is not null
  order by f.merchant_id, f.email_key, f.n desc
  on conflict (merchant_id, email_key) do update
  set
    email = excluded.email,
    firstname = excluded.firstname,
    lastname = excluded.lastname,
    country = coalesce(excluded.country, c.country),
    search_text = excluded.search_text,
    updated_at = case
      when (c.email, c.firstname, c.lastname, c.country)
        is distinct from (excluded.email, excluded.firstname, excluded.lastname, coalesce(excluded.country, c.country))
      then excluded.updated_at
      else c.updated_at
    end
  returning c.merchant_id, c.id, c.email_key
),
-- Who is new has the id that one of these payments brought along.
customer_event as (
  insert into events (merchant_id, id, type, resource_type, resource_id, version, body, created_at)
  select
    f.merchant_id, f.customer_event_id, 'customer.created', 'customer', c.id, 1,
    f.event_body || jsonb_build_object(
      'id', f.customer_event_id,
      'type', 'customer.created',
      'resource', jsonb_build_object('type', 'customer', 'uuid', c.id, 'version', 1),
      'data', jsonb_build_object(
        'uuid', c.id, 'firstname', f.firstname, 'lastname', f.lastname, 'email', f.email, 'country', f.customer_country,
        'phone', null, 'metadata', '{}'::jsonb, 'status', 'active', 'statusReason', null,
        'totals', jsonb_build_object('successfulPayments', 0, 'lastPaymentAt', null),
        'createdAt', f.event_body -> 'createdAt', 'updatedAt', f.event_body -> 'createdAt'
      )
    ),
    f.at
  from fresh f
  join customer c on c.merchant_id = f.merchant_id and c.id = f.customer_id
),
payment as (
  insert into payments (
    merchant_id, id, kind, reference, status, status_reason, version, amount_minor, currency, gateway, country,
    description, metadata, redirect_url, is_recurring, customer_id, customer_email, customer_firstname,
    customer_lastname, access_hash, access_sealed, attempts_used, payment_method_id, link_id, expires_at, due_at, created_at
  )
  select
    f.merchant_id, f.payment_id, f.kind, f.reference, f.status, f.status_reason, 1, f.amount_minor, f.currency,
    f.gateway, f.country, f.description, f.metadata, f.redirect_url, f.is_recurring, c.id, f.email, f.firstname,
    f.lastname, decode(f.access_hash, 'hex'), f.access_sealed, case when f.attempt_id is null then 0 else 1 end,
    f.payment_method_id, f.link_id, f.expires_at, f.expires_at, f.at
  from fresh f
  join customer c on c.merchant_id = f.merchant_id and c.email_key = f.email_key
  returning id as payment_id, customer_id
),
attempt as (
  insert into attempts (
    merchant_id, id, payment_id, number, operation, gateway, account_id, channel, status, gateway_key, started_at,
    due_at
  )
  select
    merchant_id, attempt_id, payment_id, 1, kind, gateway, account_id, 'saved', 'started', attempt_key, at,
    attempt_due_at
  from fresh
  where attempt_id is not null
),
move as (
  insert into moves (merchant_id, payment_id, version, from_status, to_status, reason, source, attempt_id, at)
  select merchant_id, payment_id, 1, null, status, status_reason, source, attempt_id, at
  from fresh
),
event as (
  insert into events (merchant_id, id, type, resource_type, resource_id, version, body, created_at)
  select
    f.merchant_id, f.event_id, f.event_type, f.event_body -> 'resource' ->> 'type', f.payment_id, 1,
    jsonb_set(f.event_body, '{data,customer,uuid}', to_jsonb(p.customer_id)), f.at
  from fresh f
  join payment p on p.payment_id = f.payment_id
)
select payment_id as "paymentId", customer_id as "customerId", null as rejection
from payment
union all
select payment_id, null, rejection
from rejected`

/** For each input what became of it. */
export async function recordPayments(db: Db, inputs: readonly RecordInput[]): Promise<RecordResult[]> {
  const rows = await db.query(recordPaymentsStatement, [
    JSON.stringify(inputs.map((input, n) => ({ n, ...input }))),
  ])
  const answers = new Map(rows.map((row) => [row.paymentId, row]))
  return inputs.map((input): RecordResult => {
    const answer = answers.get(input.payment_id)
    if (!answer) return { kind: 'conflict' }
    const { customerId, rejection } = answer
    return customerId === null ? { kind: rejection ?? 'blocked' } : { kind: 'recorded', customerId }
  })
}
