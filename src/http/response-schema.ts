// The schema that serializes a response. It is the documented schema, reduced so that the compiled serializer is fast
// and changes no value: by default it writes null as an empty string or as 0.

import buildSerializer, { type AnySchema } from 'fast-json-stringify'
import type { RouteResponse } from '../kit/http/route.ts'
import { isSchema, type JsonSchema } from './input/json-schema.ts'

/**
 * Compiles the schema at the first response: most processes serve few of the operations. Nothing inside frozen data may change,
 * so their text is kept.
 */
export function createSerializer(schema: AnySchema): (response: Envelope) => string {
  let compiled: ((response: Envelope) => string) | undefined
  const serialize = (response: Envelope) => {
    compiled ??= buildSerializer(schema)
    return compiled(response)
  }
  const kept = new WeakMap<object, { message: string; text: string }>()
  return (response) => {
    const { message, data, meta } = response
    if (!isFrozenObject(data) || meta !== undefined) return serialize(response)
    const before = kept.get(data)
    if (before?.message === message) return before.text
    const text = serialize(response)
    if (text.length <= MAX_KEPT_LENGTH) kept.set(data, { message, text })
    return text
  }
}

// A payment takes two thousand characters, with the largest metadata twenty thousand.
const MAX_KEPT_LENGTH = 8_000

const isFrozenObject = (data: unknown): data is object =>
  typeof data === 'object' && data !== null && Object.isFrozen(data)

type Envelope = Pick<RouteResponse, 'message' | 'data' | 'meta'>

export function envelopeSchema(data: JsonSchema, list: boolean): JsonSchema {
  const written = writableSchema(data)
  return {
    type: 'object',
    required: ['status', 'message', 'data'],
    properties: {
      status: { type: 'string' },
      message: { type: 'string' },
      data: list ? { type: 'array', items: written } : written,
      ...(list && { meta: META_SCHEMA }),
    },
  }
}

const META_SCHEMA: JsonSchema = {
  type: 'object',
  properties: {
    page: { type: 'integer' },
    limit: { type: 'integer' },
    total: { type: 'integer' },
    totalIsCapped: { type: 'boolean' },
    pageCount: { type: 'integer' },
    hasNext: { type: 'boolean' },
    hasPrevious: { type: 'boolean' },
    nextCursor: { type: 'string', nullable: true },
    archivedBefore: { type: 'string' },
    unavailableCells: { type: 'array', items: { type: 'string' } },
  },
}

/** Keeps types, properties and items. Every value may be null: the slice decides whether it should be. */
function writableSchema(schema: JsonSchema): JsonSchema {
  const plain = withoutNullBranch(schema)
  // A union is serialized without a schema: choosing a branch would mean validating our own response.
  if (!plain || Array.isArray(plain.type)) return {}
  if (plain.type === 'object') return writableObject(plain)
  if (plain.type === 'array' && isSchema(plain.items))
    return { type: 'array', nullable: true, items: writableSchema(plain.items) }
  return typeof plain.type === 'string' && plain.type !== 'array' ? { type: plain.type, nullable: true } : {}
}

function writableObject(schema: JsonSchema): JsonSchema {
  const isOpen = schema.patternProperties !== undefined || Boolean(schema.additionalProperties)
  if (isOpen || !isSchema(schema.properties)) return {}
  const entries = Object.entries(schema.properties).map(([name, child]) => {
    if (!isSchema(child)) throw new Error(`the schema of ${name} is not an object`)
    return [name, writableSchema(child)] as const
  })
  return {
    type: 'object',
    nullable: true,
    properties: Object.fromEntries(entries),
    // A missing required property is an internal error, and the serializer throws.
    required: Array.isArray(schema.required) ? schema.required : [],
  }
}

/** The only branch beside null, or undefined if there are several. */
function withoutNullBranch(schema: JsonSchema): JsonSchema | undefined {
  const alternatives = schema.anyOf ?? schema.oneOf
  if (!Array.isArray(alternatives)) return schema
  const [first, ...others] = alternatives.filter(isSchema).filter((branch) => branch.type !== 'null')
  return others.length === 0 ? first : undefined
}
