// Parses the query string by its schema: known names, each at most once, numbers and booleans from their plain text.
// Lists take several values, and objects one member for each name with brackets. An unknown name is refused, because a
// list without the filter that was meant looks right. A repeated name is refused, because a proxy before us may have
// used the other value.

import { ApiError, type Issue } from '../../core/errors.ts'
import { fieldName } from './characters.ts'
import { isSchema, type JsonSchema } from './json-schema.ts'
import { createUnknownFieldIssue } from './unknown-fields.ts'

export type ReadQuery = (text: string, issues: Issue[]) => Record<string, unknown>

/** The part of a request's URL after the question mark. */
export function queryTextOf(url: string | undefined): string {
  const at = url?.indexOf('?') ?? -1
  return at < 0 ? '' : (url ?? '').slice(at + 1)
}

export function compileReadQuery(schema: JsonSchema | undefined): ReadQuery {
  const properties = schema && isSchema(schema.properties) ? schema.properties : {}
  const coercions = new Map(Object.entries(properties).map(([name, child]) => [name, coercionFor(child)]))
  const lists = namesOfType(properties, 'array')
  const maps = namesOfType(properties, 'object')
  const unknownFieldIssue = createUnknownFieldIssue('query', schema ?? {})
  const names = Object.keys(properties)
  return (text, issues) => {
    const query: Record<string, unknown> = {}
    if (text === '') return query
    for (const [name, value] of parsePairs(text)) {
      if (lists.has(name)) addValues(query, name, value)
      if (lists.has(name) || addMember(query, maps, name, value, issues)) continue
      const coerce = coercions.get(name)
      if (!coerce) {
        issues.push(unknownFieldIssue([name], names))
        continue
      }
      if (Object.hasOwn(query, name)) issues.push(repeatedIssue(name))
      query[name] = coerce(value)
    }
    return query
  }
}

function namesOfType(properties: JsonSchema, type: string): ReadonlySet<string> {
  const entries = Object.entries(properties)
  return new Set(entries.filter(([, child]) => isSchema(child) && child.type === type).map(([name]) => name))
}

/** A list is given with commas, as a repeated name, or both; the same value twice counts once. */
function addValues(query: Record<string, unknown>, name: string, value: string): void {
  const earlier = Array.isArray(query[name]) ? query[name] : []
  query[name] = [...new Set([...earlier, ...value.split(',')])]
}

const MEMBER = /^([A-Za-z]+)\[([^\]]{1,40})\]$/

/** A member of an object, such as metadata[orderId]=7. */
function addMember(
  query: Record<string, unknown>,
  maps: ReadonlySet<string>,
  name: string,
  value: string,
  issues: Issue[],
): boolean {
  const [, map = '', key = ''] = MEMBER.exec(name) ?? []
  if (!maps.has(map)) return false
  const members = isSchema(query[map]) ? query[map] : {}
  if (Object.hasOwn(members, key)) issues.push(repeatedIssue(name))
  // A plain object would treat __proto__ as its prototype.
  query[map] = Object.fromEntries([...Object.entries(members), [key, value]])
  return true
}

/** The name-value pairs of a query string or form; `+` is a space, as in forms. */
export function parsePairs(text: string): [string, string][] {
  const parts = text.split('&').filter((part) => part !== '')
  return parts.map((part) => {
    const at = part.indexOf('=')
    return at < 0 ? [decode(part), ''] : [decode(part.slice(0, at)), decode(part.slice(at + 1))]
  })
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch (cause) {
    const message = 'The query or form is not well percent-encoded UTF-8.'
    const details = [{ field: 'query', code: 'invalid_format', message }]
    throw new ApiError('validation_failed', { message, details, cause })
  }
}

function repeatedIssue(name: string): Issue {
  const field = fieldName([name])
  return { field, code: 'repeated', message: `${field} is given more than once; give it once.` }
}

/** Path parameters are strings too. A route without a schema for them gets them unchanged. */
export function compileReadParams(
  schema: JsonSchema | undefined,
): (params: unknown) => Record<string, unknown> {
  if (!schema) return (params) => (isSchema(params) ? { ...params } : {})
  const properties = isSchema(schema.properties) ? schema.properties : {}
  const coercions = Object.entries(properties).map(([name, child]) => [name, coercionFor(child)] as const)
  return (params) => {
    if (!isSchema(params)) return {}
    return Object.fromEntries(coercions.map(([name, coerce]) => [name, coerce(String(params[name]))]))
  }
}

// A JavaScript number holds fifteen digits exactly. Other spellings (1e9, 0x10, an empty string) stay strings, and
// the schema refuses them.
const INTEGER = /^-?\d{1,15}$/
const DECIMAL = /^-?\d{1,12}(?:\.\d{1,3})?$/

function coercionFor(schema: unknown): (text: string) => unknown {
  switch (isSchema(schema) ? schema.type : undefined) {
    case 'integer':
      return (text) => (INTEGER.test(text) ? Number(text) : text)
    case 'number':
      return (text) => (DECIMAL.test(text) ? Number(text) : text)
    case 'boolean':
      return (text) => (text === 'true' || text === 'false' ? text === 'true' : text)
    default:
      return (text) => text
  }
}
