// Converts our schemas for the document: named ones become references, keywords that only the HTTP shell reads are left
// out, and nullable types and enums are written in their short form.

import { isDeepStrictEqual } from 'node:util'
import { type Definition, definitionOf } from '../../kit/http/schema.ts'
import { isSchema, type JsonSchema } from '../input/json-schema.ts'
import type { Components } from './components.ts'

/** Where the named schemas go, and whether objects refuse other fields, as those of requests do. */
export interface SchemaContext {
  components: Components
  isRequest?: boolean
}

export function documentedSchema(schema: unknown, context: SchemaContext): JsonSchema {
  if (!isSchema(schema)) return {}
  if (context.isRequest && hasUnsentDefault(schema))
    return documentedSchema(withDefaultInWords(schema), context)
  const definition = definitionOf(schema)
  const content = contentOf(schema, context)
  if (!definition) return content
  const siblings = annotationsBeside(contentOf(definition.schema, context), content)
  if (!siblings) return content
  const reference = referenceOf(definition, context)
  return schema['x-open'] ? openValues(reference, siblings) : { ...reference, ...siblings }
}

/** Generators make a union of it, such as `FailureCode | string`: the known values keep their names. */
export function openValues(reference: JsonSchema, annotations: JsonSchema): JsonSchema {
  return { ...annotations, anyOf: [reference, { type: 'string' }] }
}

/**
 * The document says in words what an absent field means. Generators take the keyword for a value that is always there: the
 * field becomes required, or they send it. The currency keeps it: a request should name its currency.
 */
function hasUnsentDefault(schema: JsonSchema): boolean {
  return schema.default !== undefined && definitionOf(schema)?.name !== 'CurrencyCode'
}

function withDefaultInWords(schema: JsonSchema): JsonSchema {
  const { default: value, ...rest } = schema
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return { ...rest, description: `${String(schema.description)} Default: ${text}.` }
}

/** What a copy says beside the reference; undefined if it is another schema than the named one. */
function annotationsBeside(original: JsonSchema, copy: JsonSchema): JsonSchema | undefined {
  const names = new Set([...Object.keys(original), ...Object.keys(copy)])
  const changed = [...names].filter((name) => !isDeepStrictEqual(original[name], copy[name]))
  if (!changed.every((name) => ANNOTATIONS.includes(name) && name in copy)) return undefined
  return Object.fromEntries(changed.map((name) => [name, copy[name]]))
}

const ANNOTATIONS: readonly string[] = ['description', 'default', 'examples']

function referenceOf({ name, schema, base, added }: Definition, context: SchemaContext): JsonSchema {
  const content = contentOf(schema, context)
  const own = base
    ? {
        ...(content.description !== undefined && { description: content.description }),
        allOf: [documentedSchema(base, context), contentOf(added ?? {}, context)],
      }
    : content
  return context.components.add('schemas', name, own)
}

// A named schema is compared with its original wherever it is used, and so are those inside of it: without this, a schema
// would be converted again for every use, and three times for every level above it.
const converted = new WeakMap<Components, { requests: Contents; responses: Contents }>()
type Contents = WeakMap<object, JsonSchema>

function contentOf(schema: object, context: SchemaContext): JsonSchema {
  const known = converted.get(context.components) ?? { requests: new WeakMap(), responses: new WeakMap() }
  converted.set(context.components, known)
  const contents = context.isRequest ? known.requests : known.responses
  const content = contents.get(schema) ?? convert(schema, context)
  contents.set(schema, content)
  return content
}

function convert(schema: object, context: SchemaContext): JsonSchema {
  const entries = Object.entries(schema)
    .filter(([keyword, value]) => !keyword.startsWith('x-') && !isOwnFormat(keyword, value))
    .map(([keyword, value]) => [keyword, documentedValue(keyword, value, context)] as const)
  const content = { ...simplified(Object.fromEntries(entries)), ...requiredOf(schema) }
  const isClosed = context.isRequest && content.properties !== undefined
  return isClosed ? { ...content, additionalProperties: false } : content
}

/** The required fields, with those that the service has a default for although clients should send them. */
function requiredOf(schema: object): JsonSchema {
  const { properties, required = [] }: JsonSchema = { ...schema }
  if (!isSchema(properties) || !Array.isArray(required)) return {}
  const names = Object.keys(properties).filter(
    (name) => required.includes(name) || Object(properties[name])['x-required'],
  )
  return names.length > required.length ? { required: names } : {}
}

/** The formats of JSON Schema; the others are ours, and tools would report them as unknown. */
const STANDARD_FORMATS: readonly unknown[] = ['date', 'date-time', 'email', 'uri', 'uuid']

function isOwnFormat(keyword: string, value: unknown): boolean {
  return keyword === 'format' && !STANDARD_FORMATS.includes(value)
}

function documentedValue(keyword: string, value: unknown, context: SchemaContext): unknown {
  const document = (member: unknown) => documentedSchema(member, context)
  switch (keyword) {
    case 'properties':
    case 'patternProperties':
      return mapValues(value, document)
    case 'items':
    case 'additionalProperties':
    case 'propertyNames':
      return isSchema(value) ? document(value) : value
    case 'anyOf':
    case 'oneOf':
    case 'allOf':
      return Array.isArray(value) ? value.map(document) : value
    default:
      return value
  }
}

function mapValues(value: unknown, change: (member: unknown) => unknown): unknown {
  if (!isSchema(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, change(member)]))
}

/**
 * Writes anyOf of constants as an enum, and anyOf with null as a second type: equal for a validator, easier for a
 * reader.
 */
function simplified(schema: JsonSchema): JsonSchema {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf)) return schema
  const branches = anyOf.filter(isSchema).flatMap(alternativesOf)
  if (branches.every((branch) => typeof branch.const === 'string'))
    return { ...rest, type: 'string', enum: branches.map((branch) => branch.const) }
  const [first, ...others] = branches.filter((branch) => branch.type !== 'null')
  const isNullable = others.length === 0 && branches.length === 2
  if (!isNullable || !first) return { ...rest, anyOf: branches }
  if (first.$ref !== undefined) {
    const { $ref, ...annotations } = first
    return { ...annotations, ...rest, anyOf: [{ $ref }, { type: 'null' }] }
  }
  if (typeof first.type !== 'string') return schema
  const nullableEnum = Array.isArray(first.enum) ? { enum: [...first.enum, null] } : {}
  return { ...first, ...rest, ...nullableEnum, type: [first.type, 'null'] }
}

/** Alternatives among alternatives become their neighbours. The description is that of the outer ones. */
function alternativesOf(branch: JsonSchema): JsonSchema[] {
  const { anyOf, description: _, ...others } = branch
  return Array.isArray(anyOf) && Object.keys(others).length === 0 ? anyOf.filter(isSchema) : [branch]
}
