// The model's statements of customers and their saved methods.

import {
  findMethod,
  listMethodRowsByToken,
  replaceCredential,
  upsertMethod,
} from '../../../../src/customers/method-queries.ts'
import { findCustomer } from '../../../../src/customers/queries.ts'
import { findOwned } from './payments.ts'
import { modelStatement, pickColumns, readRows, recordsetColumns, timeOf } from './statement.ts'
import type { Row, TableAccess } from './store.ts'

const pickCustomer = pickColumns(
  ...['id', 'email', 'firstname', 'lastname', 'country', 'phone', 'metadata', 'status', 'status_reason'],
  ...['successful_payments', 'last_payment_at', 'created_at', 'updated_at'],
)

const pickMethod = pickColumns(
  ...['merchant_id', 'id', 'customer_id', 'type', 'status', 'version', 'gateway', 'account_id'],
  ...['token_sealed', 'credential_sealed', 'currencies', 'card', 'mobile_money', 'is_default'],
  ...['is_recurring_intent', 'consent', 'expires_at', 'last_used_at', 'created_at'],
)

const METHOD_COLUMNS = recordsetColumns((tx) => upsertMethod(tx, {} as never))

function save(access: TableAccess, [json]: readonly unknown[]): Row[] {
  const [row = {}] = readRows(json, { expires_at: 'date', created_at: 'date' }, METHOD_COLUMNS)
  const wanted: Row = { ...row, token_hash: Buffer.from(String(row.token_hash).slice(2), 'hex') }
  const ofCustomer = access
    .all('payment_methods')
    .filter((row) => row.merchant_id === wanted.merchant_id && row.customer_id === wanted.customer_id)
  const is_default = !ofCustomer.some((row) => row.is_default)
  const isSameCard = (row: Row) =>
    row.status !== 'revoked' &&
    row.gateway === wanted.gateway &&
    row.account_id === wanted.account_id &&
    row.fingerprint === wanted.fingerprint
  const known = ofCustomer.find(isSameCard)
  const saved = known
    ? renew(access, known, { ...wanted, is_default })
    : access.insert('payment_methods', { ...wanted, is_default, last_used_at: wanted.created_at })
  return [{ ...pickMethod(saved), saveId: saved.save_id }]
}

function renew(access: TableAccess, known: Row, wanted: Row): Row {
  const { card, currencies, expires_at } = wanted
  const isRevived =
    known.status === 'expired' && (expires_at === null || timeOf(expires_at) > timeOf(wanted.created_at))
  return access.update('payment_methods', known, {
    ...{ card, currencies, expires_at },
    is_recurring_intent: known.is_recurring_intent || wanted.is_recurring_intent,
    consent: wanted.consent ?? known.consent,
    ...(isRevived && {
      status: 'active',
      version: Number(known.version) + 1,
      is_default: known.is_default || wanted.is_default,
      save_id: wanted.save_id,
    }),
  })
}

export const CUSTOMER_STATEMENTS = [
  modelStatement(
    'findCustomer',
    (db) => findCustomer(db, '', ''),
    (access, [merchantId, id]) => {
      const row = findOwned(access, 'customers', merchantId, id)
      return row ? [pickCustomer(row)] : []
    },
  ),
  modelStatement(
    'findMethod',
    (db) => findMethod(db, '', ''),
    (access, [merchantId, id]) => {
      const row = findOwned(access, 'payment_methods', merchantId, id)
      return row ? [pickMethod(row)] : []
    },
  ),
  modelStatement(
    'listMethodRowsByToken',
    (db) => listMethodRowsByToken(db, []),
    (access, [merchantIds, hashes]) =>
      (merchantIds as string[]).flatMap((merchantId, index) => {
        const hash = (hashes as Buffer[])[index] as Buffer
        const isMeant = (row: Row) =>
          row.merchant_id === merchantId && (row.token_hash as Buffer).equals(hash)
        const row = access.all('payment_methods').find(isMeant)
        const customer = row && access.get('customers', String(row.customer_id))
        return row && customer ? [{ n: index + 1, ...pickMethod(row), emailKey: customer.email_key }] : []
      }),
  ),
  modelStatement('upsertMethod', (db) => upsertMethod(db, {} as never), save),
  modelStatement(
    'replaceCredential',
    (db) => replaceCredential(db, '', '', ''),
    (access, [merchantId, id, credential_sealed]) => {
      const row = findOwned(access, 'payment_methods', merchantId, id)
      return row ? [pickMethod(access.update('payment_methods', row, { credential_sealed }))] : []
    },
  ),
]
