// Converts our schemas for the document: without the keywords that only the HTTP shell reads, and with nullable types
// and enums in their short form.

import { isSchema, type JsonSchema } from '../input/json-schema.ts'

export function documentedSchema(schema: unknown): JsonSchema {
  if (!isSchema(schema)) return {}
  const entries = Object.entries(schema)
    .filter(([keyword, value]) => !keyword.startsWith('x-') && !isOwnFormat(keyword, value))
    .map(([keyword, value]) => [keyword, documentedValue(keyword, value)] as const)
  return simplified(Object.fromEntries(entries))
}

/** The formats of JSON Schema; the others are ours, and tools would report them as unknown. */
const STANDARD_FORMATS: readonly unknown[] = ['date', 'date-time', 'email', 'uri', 'uuid']

function isOwnFormat(keyword: string, value: unknown): boolean {
  return keyword === 'format' && !STANDARD_FORMATS.includes(value)
}

function documentedValue(keyword: string, value: unknown): unknown {
  switch (keyword) {
    case 'properties':
    case 'patternProperties':
      return mapValues(value, documentedSchema)
    case 'items':
    case 'additionalProperties':
    case 'propertyNames':
      return isSchema(value) ? documentedSchema(value) : value
    case 'anyOf':
    case 'oneOf':
    case 'allOf':
      return Array.isArray(value) ? value.map(documentedSchema) : value
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
  const branches = anyOf.filter(isSchema)
  if (branches.every((branch) => typeof branch.const === 'string'))
    return { ...rest, type: 'string', enum: branches.map((branch) => branch.const) }
  const [first, ...others] = branches.filter((branch) => branch.type !== 'null')
  const isNullable = others.length === 0 && branches.length === 2
  if (!isNullable || !first || typeof first.type !== 'string') return schema
  const nullableEnum = Array.isArray(first.enum) ? { enum: [...first.enum, null] } : {}
  return { ...first, ...rest, ...nullableEnum, type: [first.type, 'null'] }
}
