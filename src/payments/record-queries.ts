// Records payments and charges in one statement over the tables of several slices, because each further round trip costs
// more than the whole statement. It claims the idempotency key and the reference, upserts the customer, and inserts the
// payment, the attempt and the events. It takes many rows, so that concurrent callers share one commit.
//
// The statement locks the customer first, then the saved method. A blocked customer or a revoked method claims nothing;
// the row locks order this against concurrent blocks and revocations.
//
// Every batch claims its rows in the same order, so that two batches cannot deadlock.
//
// The input has a limit, which is the number of its rows. From a limit that it does not know the planner expects few rows
// and uses an index for each; without it, it would scan all customers of a small instance. The limit is a subselect, because
// a known value would make PostgreSQL plan every batch anew.

import { column, columnTable, type RowOf } from '../kit/db/columns.ts'
import { type Db, sql } from '../kit/db/db.ts'
import { ATTEMPT, NEW_ATTEMPT } from './attempt.ts'
import { NEW_PAYMENT, PAYMENT } from './payment.ts'

/** One payment to record: its row, and the values that are no columns of it. */
const RECORD = columnTable({
  ...PAYMENT.columns,
  fingerprint: column<string>('text'),
  idempotencyKey: column<string | null>('text'),
  operation: column<string>('text'),
  emailKey: column<string>('text'),
  customerCountry: column<string | null>('text'),
  searchText: column<string>('text'),
  /** Of the event customer.created, if this payment is the customer's first. */
  customerEventId: column<string>('uuid'),
  accessHash: column<string | null>('text'),
  /** The row of an attempt that starts together with the payment. */
  attempt: column<Record<string, unknown> | null>('jsonb'),
  eventId: column<string>('uuid'),
  eventType: column<string>('text'),
  /** The version of the API, the mode and the time, as events have them. */
  envelope: column<unknown>('jsonb'),
  /** Without the uuid of the customer, which follows it. */
  eventPacked: column<Buffer>('bytea'),
})

export type RecordInput = RowOf<typeof RECORD>

interface RecordedRow {
  paymentId: string
  /** Null when the payment was rejected. */
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

// An existing customer keeps the id of the first payment, so the customer's id comes from the upsert.
const GIVEN = NEW_PAYMENT.filter((name) => name !== 'customerId')

// Each column of the input costs about a microsecond, so those with a default are not sent.
const SENT = RECORD.except(...PAYMENT.except(...NEW_PAYMENT))

const recordPaymentsStatement = sql<RecordedRow>`
with input as (
  select *
  from jsonb_to_recordset($1::jsonb) as i (
    n integer, ${RECORD.recordset(SENT)}
  )
  limit (select jsonb_array_length($1::jsonb))
),
existing_customer as (
  select i.payment_id, c.*
  from (select id as payment_id, merchant_id, email_key from input order by merchant_id, email_key) i
  cross join lateral (
    select c.id, c.status, c.email, c.firstname, c.lastname, c.country, c.phone, c.search_text
    from customers c
    where c.merchant_id = i.merchant_id and c.email_key = i.email_key
    for no key update
  ) c
),
charged as (
  select i.payment_id, m.is_active
  from (
    select id as payment_id, merchant_id, payment_method_id, created_at
    from input
    where payment_method_id is not null
    order by merchant_id, payment_method_id
  ) i
  cross join lateral (
    select m.status = 'active' and coalesce(m.expires_at > i.created_at, true) as is_active
    from payment_methods m
    where m.merchant_id = i.merchant_id and m.id = i.payment_method_id
    for share
  ) m
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
  select merchant_id, idempotency_key, operation, decode(fingerprint, 'hex'), reference, id, created_at
  from input
  where idempotency_key is not null and id not in (select payment_id from rejected)
  order by merchant_id, idempotency_key, n
  on conflict (merchant_id, key) do nothing
  returning claimed_by
),
claimed as (
  insert into payment_references (
    merchant_id, reference, payment_id, fingerprint, created_at, amount_hundredths, metadata_terms
  )
  select
    merchant_id, reference, id, decode(fingerprint, 'hex'), created_at, hundredths_of(amount_minor, currency),
    -- As metadata_terms, a call of which for each payment takes twice as long.
    (
      select array_agg(hashtextextended(jsonb_build_array(merchant_id, m.key, m.value #>> '{}')::text, 0))
      from jsonb_each(metadata) m
      where jsonb_typeof(m.value) in ('string', 'number', 'boolean')
    )
  from input
  where (idempotency_key is null or id in (select claimed_by from claimed_keys))
    and id not in (select payment_id from rejected)
  order by merchant_id, reference, n
  on conflict (merchant_id, reference) do nothing
  returning payment_id
),
fresh as (
  select *
  from input
  where id in (select payment_id from claimed)
),
wanted_customer as (
  -- Any visitor can fill in the form of a link, so the form does not rename an existing customer.
  select distinct on (f.merchant_id, f.email_key)
    f.merchant_id, f.customer_id, f.email_key, coalesce(k.email, f.customer_email) as email,
    coalesce(k.firstname, f.customer_firstname) as firstname, coalesce(k.lastname, f.customer_lastname) as lastname,
    coalesce(k.country, f.customer_country) as country, coalesce(k.phone, f.customer_phone) as phone,
    coalesce(k.search_text, f.search_text) as search_text,
    f.created_at, f.id as payment_id
  from fresh f
  left join existing_customer k on k.payment_id = f.id and f.link_id is not null
  order by f.merchant_id, f.email_key, f.n desc
),
-- Most customers pay again under the same name: their row is locked, and is not written.
unchanged_customer as (
  select w.merchant_id, k.id, w.email_key
  from wanted_customer w
  join existing_customer k on k.payment_id = w.payment_id
  where (k.email, k.firstname, k.lastname, k.search_text) = (w.email, w.firstname, w.lastname, w.search_text)
    and (w.country is null or w.country is not distinct from k.country)
    and (w.phone is null or w.phone is not distinct from k.phone)
),
written_customer as (
  insert into customers as c (
    merchant_id, id, email, email_key, firstname, lastname, country, phone, search_text, created_at, updated_at
  )
  select
    merchant_id, customer_id, email, email_key, firstname, lastname, country, phone, search_text, created_at, created_at
  from wanted_customer
  where (merchant_id, email_key) not in (select merchant_id, email_key from unchanged_customer)
  order by merchant_id, email_key
  on conflict (merchant_id, email_key) do update
  set
    email = excluded.email,
    firstname = excluded.firstname,
    lastname = excluded.lastname,
    country = coalesce(excluded.country, c.country),
    phone = coalesce(excluded.phone, c.phone),
    search_text = excluded.search_text,
    updated_at = case
      when (c.email, c.firstname, c.lastname, c.country, c.phone)
        is distinct from (
          excluded.email, excluded.firstname, excluded.lastname, coalesce(excluded.country, c.country),
          coalesce(excluded.phone, c.phone)
        )
      then excluded.updated_at
      else c.updated_at
    end
  returning c.merchant_id, c.id, c.email_key
),
customer as (
  select merchant_id, id, email_key
  from written_customer
  union all
  select merchant_id, id, email_key
  from unchanged_customer
),
-- A new customer has the id that one of these payments carries.
customer_event as (
  insert into events (merchant_id, id, type, resource_type, resource_id, version, body, created_at)
  select
    f.merchant_id, f.customer_event_id, 'customer.created', 'customer', c.id, 1,
    f.envelope || jsonb_build_object(
      'id', f.customer_event_id,
      'type', 'customer.created',
      'resource', jsonb_build_object('type', 'customer', 'uuid', c.id, 'version', 1),
      'data', jsonb_build_object(
        'uuid', c.id, 'firstname', f.customer_firstname, 'lastname', f.customer_lastname,
        'email', f.customer_email, 'country', f.customer_country, 'phone', f.customer_phone, 'metadata', '{}'::jsonb, 'status', 'active', 'statusReason', null,
        'totals', jsonb_build_object('successfulPayments', 0, 'lastPaymentAt', null),
        'createdAt', f.envelope -> 'createdAt', 'updatedAt', f.envelope -> 'createdAt'
      )
    ),
    f.created_at
  from fresh f
  join customer c on c.merchant_id = f.merchant_id and c.id = f.customer_id
  returning 1
),
payment as (
  insert into payments (customer_id, access_hash, ${PAYMENT.list(GIVEN)})
  select c.id, decode(f.access_hash, 'hex'), ${PAYMENT.list(GIVEN, 'f')}
  from fresh f
  join customer c on c.merchant_id = f.merchant_id and c.email_key = f.email_key
  returning id as payment_id, customer_id
),
attempt as (
  insert into attempts (${ATTEMPT.list(NEW_ATTEMPT)})
  select t.*
  from fresh f
  cross join lateral jsonb_to_record(f.attempt) as t (${ATTEMPT.recordset(NEW_ATTEMPT)})
  where f.attempt is not null
  returning 1
),
event as (
  insert into events (merchant_id, id, type, resource_type, resource_id, version, packed, created_at)
  select
    f.merchant_id, f.event_id, f.event_type, case f.kind when 'charge' then 'charge' else 'payment' end, f.id, f.version,
    f.event_packed || uuid_send(p.customer_id), f.created_at
  from fresh f
  join payment p on p.payment_id = f.id
  returning 1
)
select payment_id as "paymentId", customer_id as "customerId", null as rejection
from payment
union all
select payment_id, null, rejection
from rejected`

/** One result for each input. */
export async function recordPayments(db: Db, inputs: readonly RecordInput[]): Promise<RecordResult[]> {
  const rows = await db.query(recordPaymentsStatement, [RECORD.toJson(inputs, SENT)])
  const rowsByPayment = new Map(rows.map((row) => [row.paymentId, row]))
  return inputs.map((input): RecordResult => {
    const row = rowsByPayment.get(input.id)
    if (!row) return { kind: 'conflict' }
    const { customerId, rejection } = row
    return customerId === null ? { kind: rejection ?? 'blocked' } : { kind: 'recorded', customerId }
  })
}
