// Generates a merchant's history inside PostgreSQL: any number of customers and postings, a quarter as many payments
// with attempts, moves, events, deliveries and statement lines. The number of due rows is the same at every size, so
// that a claim does the same work in larger tables.

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

/** Due rows at every size: payments to poll, deliveries to make, settlements. */
export const DUE = 500

function splitWords(text: string): string[] {
  return text.split(/\s+/)
}

export const paymentCount = (rows: number): number => Math.min(rows, Math.max(DUE * 2, Math.floor(rows / 4)))

export const emailOf = (n: number): string =>
  `${nameOf(FIRSTNAMES, n)}.${nameOf(LASTNAMES, Math.floor(n / FIRSTNAMES.length))}${n}@mail${n % 7}.example`.toLowerCase()

export const nameOf = (names: readonly string[], n: number): string => names[n % names.length] ?? ''

export const referenceOf = (n: number): string => `order-${n}`

const array = (names: readonly string[]) => `array[${names.map((name) => `'${name}'`).join(', ')}]`

// Ids start with their time, as those of the service do, so that rows of one time are adjacent.
const id = (salt: string) => `(n.prefix || '78' || left(md5(${salt} || n.i), 18))::uuid`

const numbers = (rows: number) => `
create temp table numbers as
select i, t as at, lpad(to_hex((extract(epoch from t) * 1000)::bigint), 12, '0') as prefix
from generate_series(0, ${rows - 1}) as i
cross join lateral (select timestamptz '2026-01-01T00:00:00Z' + i * (interval '90 days' / ${rows}) as t) as times`

const customers = (rows: number) => `
insert into customers (
  merchant_id, id, email, email_key, firstname, lastname, phone, search_text, successful_payments, created_at, updated_at
)
select
  $merchant, ${id(`'customer'`)}, e, e, f, l, '+2547' || lpad((n.i * 7919::bigint % 100000000)::text, 8, '0'),
  lower(f || ' ' || l) || chr(10) || e, 1, n.at, n.at
from (select * from numbers where i < ${rows}) as n
cross join lateral (
  select
    (${array(FIRSTNAMES)})[1 + n.i % ${FIRSTNAMES.length}] as f,
    (${array(LASTNAMES)})[1 + n.i / ${FIRSTNAMES.length} % ${LASTNAMES.length}] as l
) as names
cross join lateral (select lower(f || '.' || l) || n.i || '@mail' || n.i % 7 || '.example' as e) as mail`

const AMOUNT = 125_050
const ENDPOINT = `'00000000-0000-7000-8000-0000000000e0'::uuid`

// Due settlements have no settlement entry yet.
const isSettled = (kind: string) => `(${kind} = 'capture' or n.i >= ${DUE})`

const paymentRows = (payments: number) => [
  `insert into payment_references (merchant_id, reference, payment_id, fingerprint, created_at)
  select $merchant, 'order-' || n.i, ${id(`'payment'`)}, decode(md5(n.i::text), 'hex'), n.at
  from (select * from numbers where i < ${payments}) as n`,
  `insert into payments (
    merchant_id, id, kind, reference, status, version, amount_minor, currency, amount_paid_minor, fee_minor, gateway,
    channel, country, customer_id, customer_email, customer_firstname, customer_lastname, attempts_used, metadata, paid_at,
    created_at
  )
  select
    $merchant, ${id(`'payment'`)}, 'checkout', 'order-' || n.i, 'successful', 3, ${AMOUNT}, 'KES', ${AMOUNT}, 0, 'sandbox',
    'card', 'KE', c.id, c.email, c.firstname, c.lastname, 1, jsonb_build_object('order', n.i::text, 'shop', 'north'), n.at, n.at
  from (select * from numbers where i < ${payments}) as n
  join customers c on c.merchant_id = $merchant and c.id = ${id(`'customer'`)}`,
  // As the background folds them.
  `insert into collection_sums
  select
    merchant_id, grain, case when grain = 'month' then date_trunc('month', day)::date else day end, currency,
    case when grain = 'day_total' then '' else gateway end, case when grain = 'day_total' then '' else channel end,
    case when grain = 'day_total' then '' else status end, sum(payments), sum(paid_payments), sum(unknown_fees),
    sum(amount_minor), sum(paid_minor), sum(fee_minor), sum(refunded_minor)
  from payment_sums cross join (values ('day'), ('day_total'), ('month')) as g (grain)
  where merchant_id = $merchant
  group by 1, 2, 3, 4, 5, 6, 7`,
  `insert into attempts (
    merchant_id, id, payment_id, number, operation, gateway, channel, status, gateway_key, gateway_reference, paid_minor,
    paid_currency, started_at, ended_at, due_at
  )
  select
    $merchant, ${id(`'attempt'`)}, ${id(`'payment'`)}, 1, 'checkout', 'sandbox', 'card', 'succeeded',
    ${id(`'key'`)}, 'sandbox-' || n.i, ${AMOUNT}, 'KES', n.at, n.at,
    case when n.i < ${DUE} then n.at end
  from (select * from numbers where i < ${payments}) as n`,
  `insert into moves (merchant_id, payment_id, version, from_status, to_status, proof, source, at)
  select
    $merchant, ${id(`'payment'`)}, v, (array[null, 'pending', 'processing'])[v],
    (array['pending', 'processing', 'successful'])[v], case when v = 3 then 'gateway' end, 'bench', n.at
  from (select * from numbers where i < ${payments}) as n, generate_series(1, 3) as v`,
  `insert into ledger_entries (merchant_id, id, kind, payment_id, attempt_id, at)
  select
    $merchant, ${id(`k`)}, k, ${id(`'payment'`)}, case when k = 'capture' then ${id(`'attempt'`)} end,
    n.at
  from (select * from numbers where i < ${payments}) as n, unnest(array['capture', 'settlement']) as k
  where ${isSettled('k')}`,
  `insert into postings (merchant_id, entry_id, position, account, currency, amount_minor)
  select $merchant, ${id(`k`)}, p, a, 'KES', m
  from (select * from numbers where i < ${payments}) as n,
    (
      values
        ('capture', 1, 'gateway:sandbox', -${AMOUNT}), ('capture', 2, 'pending', ${AMOUNT}),
        ('settlement', 1, 'pending', -${AMOUNT}), ('settlement', 2, 'available', ${AMOUNT})
    ) as lines (k, p, a, m)
  where ${isSettled('k')}`,
  `insert into wallet_lines (
    merchant_id, currency, number, kind, account, amount_minor, available_minor, pending_minor, payment_id, entry_id,
    position, created_at
  )
  select
    $merchant, 'KES', n.i * 3::bigint + step, k, a, m, (n.i + step / 3)::bigint * ${AMOUNT}, case step when 1 then ${AMOUNT} else 0 end,
    ${id(`'payment'`)}, ${id(`k`)}, p, n.at
  from (select * from numbers where i < ${payments}) as n,
    (
      values
        (1, 'capture', 2, 'pending', ${AMOUNT}), (2, 'settlement', 1, 'pending', -${AMOUNT}),
        (3, 'settlement', 2, 'available', ${AMOUNT})
    ) as lines (step, k, p, a, m)
  where ${isSettled('k')}`,
  `insert into balances (merchant_id, currency, available_minor, pending_minor, lines, updated_at)
  values ($merchant, 'KES', ${payments}::bigint * ${AMOUNT}, 0, ${payments} * 3, '2026-04-01T00:00:00Z')`,
  `insert into pending_settlements (merchant_id, payment_id, currency, amount_minor, due_at)
  select $merchant, ${id(`'payment'`)}, 'KES', ${AMOUNT}, n.at
  from (select * from numbers where i < ${DUE}) as n`,
]

const eventRows = (payments: number) => [
  `insert into webhook_endpoints (
    merchant_id, id, url, events, status, secret_sealed, secret_request_id, checked_from, created_at, updated_at
  )
  values (
    $merchant, ${ENDPOINT}, 'http://127.0.0.1:9/', '{*}', 'enabled', 'v1.bench', gen_random_uuid(), 'infinity',
    '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z'
  )`,
  `insert into events (merchant_id, id, type, resource_type, resource_id, version, body, created_at)
  select
    $merchant, ${id(`'event' || v`)}, (array['payment.pending', 'payment.processing', 'payment.successful'])[v],
    'payment', ${id(`'payment'`)}, v,
    jsonb_build_object(
      'id', ${id(`'event' || v`)}, 'type', (array['payment.pending', 'payment.processing', 'payment.successful'])[v],
      'apiVersion', '1.0', 'mode', 'test', 'createdAt', '2026-01-01T00:00:00.000Z',
      'resource', jsonb_build_object('type', 'payment', 'uuid', ${id(`'payment'`)}, 'version', v),
      'data', jsonb_build_object('reference', 'order-' || n.i, 'sourceAmount', '1250.50', 'sourceCurrency', 'KES')
    ),
    n.at
  from (select * from numbers where i < ${payments}) as n, generate_series(1, 3) as v`,
  `insert into deliveries (
    merchant_id, event_id, endpoint_id, resource_type, resource_id, version, status, due_at, finished_at, attempt_count, created_at
  )
  select
    $merchant, ${id(`'event' || 3`)}, ${ENDPOINT}, 'payment', ${id(`'payment'`)}, 3,
    case when n.i < ${DUE} then 'pending' else 'delivered' end, case when n.i < ${DUE} then n.at end,
    case when n.i >= ${DUE} then n.at end, 1, n.at
  from (select * from numbers where i < ${payments}) as n`,
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
  rows: number,
  onStep: (label: string) => void,
): Promise<void> {
  const payments = paymentCount(rows)
  await client.query(numbers(Math.max(rows, payments)))
  await client.query('create index on numbers (i)')
  await client.query('analyze numbers')
  // Disables foreign keys and triggers; indexes are created afterwards.
  await client.query('set session_replication_role = replica')
  const { rows: indexes } = await client.query<IndexRow>(PLAIN_INDEXES)
  for (const { name } of indexes) await client.query(`drop index ${name}`)
  for (const text of [customers(rows), ...paymentRows(payments), ...eventRows(payments)]) {
    onStep(`${/insert into (\w+)/.exec(text)?.[1]} of ${rows} customers`)
    await client.query(text.replaceAll('$merchant', `'${merchantId}'::uuid`))
  }
  onStep(`indexes of ${rows} customers`)
  await client.query(`set maintenance_work_mem = '512MB'`)
  for (const { definition } of indexes) await client.query(definition)
  onStep(`statistics of ${rows} customers`)
  await client.query('vacuum analyze')
  await client.query('set session_replication_role = default')
}
