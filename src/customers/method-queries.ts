// Every statement over saved payment methods, except what the settle of a payment notes of their use.

import { type Db, sql, type Tx } from '../kit/db.ts'
import {
  METHOD_COLUMNS,
  type MethodByTokenRow,
  type MethodInput,
  type MethodRow,
  type TokenLookup,
} from './method.ts'

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
  const [row] = await db.query(selectMethod, [merchantId, id])
  return row
}

// In selects of their own, because from the arrays themselves the planner would see how many there are, and plan anew for
// every batch.
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

/** For each question its method; undefined where the merchant has no such token. */
export async function findMethodsByToken(
  db: Db,
  lookups: readonly TokenLookup[],
): Promise<(MethodByTokenRow | undefined)[]> {
  const rows = await db.query(selectMethodsByToken, [
    lookups.map(({ merchant_id }) => merchant_id),
    lookups.map(({ token_hash }) => token_hash),
  ])
  const found = new Map(rows.map(({ n, ...row }) => [n, row]))
  return lookups.map(({ merchant_id }, index) => {
    const method = found.get(index + 1)
    // This one is asked for several merchants at once, so the database's own wall does not stand behind it.
    if (method && method.merchantId !== merchant_id) throw new Error('a method of another merchant was found')
    return method
  })
}

interface SavedRow extends MethodRow {
  saveId: string | null
}

const HAS_NO_DEFAULT = `
  not exists (select 1 from payment_methods d where d.merchant_id = $1 and d.customer_id = $3 and d.is_default)`

const IS_REACTIVATED = `(m.status = 'expired' and coalesce(excluded.expires_at > excluded.created_at, true))`

// The same card at another account of the gateway is another method: a provider's token is good for one account only.
// A method that was saved before keeps its id and token. Its credential is sealed for its own row, so the newer one is
// written by a statement of its own. One that had expired is alive again when the card was renewed.
const insertMethod = sql<SavedRow>`
insert into payment_methods as m (
  merchant_id, id, customer_id, type, gateway, fingerprint, token_hash, token_sealed, credential_sealed, currencies,
  card, mobile_money, is_default, is_recurring_intent, expires_at, last_used_at, created_at,
  account_id, save_id
)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, ${HAS_NO_DEFAULT}, $13, $14, $15, $15, $16, $17)
on conflict (merchant_id, customer_id, gateway, account_id, fingerprint) where status <> 'revoked' do update
set
  card = excluded.card,
  currencies = excluded.currencies,
  expires_at = excluded.expires_at,
  is_recurring_intent = m.is_recurring_intent or excluded.is_recurring_intent,
  status = case when ${IS_REACTIVATED} then 'active' else m.status end,
  version = case when ${IS_REACTIVATED} then m.version + 1 else m.version end,
  is_default = m.is_default or (${IS_REACTIVATED} and excluded.is_default),
  save_id = case when ${IS_REACTIVATED} then excluded.save_id else m.save_id end
returning ${METHOD_COLUMNS}, m.save_id as "saveId"`

/** `isNews` when this saving made the method, or made it chargeable again. */
export async function upsertMethod(tx: Tx, input: MethodInput): Promise<{ row: MethodRow; isNew: boolean }> {
  const [row] = await tx.query(insertMethod, [
    input.merchantId,
    input.id,
    input.customerId,
    input.type,
    input.gateway,
    input.fingerprint,
    input.tokenHash,
    input.tokenSealed,
    input.credentialSealed,
    input.currencies,
    input.card === null ? null : JSON.stringify(input.card),
    input.mobileMoney === null ? null : JSON.stringify(input.mobileMoney),
    input.isRecurringIntent,
    input.expiresAt,
    input.at,
    input.accountId,
    input.saveId,
  ])
  if (!row) throw new Error('an upsert returns its row')
  return { row, isNew: row.saveId === input.saveId }
}

const updateCredential = sql<MethodRow>`
update payment_methods m
set credential_sealed = $3
where m.merchant_id = $1 and m.id = $2
returning ${METHOD_COLUMNS}`

/** The provider's newest token for a method that was saved before; it may live longer than the one we have. */
export async function replaceCredential(
  tx: Tx,
  merchantId: string,
  id: string,
  credentialSealed: string,
): Promise<MethodRow | undefined> {
  const [row] = await tx.query(updateCredential, [merchantId, id, credentialSealed])
  return row
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
  const [row] = await tx.query(lockMethodStatement, [merchantId, customerId, id])
  return row
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
  const [row] = await tx.query(revokeMethodStatement, [merchantId, id])
  return row
}

// One after the other, because the index that allows one default looks at every row that is written.
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
  const [row] = await tx.query(setDefaultStatement, [merchantId, customerId, id])
  return row
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

/** The method that was used last becomes the default of a customer who has none. */
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

/** Writes down that the time of these methods is over. */
export async function expireMethodRows(tx: Tx, now: Date, limit: number): Promise<MethodRow[]> {
  return tx.query(expireMethodsStatement, [now, limit])
}
