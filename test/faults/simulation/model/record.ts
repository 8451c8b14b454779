// The record of payments, and what is read of their claims.

import { createIdempotently, findKey, releaseIdempotencyKey } from '../../../../src/kit/idempotency.ts'
import { awaitStandby } from '../../../../src/kit/standby.ts'
import { findReference } from '../../../../src/payments/find.ts'
import { recordPayments } from '../../../../src/payments/record-queries.ts'
import { isDue, type Kind, modelStatement, orderBy, pickColumns, readRows } from './statement.ts'
import type { Row, TableAccess } from './store.ts'

const KINDS: Record<string, Kind> = {
  amount_minor: 'minor',
  expires_at: 'date',
  attempt_due_at: 'date',
  at: 'date',
}

const hex = (text: unknown) => (text === null ? null : Buffer.from(text as string, 'hex'))

function record(access: TableAccess, [json]: readonly unknown[]): Row[] {
  const inputs = readRows(json, KINDS, ['idempotency_key', 'attempt_id'])
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
    return { paymentId: input.payment_id, customerId: null, rejection }
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
  const isOver = method.expires_at !== null && isDue(method.expires_at, input.at)
  return method.status !== 'active' || isOver
}

function claimKey(access: TableAccess, input: Row): boolean {
  const { merchant_id, idempotency_key: key, operation, reference, payment_id, at } = input
  const fingerprint = hex(input.fingerprint)
  const claimed_by = payment_id
  const row = { merchant_id, key, operation, fingerprint, resource: reference, claimed_by, created_at: at }
  return access.insertIfAbsent('idempotency_keys', row) !== undefined
}

function claimReference(access: TableAccess, input: Row): boolean {
  const { merchant_id, reference, payment_id, at } = input
  const row = { merchant_id, reference, payment_id, fingerprint: hex(input.fingerprint), created_at: at }
  return access.insertIfAbsent('payment_references', row) !== undefined
}

/** The id of each customer; the latest of several payments says how they are called. */
function upsertCustomers(access: TableAccess, fresh: readonly Row[]): Map<string, string> {
  const wanted = new Map<string, Row>()
  for (const input of fresh) {
    const other = wanted.get(customerKey(input))
    if (!other || Number(other.n) < Number(input.n)) wanted.set(customerKey(input), input)
  }
  return new Map([...wanted].map(([key, input]) => [key, String(upsertCustomer(access, input).id)]))
}

function upsertCustomer(access: TableAccess, input: Row): Row {
  const { merchant_id, email, email_key, firstname, lastname, search_text, at } = input
  const known = findCustomer(access, input)
  if (!known) {
    const country = input.customer_country
    const facts = { merchant_id, id: input.customer_id, email, email_key, firstname, lastname, country }
    insertCustomerEvent(access, input)
    return access.insert('customers', { ...facts, search_text, created_at: at, updated_at: at })
  }
  const country = input.customer_country ?? known.country
  const isSame =
    known.email === email &&
    known.firstname === firstname &&
    known.lastname === lastname &&
    known.country === country
  const updated_at = isSame ? known.updated_at : at
  return access.update('customers', known, { email, firstname, lastname, country, search_text, updated_at })
}

function insertCustomerEvent(access: TableAccess, input: Row): void {
  const { merchant_id, customer_event_id: id, customer_id: uuid, at } = input
  // A boundary: the service makes the body.
  const base = input.event_body as Row
  const resource = { type: 'customer', uuid, version: 1 }
  const { firstname, lastname, email, customer_country: country } = input
  const data = {
    ...{ uuid, firstname, lastname, email, country, phone: null, metadata: {} },
    ...{ status: 'active', statusReason: null, totals: { successfulPayments: 0, lastPaymentAt: null } },
    ...{ createdAt: base.createdAt, updatedAt: base.createdAt },
  }
  const body = { ...base, id, type: 'customer.created', resource, data }
  const facts = { merchant_id, id, type: 'customer.created', resource_type: 'customer', resource_id: uuid }
  access.insert('events', { ...facts, version: 1, body, created_at: at })
}

const PAYMENT_FACTS = [
  ...['merchant_id', 'kind', 'reference', 'status', 'status_reason', 'amount_minor', 'currency', 'gateway'],
  ...['country', 'description', 'metadata', 'redirect_url', 'is_recurring', 'access_sealed'],
  ...['payment_method_id', 'link_id', 'expires_at'],
]

function write(access: TableAccess, input: Row, customerId: string): Row {
  const { merchant_id, payment_id, attempt_id, status, status_reason: reason, source, at } = input
  const facts = Object.fromEntries(PAYMENT_FACTS.map((name) => [name, input[name] ?? null]))
  access.insert('payments', {
    ...facts,
    id: payment_id,
    version: 1,
    customer_id: customerId,
    customer_email: input.email,
    customer_firstname: input.firstname,
    customer_lastname: input.lastname,
    access_hash: hex(input.access_hash),
    attempts_used: attempt_id === null ? 0 : 1,
    due_at: input.expires_at,
    created_at: at,
  })
  if (attempt_id !== null) writeAttempt(access, input)
  const move = { merchant_id, payment_id, version: 1, to_status: status, reason, source, attempt_id, at }
  access.insert('moves', move)
  writeEvent(access, input, customerId)
  return { paymentId: payment_id, customerId, rejection: null }
}

function writeAttempt(access: TableAccess, input: Row): void {
  const { merchant_id, payment_id, kind: operation, gateway, account_id = null, at: started_at } = input
  access.insert('attempts', {
    ...{
      merchant_id,
      id: input.attempt_id,
      payment_id,
      number: 1,
      operation,
      gateway,
      account_id,
      started_at,
    },
    ...{ channel: 'saved', status: 'started', gateway_key: input.attempt_key, due_at: input.attempt_due_at },
  })
}

function writeEvent(access: TableAccess, input: Row, customerId: string): void {
  // A boundary: the service makes the body, and a payment in it has a customer.
  const base = input.event_body as { resource: { type: string }; data: { customer: Row } }
  const customer = { ...base.data.customer, uuid: customerId }
  const body = { ...base, data: { ...base.data, customer } }
  const { merchant_id, event_id: id, event_type: type, payment_id: resource_id, at: created_at } = input
  const resource_type = base.resource.type
  access.insert('events', { merchant_id, id, type, resource_type, resource_id, version: 1, body, created_at })
}

const once = (db: Parameters<typeof findKey>[0]) =>
  createIdempotently(
    // A boundary: the first statement is all that is listened for, and it asks for nothing but an id and a time.
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
