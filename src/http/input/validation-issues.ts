// Turns validation errors of typebox into issues that a developer can act on: a dotted field, a code and a sentence.
// A schema can set the code (x-code) and the sentence after the field name (x-message).

import type { TLocalizedValidationError as SchemaError } from 'typebox/error'
import type { Issue } from '../../core/errors.ts'
import { suggestName } from '../../core/text/spelling.ts'
import { fieldName } from './characters.ts'
import { FORMATS } from './formats.ts'
import { isSchema, type JsonSchema } from './json-schema.ts'

/** `rootName` names the whole value, such as body, for an issue that concerns no single field. */
export function issuesOf(
  schema: JsonSchema,
  errors: readonly SchemaError[],
  rootName: string,
  value: unknown,
): Issue[] {
  return withoutRepeatedErrors(schema, errors).flatMap((error) => {
    const path = pathOf(error.instancePath)
    if (error.keyword === 'required')
      return error.params.requiredProperties.map((name) => requiredIssue(fieldName([...path, name])))
    return [issueOf(schema, error, path, rootName, valueAt(value, path))]
  })
}

function requiredIssue(field: string): Issue {
  return { field, code: 'required', message: `${field} is required.` }
}

function issueOf(
  root: JsonSchema,
  error: SchemaError,
  path: string[],
  rootName: string,
  value: unknown,
): Issue {
  // Query parameters are named as a whole: the client did not write the index of a value in a list.
  const field = path.length > 0 ? fieldName(rootName === 'query' ? path.slice(0, 1) : path) : rootName
  const overrides = schemaOverrides(root, path)
  const [code, described] = describeError(root, error)
  const hints = [
    ...hintsFor(error, schemaAt(root, path), value),
    ...(rootName === 'body' && isQuotedNumber(error, value) ? ['Send it without quotes.'] : []),
  ]
  const sentences = [overrides.message ?? described, ...hints]
  return { field, code: overrides.code ?? code, message: `${field} ${sentences.join(' ')}` }
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, name) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, name) : undefined),
    value,
  )
}

/** What the caller probably meant. */
function hintsFor(error: SchemaError, schema: JsonSchema | undefined, value: unknown): string[] {
  if (value === null && schema?.['x-null'] === 'refused') return ['Leave it out instead of sending null.']
  if (typeof value !== 'string' || error.keyword !== 'enum') return []
  return suggestName(value, error.params.allowedValues.map(String))
}

function isQuotedNumber(error: SchemaError, value: unknown): boolean {
  if (error.keyword !== 'type' || typeof value !== 'string') return false
  const types = [error.params.type].flat()
  return (types.includes('number') || types.includes('integer')) && /^-?\d+(?:\.\d+)?$/.test(value)
}

/** The schema of the field at this path, as far as the path leads through objects, arrays and unions. */
export function schemaAt(root: unknown, path: readonly string[]): JsonSchema | undefined {
  return path.reduce<JsonSchema | undefined>(childOf, isSchema(root) ? root : undefined)
}

/** The segments of a JSON pointer. */
function pathOf(pointer: string): string[] {
  const segments = pointer.split('/').slice(1)
  return segments.map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** The code and message of the deepest schema on the path that sets them. */
function schemaOverrides(root: JsonSchema, path: string[]): { code?: string; message?: string } {
  const overrides: { code?: string; message?: string } = {}
  let schema: JsonSchema | undefined = root
  for (const segment of [undefined, ...path]) {
    if (segment !== undefined) schema = childOf(schema, segment)
    if (typeof schema?.['x-code'] === 'string') overrides.code = schema['x-code']
    if (typeof schema?.['x-message'] === 'string') overrides.message = schema['x-message']
  }
  return overrides
}

function childOf(schema: JsonSchema | undefined, segment: string): JsonSchema | undefined {
  if (!schema) return undefined
  if (isSchema(schema.properties) && isSchema(schema.properties[segment])) return schema.properties[segment]
  if (isSchema(schema.items)) return schema.items
  const branches: unknown[] = Array.isArray(schema.anyOf) ? schema.anyOf : []
  return branches
    .filter(isSchema)
    .map((branch) => childOf(branch, segment))
    .find((child) => child !== undefined)
}

/** Errors that only report that errors inside them exist. */
const SUMMARIES: ReadonlySet<string> = new Set(['boolean', 'propertyNames'])

/**
 * A failed union reports the errors of every branch and then its own. If only one branch is not null, we report the
 * errors of that branch. If there are several, we report the union as a whole.
 */
function withoutRepeatedErrors(root: JsonSchema, errors: readonly SchemaError[]): SchemaError[] {
  const kept = new Set(errors.filter((error) => !SUMMARIES.has(error.keyword)))
  for (const error of kept) {
    const inside = [...kept].filter(({ schemaPath }) =>
      schemaPath.startsWith(`${error.schemaPath}/${error.keyword}`),
    )
    if (error.keyword === 'additionalProperties' && inside.length > 0) kept.delete(error)
    if (error.keyword !== 'anyOf' && error.keyword !== 'oneOf') continue
    const ofNull = inside.filter(({ keyword, params }) => keyword === 'type' && params.type === 'null')
    const isNullable = branchesAt(root, error).length === 2 && ofNull.length > 0
    for (const repeated of isNullable ? [error, ...ofNull] : inside) kept.delete(repeated)
  }
  return [...kept]
}

/** The branches of the union that an error reports. */
function branchesAt(root: JsonSchema, { schemaPath, keyword }: SchemaError): JsonSchema[] {
  let schema: unknown = root
  for (const segment of [...pathOf(schemaPath), keyword])
    schema = typeof schema === 'object' && schema !== null ? Reflect.get(schema, segment) : undefined
  return Array.isArray(schema) ? schema.filter(isSchema) : []
}

type Description = [code: string, message: string]

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
  null: 'null',
}

function describeError(root: JsonSchema, error: SchemaError): Description {
  switch (error.keyword) {
    case 'type': {
      const types = [error.params.type].flat().map((type) => TYPE_NAMES[type] ?? type)
      return ['invalid_type', `must be ${types.join(' or ')}.`]
    }
    case 'enum':
      return ['not_allowed', `must be one of ${error.params.allowedValues.join(', ')}.`]
    case 'const':
      return ['not_allowed', `must be ${String(error.params.allowedValue)}.`]
    case 'anyOf':
    case 'oneOf':
      return ['not_allowed', describeUnion(branchesAt(root, error))]
    case 'minLength':
      return ['too_short', describeMinLength(error.params.limit)]
    case 'maxLength':
      return ['too_long', `must be at most ${counted(error.params.limit, 'character')} long.`]
    case 'minItems':
      return ['too_short', `must have at least ${counted(error.params.limit, 'item')}.`]
    case 'maxItems':
      return ['too_long', `must have at most ${counted(error.params.limit, 'item')}.`]
    case 'minProperties':
      return ['too_short', `must have at least ${counted(error.params.limit, 'key')}.`]
    case 'maxProperties':
      return ['too_long', `must have at most ${counted(error.params.limit, 'key')}.`]
    case 'minimum':
      return ['out_of_range', `must be at least ${error.params.limit}.`]
    case 'maximum':
      return ['out_of_range', `must be at most ${error.params.limit}.`]
    case 'exclusiveMinimum':
      return ['out_of_range', `must be above ${error.params.limit}.`]
    case 'exclusiveMaximum':
      return ['out_of_range', `must be below ${error.params.limit}.`]
    case 'multipleOf':
      return ['out_of_range', `must be a multiple of ${error.params.multipleOf}.`]
    case 'uniqueItems':
      return ['not_unique', 'must not hold the same item twice.']
    case 'pattern':
      return ['invalid_format', 'is not in the expected form.']
    case 'format':
      return ['invalid_format', FORMATS[error.params.format]?.message ?? 'is not in the expected form.']
    default:
      return ['not_allowed', 'is not acceptable.']
  }
}

const counted = (limit: number | bigint, noun: string) => `${limit} ${noun}${Number(limit) === 1 ? '' : 's'}`

function describeMinLength(limit: number | bigint): string {
  return limit === 1 ? 'must not be empty.' : `must be at least ${limit} characters long.`
}

/** A union of constants is described as a list; other unions have no short description. */
function describeUnion(branches: readonly JsonSchema[]): string {
  const constants = branches.map((branch) => branch.const)
  return constants.every((constant) => constant !== undefined)
    ? `must be one of ${constants.join(', ')}.`
    : 'is not acceptable.'
}
