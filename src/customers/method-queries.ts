// Every statement over saved payment methods, except the one that records their use with the outcome of a payment.

import { type Db, sql, type Tx } from '../kit/db/db.ts'
import { firstRow } from '../kit/db/rows.ts'
import {
  METHOD,
  type MethodByTokenRow,
  type MethodRow,
  NEW_METHOD,
  type NewMethod,
  type TokenLookup,
} from './method.ts'

const METHOD_COLUMNS = METHOD.select('m')

const selectMethods = sql<MethodRow>`
select ${METHOD_COLUMNS}
from payment_methods m
where m.merchant_id = $1 and m.customer_id = $2
order by m.created_at desc, m.id desc`

export async function listMethodRows(db: Db, merchantId: string, customerId: string): Promise<MethodRow[]> {
  return db.query(selectMethods, [merchantId, customerId])
}

const selectMethodsById = sql<MethodRow>`
select ${METHOD_COLUMNS}
from payment_methods m
where m.merchant_id = $1 and m.id = any ($2::uuid[])`

export async function listMethodRowsById(
  db: Db,
  merchantId: string,
  ids: readonly string[],
): Promise<MethodRow[]> {
  return db.query(selectMethodsById, [merchantId, ids])
}

const selectMethod = sql<MethodRow>`
select ${METHOD_COLUMNS}
from payment_methods m
where m.merchant_id = $1 and m.id = $2`

export async function findMethod(db: Db, merchantId: string, id: string): Promise<MethodRow | undefined> {
  return firstRow(db, selectMethod, [merchantId, id])
}

// The arrays are in sub-selects: otherwise PostgreSQL plans by their lengths, and plans again for every batch.
const selectMethodsByToken = sql<MethodByTokenRow & { n: number }>`
with input as (
  select *
  from unnest((select $1::uuid[]), (select $2::bytea[])) with ordinality as i (merchant_id, token_hash, n)
  limit (select cardinality($1::uuid[]))
)
select i.n::integer as n, ${METHOD_COLUMNS}, c.email_key as "emailKey"
from input i
join payment_methods m on m.merchant_id = i.merchant_id and m.token_hash = i.token_hash
join customers c on c.merchant_id = m.merchant_id and c.id = m.customer_id`

/** Returns the methods that were found, each with the number of its lookup, counted from 1. */
export async function listMethodRowsByToken(
  db: Db,
  lookups: readonly TokenLookup[],
): Promise<(MethodByTokenRow & { n: number })[]> {
  return db.query(selectMethodsByToken, [
    lookups.map(({ merchantId }) => merchantId),
    lookups.map(({ tokenHash }) => tokenHash),
  ])
}

interface SavedRow extends MethodRow {
  saveId: string | null
}

const IS_REACTIVATED = `(m.status = 'expired' and coalesce(excluded.expires_at > excluded.created_at, true))`

// A provider's token is valid for one account only, so the same card at another account of the gateway is another method.
// A method that was saved before keeps its id and token. Its credential is sealed for its own row, so a statement of its
// own writes the newer one. A renewed card reactivates an expired method.
const insertMethod = sql<SavedRow>`
with method as materialized (
  select i.*, d.id is null as is_default
  from jsonb_to_recordset($1::jsonb) as i (${NEW_METHOD.recordset()})
  left join payment_methods d on d.merchant_id = i.merchant_id and d.customer_id = i.customer_id and d.is_default
)
insert into payment_methods as m (${NEW_METHOD.list()}, is_default, last_used_at)
select ${NEW_METHOD.list()}, is_default, created_at
from method
on conflict (merchant_id, customer_id, gateway, account_id, fingerprint) where status <> 'revoked' do update
set
  card = excluded.card,
  currencies = excluded.currencies,
  expires_at = excluded.expires_at,
  is_recurring_intent = m.is_recurring_intent or excluded.is_recurring_intent,
  consent = coalesce(excluded.consent, m.consent),
  status = case when ${IS_REACTIVATED} then 'active' else m.status end,
  version = case when ${IS_REACTIVATED} then m.version + 1 else m.version end,
  is_default = m.is_default or (${IS_REACTIVATED} and excluded.is_default),
  save_id = case when ${IS_REACTIVATED} then excluded.save_id else m.save_id end
returning ${METHOD_COLUMNS}, m.save_id as "saveId"`

/** `isNew` is true if this save created the method or made it chargeable again. */
export async function upsertMethod(tx: Tx, method: NewMethod): Promise<{ row: MethodRow; isNew: boolean }> {
  const [row] = await tx.query(insertMethod, [JSON.stringify([NEW_METHOD.toRecord(method)])])
  if (!row) throw new Error('the upsert of a payment method returned no row')
  return { row, isNew: row.saveId === method.saveId }
}

const updateCredential = sql<MethodRow>`
update payment_methods m
set credential_sealed = $3
where m.merchant_id = $1 and m.id = $2
returning ${METHOD_COLUMNS}`

/** Stores the provider's newest token for a method that was saved before; it may be valid for longer. */
export async function replaceCredential(
  tx: Tx,
  merchantId: string,
  id: string,
  credentialSealed: string,
): Promise<MethodRow | undefined> {
  return firstRow(tx, updateCredential, [merchantId, id, credentialSealed])
}

const lockMethodStatement = sql<MethodRow>`
select ${METHOD_COLUMNS}
from payment_methods m
where m.merchant_id = $1 and m.customer_id = $2 and m.id = $3
for no key update of m`

export async function lockMethod(
  tx: Tx,
  merchantId: string,
  customerId: string,
  id: string,
): Promise<MethodRow | undefined> {
  return firstRow(tx, lockMethodStatement, [merchantId, customerId, id])
}

const revokeMethodStatement = sql<MethodRow>`
update payment_methods m
set status = 'revoked', is_default = false, version = m.version + 1
where m.merchant_id = $1 and m.id = $2 and m.status <> 'revoked'
returning ${METHOD_COLUMNS}`

export async function revokeMethodRow(
  tx: Tx,
  merchantId: string,
  id: string,
): Promise<MethodRow | undefined> {
  return firstRow(tx, revokeMethodStatement, [merchantId, id])
}

// Two statements, because the unique index that allows one default checks every row at once.
const clearDefaultStatement = sql<unknown>`
update payment_methods
set is_default = false
where merchant_id = $1 and customer_id = $2 and is_default and id <> $3`

const setDefaultStatement = sql<MethodRow>`
update payment_methods m
set is_default = true
where m.merchant_id = $1 and m.customer_id = $2 and m.id = $3 and m.status = 'active'
returning ${METHOD_COLUMNS}`

export async function setDefault(
  tx: Tx,
  merchantId: string,
  customerId: string,
  id: string,
): Promise<MethodRow | undefined> {
  await tx.query(clearDefaultStatement, [merchantId, customerId, id])
  return firstRow(tx, setDefaultStatement, [merchantId, customerId, id])
}

const chooseDefaultStatement = sql<unknown>`
with next as (
  select id
  from payment_methods
  where merchant_id = $1
    and customer_id = $2
    and status = 'active'
    and (expires_at is null or expires_at > $3)
  order by last_used_at desc nulls last, created_at desc, id desc
  limit 1
)
update payment_methods m
set is_default = true
from next
where m.merchant_id = $1
  and m.id = next.id
  and not exists (
    select 1
    from payment_methods d
    where d.merchant_id = $1 and d.customer_id = $2 and d.is_default
  )`

/** Makes the most recently used method the default of a customer without a default. */
export async function chooseDefault(
  tx: Tx,
  merchantId: string,
  customerId: string,
  now: Date,
): Promise<void> {
  await tx.query(chooseDefaultStatement, [merchantId, customerId, now])
}

const expireMethodsStatement = sql<MethodRow>`
with due as (
  select merchant_id, id
  from payment_methods
  where status = 'active' and expires_at <= $1
  order by expires_at
  limit $2
  for update skip locked
)
update payment_methods m
set status = 'expired', is_default = false, version = m.version + 1
from due d
where m.merchant_id = d.merchant_id and m.id = d.id
returning ${METHOD_COLUMNS}`

/** Marks methods as expired whose time is over. */
export async function expireMethodRows(tx: Tx, now: Date, limit: number): Promise<MethodRow[]> {
  return tx.query(expireMethodsStatement, [now, limit])
}
