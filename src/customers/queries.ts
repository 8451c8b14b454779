// Every statement over customers and their saved methods, except the upsert inside the record of a payment.

import type { Currency } from '../core/currency.ts'
import { COUNT_CAP } from '../core/page.ts'
import { type Db, sql } from '../kit/db.ts'

export interface CustomerRow {
  id: string
  email: string
  firstname: string
  lastname: string
  country: string | null
  phone: string | null
  metadata: Record<string, unknown>
  status: 'active' | 'blocked'
  successfulPayments: bigint
  lastPaymentAt: Date | null
  createdAt: Date
  updatedAt: Date
}

const CUSTOMER_COLUMNS = `
  id, email, firstname, lastname, country, phone, metadata, status,
  successful_payments as "successfulPayments", last_payment_at as "lastPaymentAt", created_at as "createdAt",
  updated_at as "updatedAt"`

const selectCustomer = sql<CustomerRow>`
select ${CUSTOMER_COLUMNS}
from customers
where merchant_id = $1 and id = $2`

export async function findCustomer(db: Db, merchantId: string, id: string): Promise<CustomerRow | undefined> {
  const [row] = await db.query(selectCustomer, [merchantId, id])
  return row
}

export interface CustomerFilter {
  /** A like pattern, already escaped. */
  pattern: string | null
  createdFrom: Date | null
  createdTo: Date | null
}

const FILTER = `
  merchant_id = $1
  and ($2::text is null or search_text like $2)
  and ($3::timestamptz is null or created_at >= $3)
  and ($4::timestamptz is null or created_at <= $4)`

const countCustomersStatement = sql<{ total: number }>`
select count(*)::integer as total
from (
  select 1
  from customers
  where ${FILTER}
  limit ${String(COUNT_CAP + 1)}
) counted`

/** At most one more than the cap, which is how the caller knows that there are more. */
export async function countCustomers(db: Db, merchantId: string, filter: CustomerFilter): Promise<number> {
  const [row] = await db.query(countCustomersStatement, [merchantId, ...filterValues(filter)])
  return row?.total ?? 0
}

const selectNewestCustomers = sql<CustomerRow>`
select ${CUSTOMER_COLUMNS}
from customers
where ${FILTER}
  and ($5::timestamptz is null or (created_at, id) < ($5, $6::uuid))
order by created_at desc, id desc
limit $7
offset $8`

const selectOldestCustomers = sql<CustomerRow>`
select ${CUSTOMER_COLUMNS}
from customers
where ${FILTER}
  and ($5::timestamptz is null or (created_at, id) > ($5, $6::uuid))
order by created_at, id
limit $7
offset $8`

export interface ListWindow {
  order: 'asc' | 'desc'
  after: { at: Date; id: string } | null
  limit: number
  offset: number
}

export async function listCustomerRows(
  db: Db,
  merchantId: string,
  filter: CustomerFilter,
  window: ListWindow,
): Promise<CustomerRow[]> {
  const statement = window.order === 'desc' ? selectNewestCustomers : selectOldestCustomers
  const after = [window.after?.at ?? null, window.after?.id ?? null]
  return db.query(statement, [merchantId, ...filterValues(filter), ...after, window.limit, window.offset])
}

const filterValues = (filter: CustomerFilter) => [filter.pattern, filter.createdFrom, filter.createdTo]

export interface MethodRow {
  merchantId: string
  id: string
  customerId: string
  type: 'card' | 'mobile_money' | 'bank_account'
  status: 'active' | 'expired' | 'revoked'
  gateway: string
  /** The merchant's own account at the gateway; null is the installation's. */
  accountId: string | null
  tokenSealed: string
  credentialSealed: string
  currencies: Currency[]
  card: {
    brand: string
    last4: string
    expiryMonth: number
    expiryYear: number
    country: string | null
  } | null
  mobileMoney: { network: string; phone: string } | null
  isDefault: boolean
  isRecurringIntent: boolean
  expiresAt: Date | null
  lastUsedAt: Date | null
  createdAt: Date
}

const METHOD_COLUMNS = `
  m.merchant_id as "merchantId", m.id, m.customer_id as "customerId", m.type, m.status, m.gateway,
  m.account_id as "accountId",
  m.token_sealed as "tokenSealed", m.credential_sealed as "credentialSealed", m.currencies, m.card,
  m.mobile_money as "mobileMoney", m.is_default as "isDefault", m.is_recurring_intent as "isRecurringIntent",
  m.expires_at as "expiresAt", m.last_used_at as "lastUsedAt", m.created_at as "createdAt"`

const selectMethods = sql<MethodRow>`
select ${METHOD_COLUMNS}
from payment_methods m
where m.merchant_id = $1 and m.customer_id = $2
order by m.created_at desc, m.id desc`

export async function listMethodRows(db: Db, merchantId: string, customerId: string): Promise<MethodRow[]> {
  return db.query(selectMethods, [merchantId, customerId])
}

const selectMethod = sql<MethodRow>`
select ${METHOD_COLUMNS}
from payment_methods m
where m.merchant_id = $1 and m.id = $2`

export async function findMethod(db: Db, merchantId: string, id: string): Promise<MethodRow | undefined> {
  const [row] = await db.query(selectMethod, [merchantId, id])
  return row
}

export interface MethodByTokenRow extends MethodRow {
  emailKey: string
}

const selectMethodByToken = sql<MethodByTokenRow>`
select ${METHOD_COLUMNS}, c.email_key as "emailKey"
from payment_methods m
join customers c on c.merchant_id = m.merchant_id and c.id = m.customer_id
where m.merchant_id = $1 and m.token_hash = $2`

export async function findMethodByTokenHash(
  db: Db,
  merchantId: string,
  tokenHash: Buffer,
): Promise<MethodByTokenRow | undefined> {
  const [row] = await db.query(selectMethodByToken, [merchantId, tokenHash])
  return row
}

export interface MethodInput {
  merchantId: string
  id: string
  customerId: string
  type: MethodRow['type']
  gateway: string
  accountId: string | null
  fingerprint: string
  tokenHash: Buffer
  tokenSealed: string
  credentialSealed: string
  currencies: string[]
  card: MethodRow['card']
  mobileMoney: MethodRow['mobileMoney']
  isRecurringIntent: boolean
  expiresAt: Date | null
  at: Date
}

// The same card at another account of the gateway is another method: a provider's token is good for one account only.
// A method that was saved before keeps its id and token. Its credential is sealed for its own row, so the newer one is
// written by a statement of its own.
const insertMethod = sql<MethodRow>`
insert into payment_methods as m (
  merchant_id, id, customer_id, type, gateway, fingerprint, token_hash, token_sealed, credential_sealed, currencies,
  card, mobile_money, is_default, is_recurring_intent, expires_at, last_used_at, created_at,
  account_id
)
values (
  $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
  not exists (select 1 from payment_methods d where d.merchant_id = $1 and d.customer_id = $3 and d.is_default),
  $13, $14, $15, $15, $16
)
on conflict (merchant_id, customer_id, gateway, account_id, fingerprint) do update
set
  card = excluded.card,
  currencies = excluded.currencies,
  expires_at = excluded.expires_at,
  is_recurring_intent = m.is_recurring_intent or excluded.is_recurring_intent
returning ${METHOD_COLUMNS}`

const updateCredential = sql<MethodRow>`
update payment_methods m
set credential_sealed = $3
where m.merchant_id = $1 and m.id = $2
returning ${METHOD_COLUMNS}`

/** The provider's newest token for a method that was saved before; it may live longer than the one we have. */
export async function replaceCredential(
  db: Db,
  merchantId: string,
  id: string,
  credentialSealed: string,
): Promise<MethodRow | undefined> {
  const [row] = await db.query(updateCredential, [merchantId, id, credentialSealed])
  return row
}

export async function upsertMethod(db: Db, input: MethodInput): Promise<MethodRow> {
  const [row] = await db.query(insertMethod, [
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
  ])
  if (!row) throw new Error('an upsert returns its row')
  return row
}
