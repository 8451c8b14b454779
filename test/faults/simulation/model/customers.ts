// What is read and written of customers and their saved methods.

import {
  findMethod,
  findMethodsByToken,
  replaceCredential,
  upsertMethod,
} from '../../../../src/customers/method-queries.ts'
import { findCustomer } from '../../../../src/customers/queries.ts'
import { own } from './payments.ts'
import { modelled, picking, timeOf } from './statement.ts'
import type { Hands, Row } from './store.ts'

const pickCustomer = picking(
  ...['id', 'email', 'firstname', 'lastname', 'country', 'phone', 'metadata', 'status', 'status_reason'],
  ...['successful_payments', 'last_payment_at', 'created_at', 'updated_at'],
)

const pickMethod = picking(
  ...['merchant_id', 'id', 'customer_id', 'type', 'status', 'version', 'gateway', 'account_id'],
  ...['token_sealed', 'credential_sealed', 'currencies', 'card', 'mobile_money', 'is_default'],
  ...['is_recurring_intent', 'expires_at', 'last_used_at', 'created_at'],
)

const SAVED = [
  ...['merchant_id', 'id', 'customer_id', 'type', 'gateway', 'fingerprint', 'token_hash', 'token_sealed'],
  ...['credential_sealed', 'currencies', 'card', 'mobile_money', 'is_recurring_intent', 'expires_at'],
  ...['created_at', 'account_id', 'save_id'],
]

const json = (text: unknown) => (text === null ? null : JSON.parse(text as string))

function save(hands: Hands, values: readonly unknown[]): Row[] {
  const given: Row = Object.fromEntries(SAVED.map((column, index) => [column, values[index]]))
  const wanted: Row = { ...given, card: json(given.card), mobile_money: json(given.mobile_money) }
  const ofCustomer = hands
    .all('payment_methods')
    .filter((row) => row.merchant_id === wanted.merchant_id && row.customer_id === wanted.customer_id)
  const is_default = !ofCustomer.some((row) => row.is_default)
  const isSameCard = (row: Row) =>
    row.status !== 'revoked' &&
    row.gateway === wanted.gateway &&
    row.account_id === wanted.account_id &&
    row.fingerprint === wanted.fingerprint
  const known = ofCustomer.find(isSameCard)
  const row = known
    ? renew(hands, known, { ...wanted, is_default })
    : hands.insert('payment_methods', { ...wanted, is_default, last_used_at: wanted.created_at })
  return [{ ...pickMethod(row), saveId: row.save_id }]
}

function renew(hands: Hands, known: Row, wanted: Row): Row {
  const { card, currencies, expires_at } = wanted
  const isRevived =
    known.status === 'expired' && (expires_at === null || timeOf(expires_at) > timeOf(wanted.created_at))
  return hands.update('payment_methods', known, {
    ...{ card, currencies, expires_at },
    is_recurring_intent: known.is_recurring_intent || wanted.is_recurring_intent,
    ...(isRevived && {
      status: 'active',
      version: Number(known.version) + 1,
      is_default: known.is_default || wanted.is_default,
      save_id: wanted.save_id,
    }),
  })
}

export const CUSTOMER_STATEMENTS = [
  modelled(
    'findCustomer',
    (db) => findCustomer(db, '', ''),
    (hands, [merchantId, id]) => {
      const row = own(hands, 'customers', merchantId, id)
      return row ? [pickCustomer(row)] : []
    },
  ),
  modelled(
    'findMethod',
    (db) => findMethod(db, '', ''),
    (hands, [merchantId, id]) => {
      const row = own(hands, 'payment_methods', merchantId, id)
      return row ? [pickMethod(row)] : []
    },
  ),
  modelled(
    'findMethodsByToken',
    (db) => findMethodsByToken(db, []),
    (hands, [merchantIds, hashes]) =>
      (merchantIds as string[]).flatMap((merchantId, index) => {
        const hash = (hashes as Buffer[])[index] as Buffer
        const isMeant = (row: Row) =>
          row.merchant_id === merchantId && (row.token_hash as Buffer).equals(hash)
        const row = hands.all('payment_methods').find(isMeant)
        const customer = row && hands.get('customers', String(row.customer_id))
        return row && customer ? [{ n: index + 1, ...pickMethod(row), emailKey: customer.email_key }] : []
      }),
  ),
  modelled('upsertMethod', (db) => upsertMethod(db, { card: null, mobileMoney: null } as never), save),
  modelled(
    'replaceCredential',
    (db) => replaceCredential(db, '', '', ''),
    (hands, [merchantId, id, credential_sealed]) => {
      const row = own(hands, 'payment_methods', merchantId, id)
      return row ? [pickMethod(hands.update('payment_methods', row, { credential_sealed }))] : []
    },
  ),
]
