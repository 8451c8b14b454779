// Requests that the document allows, optionally with one or several mutations.

import fc from 'fast-check'
import { bodySchemaOf, exampleOf, fieldsOf, parametersOf } from '../support/fields.ts'
import { itemTemplateOf } from '../support/one-of-everything.ts'
import type { Document, DocumentedOperation } from '../support/openapi.ts'
import {
  addressMutations,
  byteMutations,
  headerMutations,
  itemMutations,
  queryMutations,
} from './address-mutations.ts'
import { fieldMutations, textMutations } from './body-mutations.ts'
import type { Mutation, Plan } from './plan.ts'
import { fromPool, type PoolValue, UniqueName, validValue } from './values.ts'

/** Any request to the operation. */
export function planOf(operation: DocumentedOperation): fc.Arbitrary<Plan> {
  const valid = validPlan(operation)
  const mutations = mutationsOf(operation)
  const nearly = fc.tuple(valid, mutations).map(([plan, change]) => change({ ...plan, kind: 'nearly valid' }))
  const hostile = fc
    .tuple(valid, fc.array(mutations, { minLength: 2, maxLength: 4 }))
    .map(([plan, changes]): Plan => {
      const broken = changes.reduce((so, change) => change(so), plan)
      // One mutation may undo another, so the validity of the result is unknown.
      return { ...broken, kind: 'hostile', expects: 'any answer' }
    })
  return fc.oneof(
    { weight: 8, arbitrary: valid },
    { weight: 7, arbitrary: nearly },
    { weight: 5, arbitrary: hostile },
  )
}

function mutationsOf(operation: DocumentedOperation): fc.Arbitrary<Mutation> {
  const fields = fieldsOf(bodySchemaOf(operation))
  const queries = parametersOf(operation, 'query')
  return fc.oneof(
    { weight: 3, arbitrary: headerMutations(operation) },
    { weight: 2, arbitrary: addressMutations },
    { weight: 1, arbitrary: byteMutations },
    ...(fields.length > 0 ? [{ weight: 10, arbitrary: fieldMutations(fields) }] : []),
    ...(fields.length > 0 ? [{ weight: 4, arbitrary: textMutations }] : []),
    ...(queries.length > 0 ? [{ weight: 6, arbitrary: queryMutations(operation) }] : []),
    ...(itemTemplateOf(operation) ? [{ weight: 4, arbitrary: itemMutations(operation) }] : []),
  )
}

// Only a response provides fields that belong together: a token and its customer, a paid payment.
const MERGED: Readonly<Record<string, string>> = {
  'POST /api/v1/charges/recurring': 'saved',
  'POST /api/v1/refunds': 'paid',
}

/** A request that the document allows. */
export function validPlan(operation: DocumentedOperation): fc.Arbitrary<Plan> {
  const merged = MERGED[operation.name]
  const parts = fc.record({
    item: itemOf(operation),
    query: queryOf(operation),
    next: isPaged(operation) ? sometimes(fromPool(`next ${operation.path}`)) : fc.constant(undefined),
    headers: headersOf(operation),
    body: bodyOf(operation),
    merged: merged ? fromPool(merged) : fc.constant(undefined),
  })
  return parts.map((made) => ({
    ...made,
    operation,
    kind: 'valid',
    mutations: [],
    method: operation.method,
    tail: operation.path.slice(itemTemplateOf(operation)?.length ?? 0),
    rawQuery: '',
    tamper: undefined,
    rewrite: undefined,
    bytes: undefined,
    expects: 'a documented answer',
  }))
}

const sometimes = <Value>(arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })

function isPaged(operation: DocumentedOperation): boolean {
  return parametersOf(operation, 'query').some(({ name }) => name === 'cursor')
}

function queryOf(operation: DocumentedOperation): fc.Arbitrary<[string, unknown][]> {
  // A cursor is valid only with the rest of its address, as the next page.
  const parameters = parametersOf(operation, 'query').filter(({ name }) => name !== 'cursor')
  const fields = parameters.map(
    ({ name, schema }) =>
      [name, name === 'reference' ? fromPool('reference') : validValue(name, schema)] as const,
  )
  const requiredKeys: string[] = parameters.filter(({ required }) => required).map(({ name }) => name)
  return fc
    .record<Record<string, unknown>>(Object.fromEntries(fields), { requiredKeys })
    .map((query) => Object.entries(query))
}

/** Operations that require a payment in a certain state. */
const PAYMENTS: Readonly<Record<string, string>> = {
  'POST /api/v1/checkout/payments/{uuid}/cancel': 'open payment',
  'POST /api/v1/sandbox/payments/{reference}/dispute': 'paid reference',
  'POST /api/v1/sandbox/payments/{reference}/reverse': 'paid reference',
}

function itemOf(operation: DocumentedOperation): fc.Arbitrary<PoolValue | undefined> {
  const template = itemTemplateOf(operation)
  if (template === undefined) return fc.constant(undefined)
  return fromPool(
    PAYMENTS[operation.name] ?? (template.endsWith('{reference}') ? 'open' : `item ${template}`),
  )
}

function headersOf({ method }: DocumentedOperation): fc.Arbitrary<Record<string, unknown>> {
  const key = fc.oneof(
    { weight: 4, arbitrary: fc.constant(new UniqueName()) },
    { weight: 1, arbitrary: fc.nat({ max: 20 }).map((number) => `again-${number}`) },
  )
  const requestId = fc.nat().map((number) => `fuzz-${String(number).padStart(8, '0')}`)
  const wanted = { 'x-request-id': requestId, ...(method === 'POST' && { 'idempotency-key': key }) }
  return fc.record<Record<string, unknown>>(wanted, { requiredKeys: [] })
}

function bodyOf(operation: DocumentedOperation): fc.Arbitrary<unknown> {
  const schema = bodySchemaOf(operation)
  if (!schema) return fc.constant(undefined)
  const example = exampleOf(operation)
  return fc.oneof(
    // Like the example, whose fields are consistent, but with new references.
    { weight: 3, arbitrary: validValue('', schema).map((made) => likeExample(example, made)) },
    { weight: 1, arbitrary: validValue('', schema) },
  )
}

const OWN = new Set([
  'reference',
  'refundReference',
  'email',
  'amount',
  'receivedAmount',
  'instrument',
  'expiresAt',
  'url',
  'outcome',
])

function likeExample(example: Document, made: Document): Document {
  const entries = Object.entries<Document>(example).map(([name, value]) => {
    const own = made?.[name]
    if (name === 'customer' && own !== undefined) return [name, likeExample(value, own)]
    return [name, OWN.has(name) && own !== undefined ? own : value]
  })
  return Object.fromEntries(entries)
}
