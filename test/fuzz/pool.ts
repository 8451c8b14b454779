// Values of earlier responses: records, references, tokens, next pages. They let valid requests reach deep code paths.

import { isObject } from '../support/fields.ts'
import { idOf, itemTemplateOf } from '../support/one-of-everything.ts'
import type { DocumentedOperation } from '../support/openapi.ts'
import type { PoolValue } from './values.ts'

export interface Pool {
  add(name: string, value: unknown): void
  find(pick: PoolValue): unknown
  /** Collects values from an operation's response for later requests. */
  collect(operation: DocumentedOperation, path: string, body: unknown): void
}

// The newest records have the most transitions left.
const KEPT = 100

export function createPool(
  operations: readonly DocumentedOperation[],
  excludedIds: ReadonlySet<string>,
): Pool {
  const values = new Map<string, unknown[]>()
  const templates = new Set(operations.map(itemTemplateOf))
  const add: Pool['add'] = (name, value) => {
    const kept = values.get(name) ?? []
    kept.push(value)
    values.set(name, kept.slice(-KEPT))
  }
  const addRecord = (operation: DocumentedOperation, path: string, record: Record<string, unknown>): void => {
    const id = idOf(record)
    if (id !== undefined && !excludedIds.has(id)) addItem(operation, path, id)
    for (const [name, value] of reusableValues(record)) add(name, value)
  }
  const addItem = (operation: DocumentedOperation, path: string, id: string): void => {
    const template = [...templates].find(
      (one) => one?.startsWith(`${operation.path}/{`) && !one.slice(operation.path.length + 1).includes('/'),
    )
    if (template === undefined) return
    add(`item ${template}`, `${path}/${id}`)
    const plain = PLAIN_NAMES[template]
    if (plain) add(plain, id)
  }
  return {
    add,
    find({ from, at }) {
      const kept = values.get(from) ?? []
      return kept[kept.length - 1 - (at % Math.max(kept.length, 1))]
    },
    collect(operation, address, body) {
      if (!isObject(body)) return
      const [path = '', query = ''] = address.split('?')
      for (const record of [body.data].flat().filter(isObject)) addRecord(operation, path, record)
      const cursor = isObject(body.meta) ? body.meta.nextCursor : null
      if (typeof cursor === 'string') add(`next ${operation.path}`, nextPage(path, query, cursor))
    },
  }
}

/** The next page of the same list. */
function nextPage(path: string, query: string, cursor: string): string {
  const others = query.split('&').filter((pair) => pair !== '' && !/^(?:cursor|page)=/.test(pair))
  return `${path}?${[...others, `cursor=${encodeURIComponent(cursor)}`].join('&')}`
}

/** Fields that identify a record without its path. */
const PLAIN_NAMES: Readonly<Record<string, string>> = {
  '/api/v1/checkout/payments/{uuid}': 'payment',
  '/api/v1/customers/{uuid}': 'customer',
  '/api/v1/webhooks/endpoints/{uuid}': 'endpoint',
  '/api/v1/api-keys/{keyId}': 'key',
}

/** Values of a payment: its reference, by its possible actions, and a method for recurring charges. */
function* reusableValues(record: Record<string, unknown>): Iterable<[string, unknown]> {
  const { uuid, reference, status, customer, paymentMethod, sourceCurrency: currency } = record
  if (typeof reference !== 'string' || !isObject(customer)) return
  const address = `/api/v1/sandbox/payments/${encodeURIComponent(reference)}`
  yield ['reference', reference]
  if (status === 'pending') {
    yield ['open', address]
    yield ['open payment', `/api/v1/checkout/payments/${uuid}`]
  }
  if (status === 'successful') {
    yield ['paid', refundOf(reference)]
    yield ['paid reference', address]
  }
  const token = isObject(paymentMethod) ? paymentMethod.recurringToken : undefined
  if (typeof token !== 'string') return
  const { email, firstname, lastname } = customer
  yield ['token', token]
  yield ['saved', { recurringToken: token, currency, customer: { email, firstname, lastname } }]
}

/** The payment has one name, and a retry has the same reference. */
function refundOf(reference: string): Record<string, unknown> {
  const names = { paymentReference: reference, paymentUuid: undefined, reference: undefined, uuid: undefined }
  return { ...names, refundReference: `refund-${reference}`.slice(0, 100), amount: 1 }
}
