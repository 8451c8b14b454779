// The schema by which an answer is written. It is the documented one, brought down to what writing needs, so that the
// compiled writer is fast and never changes a value: without care it writes null as an empty text or as 0.

import { isSchema, type JsonSchema } from './input/clean.ts'

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
  },
}

/** Types, properties and items only. Everything may be null: whether it should be is the slice's promise, not ours. */
function writableSchema(schema: JsonSchema): JsonSchema {
  const plain = withoutNullBranch(schema)
  // A union is written as it is: choosing a branch would mean to validate our own answer on the way out.
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
    if (!isSchema(child)) throw new Error(`the schema of ${name} is no object`)
    return [name, writableSchema(child)] as const
  })
  return {
    type: 'object',
    nullable: true,
    properties: Object.fromEntries(entries),
    // A required property that is missing is our mistake, and the writer says so.
    required: Array.isArray(schema.required) ? schema.required : [],
  }
}

/** The one alternative beside null, or undefined when there are several. */
function withoutNullBranch(schema: JsonSchema): JsonSchema | undefined {
  const alternatives = schema.anyOf ?? schema.oneOf
  if (!Array.isArray(alternatives)) return schema
  const [first, ...others] = alternatives.filter(isSchema).filter((branch) => branch.type !== 'null')
  return others.length === 0 ? first : undefined
}
