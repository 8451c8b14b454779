// Generates a merchant's history inside PostgreSQL: customers, and payments with their attempts, moves, ledger entries,
// statement lines, events and deliveries. One payment in ten is a charge that was declined; one in fifty was partly
// refunded.

import type pg from 'pg'

export const FIRSTNAMES =
  splitWords(`Amina Kwame Fatou Chidi Zainab Tunde Ngozi Kofi Wanjiru Sekou Mariam Yaw Abena Juma
  Halima Emeka Aicha Thabo Lindiwe Baraka Nia Oumar Adjoa Femi Salma Kagiso Ifeoma Moussa Akosua Jabari Rehema Sipho
  Asha Bakary Chiamaka Desta Esi Gideon Hawa Imani`)
export const LASTNAMES =
  splitWords(`Odhiambo Mensah Diallo Okafor Mwangi Bello Nkosi Traore Banda Otieno Adeyemi Kamau Sarr
  Asante Moyo Ndiaye Okoro Wanjiku Toure Dlamini Eze Kimani Boateng Sow Abebe Phiri Musa Achieng Owusu Keita Zulu Njoroge
  Ibrahim Osei Cisse Lungu Balogun Mutua Haile Appiah Sithole Kone Oyelaran Chebet Fofana Ncube Adomako Barasa Sesay
  Mahlangu Olawale Quaye Kiptoo Camara Tembo Nwosu Agyeman Wekesa Sane Mokoena`)

/** Of growth: the same at every size, so that a claim does the same work in larger tables. */
const DUE = 500

function splitWords(text: string): string[] {
  return text.split(/\s+/)
}

export interface HistorySize {
  customers: number
  payments: number
  /** Payments to poll, deliveries to make and settlements: the oldest ones. */
  due: number
  /** The time of the first rows. */
  from: Date
}

/** A quarter as many payments as customers. */
export const paymentCount = (rows: number): number => Math.min(rows, Math.max(DUE * 2, Math.floor(rows / 4)))

export const growthSize = (rows: number): HistorySize => ({
  customers: rows,
  payments: paymentCount(rows),
  due: DUE,
  from: new Date('2026-01-01T00:00:00Z'),
})

export const emailOf = (n: number): string =>
  `${nameOf(FIRSTNAMES, n)}.${nameOf(LASTNAMES, Math.floor(n / FIRSTNAMES.length))}${n}@mail${n % 7}.example`.toLowerCase()

export const nameOf = (names: readonly string[], n: number): string => names[n % names.length] ?? ''

export const referenceOf = (n: number): string => `order-${n}`

const array = (names: readonly string[]) => `array[${names.map((name) => `'${name}'`).join(', ')}]`

// Ids start with their time, as those of the service do, so that rows of one time are adjacent.
const id = (salt: string) => `(n.prefix || '78' || left(md5(${salt} || n.i), 18))::uuid`

const numbers = ({ customers, payments, due, from }: HistorySize) => `
create temp table numbers as
select
  i, t as at, lpad(to_hex((extract(epoch from t) * 1000)::bigint), 12, '0') as prefix,
  i % 10 <> 9 as is_paid, i % 50 = 1 as is_refunded, i >= ${due} as is_settled,
  100000 + i * 7919::bigint % 900001 as amount,
  (array['insufficient_funds', 'do_not_honor', 'card_expired'])[1 + i / 10 % 3] as failure
from generate_series(0, ${Math.max(customers, payments) - 1}) as i
cross join lateral (
  select timestamptz '${from.toISOString()}' + i * (interval '90 days' / ${Math.max(customers, payments)}) as t
) as times`

const customerRows = ({ customers, payments }: HistorySize) => `
insert into customers (
  merchant_id, id, email, email_key, firstname, lastname, phone, search_text, successful_payments, created_at, updated_at
)
select
  $merchant, ${id(`'customer'`)}, e, e, f, l, '+2547' || lpad((n.i * 7919::bigint % 100000000)::text, 8, '0'),
  lower(f || ' ' || l) || chr(10) || e,
  (select count(*) from generate_series(n.i, ${payments - 1}, ${customers}) as p where p % 10 <> 9), n.at, n.at
from (select * from numbers where i < ${customers}) as n
cross join lateral (
  select
    (${array(FIRSTNAMES)})[1 + n.i % ${FIRSTNAMES.length}] as f,
    (${array(LASTNAMES)})[1 + n.i / ${FIRSTNAMES.length} % ${LASTNAMES.length}] as l
) as names
cross join lateral (select lower(f || '.' || l) || n.i || '@mail' || n.i % 7 || '.example' as e) as mail`

const ENDPOINT = `'00000000-0000-7000-8000-0000000000e0'::uuid`
const REFUND_MINOR = 100
const STATUS = `case when not n.is_paid then 'failed' when n.is_refunded then 'partially_refunded' else 'successful' end`
/** The name of the events of a payment: a charge has its own. */
const RESOURCE = `case when n.is_paid then 'payment' else 'charge' end`

const paymentRows = ({ customers, payments, due }: HistorySize) => [
  `insert into payments (
    merchant_id, id, kind, reference, status, version, amount_minor, currency, amount_paid_minor, fee_minor,
    refunded_minor, gateway, channel, country, customer_id, customer_email, customer_firstname, customer_lastname,
    attempts_used, failure_code, failure_message, metadata, paid_at, created_at
  )
  select
    $merchant, ${id(`'payment'`)}, case when n.is_paid then 'checkout' else 'charge' end, 'order-' || n.i, ${STATUS},
    case when not n.is_paid then 2 when n.is_refunded then 4 else 3 end, n.amount, 'KES',
    case when n.is_paid then n.amount end, case when n.is_paid then 0 end,
    case when n.is_refunded then ${REFUND_MINOR} else 0 end, 'sandbox',
    case when not n.is_paid then 'saved' when n.i % 3 = 0 then 'mobile_money' else 'card' end, 'KE', c.id, c.email,
    c.firstname, c.lastname, 1, case when not n.is_paid then n.failure end,
    case when not n.is_paid then 'The payment was declined.' end,
    jsonb_build_object('order', n.i::text, 'shop', 'north'), case when n.is_paid then n.at end, n.at
  from (select * from numbers where i < ${payments}) as n
  join (select prefix, i from numbers) as o on o.i = n.i % ${customers}
  join customers c on c.merchant_id = $merchant and c.id = ${id(`'customer'`).replaceAll('n.', 'o.')}`,
  `insert into payment_references (
    merchant_id, reference, payment_id, fingerprint, created_at, amount_hundredths, metadata_terms
  )
  select
    merchant_id, reference, id, decode(md5(reference), 'hex'), created_at, hundredths_of(amount_minor, currency),
    metadata_terms(merchant_id, metadata)
  from payments
  where merchant_id = $merchant`,
  // As the background folds them.
  `insert into collection_sums
  select
    merchant_id, grain, date_trunc(unit, starts_at, 'UTC'), currency, case when is_total then '' else gateway end,
    case when is_total then '' else channel end, case when is_total then '' else status end, sum(payments),
    sum(paid_payments), sum(unknown_fees), sum(amount_minor), sum(paid_minor), sum(fee_minor), sum(refunded_minor)
  from payment_sums cross join collection_grains
  where merchant_id = $merchant
  group by 1, 2, 3, 4, 5, 6, 7`,
  `insert into attempts (
    merchant_id, id, payment_id, number, operation, gateway, channel, status, gateway_key, gateway_reference,
    receipt_number, failure_code, failure_message, paid_minor, paid_currency, started_at, ended_at, due_at
  )
  select
    $merchant, ${id(`'attempt'`)}, ${id(`'payment'`)}, 1, case when n.is_paid then 'checkout' else 'charge' end, 'sandbox',
    case when not n.is_paid then 'saved' when n.i % 3 = 0 then 'mobile_money' else 'card' end,
    case when n.is_paid then 'succeeded' else 'declined' end, ${id(`'key'`)}, 'sandbox-' || n.i,
    case when n.is_paid and n.i % 3 = 0 then 'MP' || lpad(n.i::text, 8, '0') end,
    case when not n.is_paid then n.failure end, case when not n.is_paid then 'The payment was declined.' end,
    case when n.is_paid then n.amount end, case when n.is_paid then 'KES' end, n.at, n.at,
    case when n.i < ${due} then n.at end
  from (select * from numbers where i < ${payments}) as n`,
  `insert into moves (merchant_id, payment_id, version, from_status, to_status, proof, source, attempt_id, at)
  select
    $merchant, ${id(`'payment'`)}, v, (array[null, 'pending', 'processing', 'successful'])[v],
    (array[null, 'processing', 'successful', 'partially_refunded'])[v], case when v >= 3 then 'gateway' end,
    'bench', case when v in (2, 3) then ${id(`'attempt'`)} end, n.at
  from (select * from numbers where i < ${payments} and is_paid) as n, generate_series(2, 4) as v
  where v < 4 or n.is_refunded
  union all
  select
    $merchant, ${id(`'payment'`)}, 2, 'processing', 'failed', 'declined', 'bench', ${id(`'attempt'`)}, n.at
  from (select * from numbers where i < ${payments} and not is_paid) as n`,
]

const refundRows = ({ payments }: HistorySize) => [
  `insert into refund_references (merchant_id, reference, refund_id, fingerprint)
  select $merchant, 'refund-' || n.i, ${id(`'refund row'`)}, decode(md5(n.i::text), 'hex')
  from (select * from numbers where i < ${payments} and is_refunded) as n`,
  `insert into refunds (
    merchant_id, id, payment_id, payment_reference, attempt_id, attempt_key, attempt_reference, gateway, status, version,
    amount_minor, currency, is_full, reason, gateway_key, gateway_reference, submitted_at, created_at, updated_at,
    refund_reference, source
  )
  select
    $merchant, ${id(`'refund row'`)}, ${id(`'payment'`)}, 'order-' || n.i, ${id(`'attempt'`)}, ${id(`'key'`)},
    'sandbox-' || n.i, 'sandbox', 'successful', 2, ${REFUND_MINOR}, 'KES', false, 'Returned', ${id(`'refund key'`)},
    'sandbox-refund-' || n.i, n.at, n.at, n.at, 'refund-' || n.i, 'api'
  from (select * from numbers where i < ${payments} and is_refunded) as n`,
]

/** The lines of the ledger, of which those of the merchant's accounts are the statement. */
const ledgerRows = ({ payments, due }: HistorySize) => [
  `create temp table ledger_lines as
  select n.i, step, k, p, a, m, row_number() over (order by n.i, step, p) as number
  from (select * from numbers where i < ${payments} and is_paid) as n
  cross join lateral (
    values
      (1, 'capture', 1, 'gateway:sandbox', -n.amount), (1, 'capture', 2, 'pending', n.amount),
      (2, 'settlement', 1, 'pending', -n.amount), (2, 'settlement', 2, 'available', n.amount),
      (3, 'refund', 1, 'available', -${REFUND_MINOR}), (3, 'refund', 2, 'gateway:sandbox', ${REFUND_MINOR})
  ) as lines (step, k, p, a, m)
  where step = 1 or (step = 2 and n.is_settled) or (step = 3 and n.is_refunded)`,
  `insert into ledger_entries (merchant_id, id, kind, payment_id, attempt_id, refund_id, at)
  select
    $merchant, ${id('k')}, k, ${id(`'payment'`)}, case when k = 'capture' then ${id(`'attempt'`)} end,
    case when k = 'refund' then ${id(`'refund row'`)} end, n.at
  from ledger_lines join numbers as n using (i)
  where p = 1`,
  `insert into postings (merchant_id, entry_id, position, account, currency, amount_minor)
  select $merchant, ${id('k')}, p, a, 'KES', m
  from ledger_lines join numbers as n using (i)`,
  `insert into wallet_lines (
    merchant_id, currency, number, kind, account, amount_minor, available_minor, pending_minor, payment_id, entry_id,
    position, created_at
  )
  select
    $merchant, 'KES', row_number() over (order by number), k, a, m,
    coalesce(sum(m) filter (where a = 'available') over (order by number), 0),
    coalesce(sum(m) filter (where a = 'pending') over (order by number), 0), ${id(`'payment'`)}, ${id('k')}, p, n.at
  from ledger_lines join numbers as n using (i)
  where a in ('available', 'pending')`,
  `insert into balances (merchant_id, currency, available_minor, pending_minor, lines, updated_at)
  select merchant_id, currency, available_minor, pending_minor, number, created_at
  from wallet_lines
  where merchant_id = $merchant
  order by number desc
  limit 1`,
  `insert into pending_settlements (merchant_id, payment_id, currency, amount_minor, due_at)
  select $merchant, ${id(`'payment'`)}, 'KES', n.amount, n.at
  from (select * from numbers where i < ${Math.min(due, payments)} and is_paid) as n`,
]

const eventRows = ({ payments, due }: HistorySize) => [
  `insert into webhook_endpoints (
    merchant_id, id, url, events, status, secret_sealed, secret_request_id, checked_from, created_at, updated_at
  )
  values (
    $merchant, ${ENDPOINT}, 'http://127.0.0.1:9/', '{*}', 'enabled', 'v1.bench', gen_random_uuid(), 'infinity',
    '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z'
  )`,
  `insert into events (merchant_id, id, type, resource_type, resource_id, version, body, created_at)
  select
    $merchant, ${id(`'event' || m.version`)}, e.type, ${RESOURCE}, m.payment_id, m.version,
    jsonb_build_object(
      'id', ${id(`'event' || m.version`)}, 'type', e.type, 'apiVersion', '1.0', 'mode', 'test',
      'createdAt', '2026-01-01T00:00:00.000Z',
      'resource', jsonb_build_object('type', ${RESOURCE}, 'uuid', m.payment_id, 'version', m.version),
      'data', jsonb_build_object('reference', 'order-' || n.i, 'sourceAmount', '1250.50', 'sourceCurrency', 'KES')
    ),
    n.at
  from (select * from numbers where i < ${payments}) as n
  join (
    select id as payment_id, 1 as version, case kind when 'charge' then 'processing' else 'pending' end as to_status
    from payments
    where merchant_id = $merchant
    union all
    select payment_id, version, to_status
    from moves
    where merchant_id = $merchant
  ) m on m.payment_id = ${id(`'payment'`)}
  cross join lateral (
    select ${RESOURCE} || '.' || case m.to_status when 'partially_refunded' then 'refunded' else m.to_status end as type
  ) as e`,
  `insert into events (merchant_id, id, type, resource_type, resource_id, version, body, created_at)
  select
    $merchant, ${id(`'refund event' || v`)}, e.type, 'refund', ${id(`'refund row'`)}, v,
    jsonb_build_object(
      'id', ${id(`'refund event' || v`)}, 'type', e.type, 'apiVersion', '1.0', 'mode', 'test',
      'createdAt', '2026-01-01T00:00:00.000Z',
      'resource', jsonb_build_object('type', 'refund', 'uuid', ${id(`'refund row'`)}, 'version', v),
      'data', jsonb_build_object('refundReference', 'refund-' || n.i, 'amount', '1.00', 'currency', 'KES')
    ),
    n.at
  from (select * from numbers where i < ${payments} and is_refunded) as n, generate_series(1, 2) as v
  cross join lateral (select (array['refund.pending', 'refund.successful'])[v] as type) as e`,
  `insert into deliveries (
    merchant_id, event_id, endpoint_id, resource_type, resource_id, version, status, due_at, finished_at, attempt_count, created_at
  )
  select
    $merchant, ${id(`'event' || v`)}, ${ENDPOINT}, ${RESOURCE}, ${id(`'payment'`)}, v,
    case when n.i < ${due} then 'pending' else 'delivered' end, case when n.i < ${due} then n.at end,
    case when n.i >= ${due} then n.at end, 1, n.at
  from (select *, case when is_paid then 3 else 2 end as v from numbers where i < ${payments}) as n`,
]

interface IndexRow {
  name: string
  definition: string
}

const PLAIN_INDEXES = `
select indexname as name, indexdef as definition
from pg_indexes
where schemaname = current_schema() and indexdef not like 'CREATE UNIQUE %' and indexdef not like '% ONLY %'`

/** Fills the tables for one merchant; `onStep` gets the name of the next step. */
export async function makeRows(
  client: pg.Client,
  merchantId: string,
  size: HistorySize,
  onStep: (label: string) => void,
): Promise<void> {
  const whose = `of ${size.customers} customers`
  await client.query(numbers(size))
  await client.query('create index on numbers (i)')
  await client.query('analyze numbers')
  // Disables foreign keys and triggers; indexes are created afterwards.
  await client.query('set session_replication_role = replica')
  const { rows: indexes } = await client.query<IndexRow>(PLAIN_INDEXES)
  for (const { name } of indexes) await client.query(`drop index ${name}`)
  for (const text of [customerRows, paymentRows, refundRows, ledgerRows, eventRows].flatMap((rowsOf) =>
    rowsOf(size),
  )) {
    onStep(`${/(?:insert into|temp table) (\w+)/.exec(text)?.[1]} ${whose}`)
    await client.query(text.replaceAll('$merchant', `'${merchantId}'::uuid`))
  }
  onStep(`indexes ${whose}`)
  await client.query(`set maintenance_work_mem = '512MB'`)
  for (const { definition } of indexes) await client.query(definition)
  onStep(`statistics ${whose}`)
  await client.query('vacuum analyze')
  await client.query('set session_replication_role = default')
}
