// The model's statements that record payments, and that read their idempotency claims.

import { createIdempotently, findKey, releaseIdempotencyKey } from '../../../../src/kit/db/idempotency.ts'
import { awaitStandby } from '../../../../src/kit/db/standby.ts'
import { findReference } from '../../../../src/payments/find.ts'
import { PAYMENT } from '../../../../src/payments/payment.ts'
import { recordPayments } from '../../../../src/payments/record-queries.ts'
import { insertNewAttempt } from './moves.ts'
import {
  bytea,
  isDue,
  type Kind,
  modelStatement,
  orderBy,
  pickColumns,
  readRows,
  recordsetColumns,
} from './statement.ts'
import type { Row, TableAccess } from './store.ts'

const KINDS: Record<string, Kind> = {
  amount_minor: 'minor',
  expires_at: 'date',
  due_at: 'date',
  created_at: 'date',
}

const PAYMENT_NAMES = new Set(PAYMENT.list().split(', '))

const hex = (text: unknown) => (text === null ? null : Buffer.from(text as string, 'hex'))

const COLUMNS = recordsetColumns((db) => recordPayments(db, []))

function record(access: TableAccess, [json]: readonly unknown[]): Row[] {
  const inputs = readRows(json, KINDS, COLUMNS)
  const blocked = inputs.filter((input) => isBlocked(access, input))
  const inactive = inputs.filter((input) => isInactive(access, input))
  const accepted = inputs.filter((input) => !blocked.includes(input) && !inactive.includes(input))
  const keyed = accepted.filter(({ idempotency_key: key }) => key !== null)
  const claimedKeys = new Set(
    keyed.sort(orderBy('merchant_id', 'idempotency_key', 'n')).filter((input) => claimKey(access, input)),
  )
  const fresh = accepted
    .filter((input) => input.idempotency_key === null || claimedKeys.has(input))
    .sort(orderBy('merchant_id', 'reference', 'n'))
    .filter((input) => claimReference(access, input))
  const customers = upsertCustomers(access, fresh)
  const recorded = fresh.map((input) => write(access, input, customers.get(customerKey(input)) as string))
  const rejected = (rejection: string) => (input: Row) => {
    return { paymentId: input.id, customerId: null, rejection }
  }
  return [...recorded, ...blocked.map(rejected('blocked')), ...inactive.map(rejected('inactive'))]
}

const customerKey = (input: Row) => `${input.merchant_id}|${input.email_key}`

function findCustomer(access: TableAccess, input: Row): Row | undefined {
  return access
    .all('customers')
    .find((row) => row.merchant_id === input.merchant_id && row.email_key === input.email_key)
}

function isBlocked(access: TableAccess, input: Row): boolean {
  const customer = findCustomer(access, input)
  if (customer) access.lock('customers', customer)
  return customer?.status === 'blocked'
}

function isInactive(access: TableAccess, input: Row): boolean {
  const method = access.get('payment_methods', String(input.payment_method_id))
  if (!method) return false
  access.lockShared('payment_methods', method)
  const isOver = method.expires_at !== null && isDue(method.expires_at, input.created_at)
  return method.status !== 'active' || isOver
}

function claimKey(access: TableAccess, input: Row): boolean {
  const { merchant_id, idempotency_key: key, operation, reference, id: claimed_by, created_at } = input
  const fingerprint = hex(input.fingerprint)
  const row = { merchant_id, key, operation, fingerprint, resource: reference, claimed_by, created_at }
  return access.insertIfAbsent('idempotency_keys', row) !== undefined
}

function claimReference(access: TableAccess, input: Row): boolean {
  const { merchant_id, reference, id: payment_id, created_at } = input
  // Simulated payments have a currency with two decimals and no metadata.
  const terms = { amount_hundredths: input.amount_minor, metadata_terms: null }
  const row = {
    merchant_id,
    reference,
    payment_id,
    fingerprint: hex(input.fingerprint),
    created_at,
    ...terms,
  }
  return access.insertIfAbsent('payment_references', row) !== undefined
}

/** The id of each customer; the latest of several payments sets the name. */
function upsertCustomers(access: TableAccess, fresh: readonly Row[]): Map<string, string> {
  const wanted = new Map<string, Row>()
  for (const input of fresh) {
    const other = wanted.get(customerKey(input))
    if (!other || Number(other.n) < Number(input.n)) wanted.set(customerKey(input), input)
  }
  return new Map([...wanted].map(([key, input]) => [key, String(upsertCustomer(access, input).id)]))
}

function upsertCustomer(access: TableAccess, input: Row): Row {
  const { merchant_id, email_key, search_text, created_at: at } = input
  const { customer_email: email, customer_firstname: firstname, customer_lastname: lastname } = input
  const known = findCustomer(access, input)
  if (!known) {
    const country = input.customer_country
    const phone = input.customer_phone
    const facts = {
      merchant_id,
      id: input.customer_id,
      email,
      email_key,
      firstname,
      lastname,
      country,
      phone,
    }
    insertCustomerEvent(access, input)
    return access.insert('customers', { ...facts, search_text, created_at: at, updated_at: at })
  }
  const country = input.customer_country ?? known.country
  const phone = input.customer_phone ?? known.phone
  const isSame =
    known.email === email &&
    known.firstname === firstname &&
    known.lastname === lastname &&
    known.country === country &&
    known.phone === phone
  const updated_at = isSame ? known.updated_at : at
  return access.update('customers', known, {
    email,
    firstname,
    lastname,
    country,
    phone,
    search_text,
    updated_at,
  })
}

function insertCustomerEvent(access: TableAccess, input: Row): void {
  const { merchant_id, customer_event_id: id, customer_id: uuid, created_at: at } = input
  // A boundary: the service makes the body.
  const base = input.envelope as Row
  const resource = { type: 'customer', uuid, version: 1 }
  const { customer_firstname: firstname, customer_lastname: lastname } = input
  const { customer_email: email, customer_country: country, customer_phone: phone } = input
  const data = {
    ...{ uuid, firstname, lastname, email, country, phone, metadata: {} },
    ...{ status: 'active', statusReason: null, totals: { successfulPayments: 0, lastPaymentAt: null } },
    ...{ createdAt: base.createdAt, updatedAt: base.createdAt },
  }
  const body = { ...base, id, type: 'customer.created', resource, data }
  const facts = { merchant_id, id, type: 'customer.created', resource_type: 'customer', resource_id: uuid }
  access.insert('events', { ...facts, version: 1, body, created_at: at })
}

function write(access: TableAccess, input: Row, customer_id: string): Row {
  const payment = Object.fromEntries(Object.entries(input).filter(([name]) => PAYMENT_NAMES.has(name)))
  access.insert('payments', { ...payment, customer_id, access_hash: hex(input.access_hash) })
  // A boundary: the service makes the row of the attempt.
  const attempt = input.attempt as Row | null
  if (attempt) insertNewAttempt(access, attempt)
  writeEvent(access, input, customer_id)
  return { paymentId: input.id, customerId: customer_id, rejection: null }
}

function writeEvent(access: TableAccess, input: Row, customerId: string): void {
  const { merchant_id, event_id: id, event_type: type, id: resource_id, created_at } = input
  const packed = Buffer.concat([bytea(input.event_packed), hex(customerId.replaceAll('-', '')) as Buffer])
  const resource = { resource_type: input.kind === 'charge' ? 'charge' : 'payment', resource_id, version: 1 }
  access.insert('events', { merchant_id, id, type, ...resource, packed, created_at })
}

const once = (db: Parameters<typeof findKey>[0]) =>
  createIdempotently(
    // A boundary: only the first statement is captured, and it needs only an id and a time.
    { db, clock: { now: () => null }, random: { uuid: () => '' } } as never,
    { merchantId: '', key: '', operation: '', input: null },
    { make: () => Promise.resolve(''), find: () => Promise.resolve('') },
  )

export const RECORD_STATEMENTS = [
  // There is no standby here.
  modelStatement('awaitStandby', awaitStandby, () => [{ lsn: null }]),
  modelStatement('recordPayments', (db) => recordPayments(db, []), record),
  modelStatement(
    'findReference',
    (db) => findReference(db, '', ''),
    (access, [merchantId, reference]) => {
      const row = access.get('payment_references', `${merchantId}|${reference}`)
      return row ? [pickColumns('payment_id', 'fingerprint')(row)] : []
    },
  ),
  modelStatement('claimKey', once, (access, values) => {
    const [merchant_id, key, operation, fingerprint, resource, created_at] = values
    const row = { merchant_id, key, operation, fingerprint, resource, claimed_by: resource, created_at }
    return access.insertIfAbsent('idempotency_keys', row) ? [{ key }] : []
  }),
  modelStatement(
    'findKey',
    (db) => findKey(db, '', ''),
    (access, [merchantId, key]) => {
      const row = access.get('idempotency_keys', `${merchantId}|${key}`)
      return row ? [pickColumns('operation', 'fingerprint', 'resource')(row)] : []
    },
  ),
  modelStatement(
    'releaseIdempotencyKey',
    (db) => releaseIdempotencyKey(db, '', '', ''),
    (access, [merchantId, key, claimedBy]) => {
      const row = access.get('idempotency_keys', `${merchantId}|${key}`)
      if (row && row.claimed_by === claimedBy) access.remove('idempotency_keys', row)
      return []
    },
  ),
]
