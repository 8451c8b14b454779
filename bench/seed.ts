// Fills an empty database with the population: merchants with a key each, customers, and a saved card of each customer.

import { createHash } from 'node:crypto'
import { formatApiKey, hashSecret } from '../src/api-keys/key-format.ts'
import { searchTextOf } from '../src/core/search-text.ts'
import { systemClock } from '../src/kit/clock.ts'
import { createVault, type Vault } from '../src/kit/crypto.ts'
import { type Db, sql } from '../src/kit/db/db.ts'
import { systemRandom } from '../src/kit/random.ts'

import {
  CURRENCY,
  CUSTOMERS,
  customerRefOf,
  emailOf,
  FIRSTNAME,
  HOT_MERCHANT,
  idOf,
  keyIdOf,
  keySecretOf,
  LASTNAME,
  recurringTokenOf,
} from './population.ts'

// Secrets of a temporary database: constant, and varied enough for the service's checks.
const secretOf = (name: string) => createHash('sha256').update(`bench ${name}`).digest()
const ENCRYPTION_KEY = secretOf('encryption key')
const PEPPER = secretOf('pepper')

/** The settings that a service needs to read the seeded rows. */
export const SECRETS_ENV = {
  COWRY_ENCRYPTION_KEYS: `k1:${ENCRYPTION_KEY.toString('base64')}`,
  COWRY_KEY_PEPPER: PEPPER.toString('base64'),
  COWRY_SANDBOX_SECRET: 'the-sandbox-of-a-measurement-0123456789',
  COWRY_ADMIN_TOKEN: 'the-token-of-a-measurement-0123456789',
}

export function apiKeyOf(merchant: number): string {
  return formatApiKey({ mode: 'test', id: keyIdOf(merchant), secret: keySecretOf(merchant) })
}

export async function seed(db: Db): Promise<void> {
  const merchants = numbersTo(HOT_MERCHANT)
  await insert(db, insertMerchants, merchants.map(toMerchant))
  await insert(db, insertKeys, merchants.map(toKey))
  const customers = numbersTo(2 * CUSTOMERS)
  await insert(db, insertCustomers, customers.map(toCustomer))
  const vault = createVault([{ id: 'k1', key: ENCRYPTION_KEY }], systemRandom(systemClock))
  await insert(
    db,
    insertMethods,
    customers.map((customer) => toMethod(vault, customer)),
  )
  await db.script('analyze')
  // Checkpoint now, so that the seed's WAL is not flushed during a measurement.
  await db.script('checkpoint')
}

const ROWS_AT_ONCE = 1_000

async function insert(db: Db, statement: typeof insertMerchants, rows: readonly unknown[]): Promise<void> {
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE)
    await db.query(statement, [JSON.stringify(rows.slice(from, from + ROWS_AT_ONCE))])
}

const numbersTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

function toMerchant(merchant: number) {
  return { id: idOf('merchant', merchant), name: `Shop ${merchant}`, currency: CURRENCY }
}

function toKey(merchant: number) {
  const hash = hashSecret(PEPPER, keySecretOf(merchant)).toString('hex')
  return { id: keyIdOf(merchant), merchant_id: idOf('merchant', merchant), hash }
}

function toCustomer(customer: number) {
  const email = emailOf(customer)
  const fields = { email, firstname: FIRSTNAME, lastname: LASTNAME }
  return {
    ...fields,
    id: idOf('customer', customer),
    merchant_id: idOf('merchant', customerRefOf(customer).merchant),
    search_text: searchTextOf(fields),
    // One a second, so that a list has an order.
    created_at: new Date(Date.UTC(2025, 0, 1) + customer * 1_000),
  }
}

function toMethod(vault: Vault, customer: number) {
  const id = idOf('method', customer)
  const merchantId = idOf('merchant', customerRefOf(customer).merchant)
  const token = recurringTokenOf(customer)
  const seal = (text: string, column: string) =>
    vault.seal(text, { table: 'payment_methods', column, rowId: id, merchantId })
  return {
    id,
    merchant_id: merchantId,
    customer_id: idOf('customer', customer),
    token_hash: createHash('sha256').update(token).digest('hex'),
    token_sealed: seal(token, 'token_sealed'),
    credential_sealed: seal(`tok_${String(customer).padStart(32, '0')}.card_success`, 'credential_sealed'),
    card: { brand: 'visa', last4: '4242', expiryMonth: 12, expiryYear: 2099, country: null },
    currency: CURRENCY,
  }
}

const insertMerchants = sql<unknown>`
insert into merchants (id, name, mode, base_currency, created_at, updated_at)
select id, name, 'test', currency, now(), now()
from jsonb_to_recordset($1::jsonb) as m (id uuid, name text, currency text)`

const insertKeys = sql<unknown>`
insert into api_keys (key_id, merchant_id, name, secret_hash, mode, scopes, created_at)
select id, merchant_id, 'bench', decode(hash, 'hex'), 'test', array['*'], now()
from jsonb_to_recordset($1::jsonb) as k (id text, merchant_id uuid, hash text)`

const insertCustomers = sql<unknown>`
insert into customers (
  merchant_id, id, email, email_key, firstname, lastname, search_text, created_at, updated_at
)
select merchant_id, id, email, email, firstname, lastname, search_text, created_at, created_at
from jsonb_to_recordset($1::jsonb) as c (
  merchant_id uuid, id uuid, email text, firstname text, lastname text, search_text text, created_at timestamptz
)`

const insertMethods = sql<unknown>`
insert into payment_methods (
  merchant_id, id, customer_id, type, gateway, fingerprint, token_hash, token_sealed, credential_sealed, currencies,
  card, is_default, is_recurring_intent, created_at
)
select
  merchant_id, id, customer_id, 'card', 'sandbox', id::text, decode(token_hash, 'hex'), token_sealed,
  credential_sealed, array[currency], card, true, true, now()
from jsonb_to_recordset($1::jsonb) as m (
  merchant_id uuid, id uuid, customer_id uuid, token_hash text, token_sealed text, credential_sealed text,
  card jsonb, currency text
)`
