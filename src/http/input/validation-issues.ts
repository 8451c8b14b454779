// The validator's findings as issues that a developer can act on: a dotted field, a code and a sentence. A schema
// can give its field a code (x-code) and words (x-message, the rest of a sentence that begins with the field's name).

import type { ErrorObject } from 'ajv'
import type { Issue } from '../../core/errors.ts'
import { fieldName } from './characters.ts'
import { isSchema, type JsonSchema } from './clean.ts'
import { FORMATS } from './formats.ts'

/** `rootName` names the value itself, such as body, when a issue is about no single field of it. */
export function issuesOf(schema: JsonSchema, errors: readonly ErrorObject[], rootName: string): Issue[] {
  return withoutBranchErrors(errors).map((error) => issueOf(schema, error, rootName))
}

function issueOf(root: JsonSchema, error: ErrorObject, rootName: string): Issue {
  const path = pathOf(error)
  const field = path.length > 0 ? fieldName(path) : rootName
  if (error.keyword === 'required') return { field, code: 'required', message: `${field} is required.` }
  const overrides = schemaOverrides(root, path)
  const [code, message] = DESCRIPTIONS[error.keyword]?.(error) ?? ['not_allowed', 'is not acceptable.']
  return { field, code: overrides.code ?? code, message: `${field} ${overrides.message ?? message}` }
}

function pathOf(error: ErrorObject): string[] {
  const path = error.instancePath.split('/').slice(1).map(unescapePointer)
  if (error.keyword === 'required') return [...path, String(error.params.missingProperty)]
  return error.propertyName === undefined ? path : [...path, error.propertyName]
}

function unescapePointer(segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** The nearest code and words that the schemas on the way to a field give. */
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

/**
 * A failed union reports every branch and then itself. When only one branch is not null, its findings say best what is
 * wrong; when there are several, only the union as a whole can be named.
 */
function withoutBranchErrors(errors: readonly ErrorObject[]): ErrorObject[] {
  const unions = errors.filter((error) => error.keyword === 'anyOf' || error.keyword === 'oneOf')
  const kept = new Set(errors.filter((error) => error.keyword !== 'propertyNames'))
  for (const union of unions) {
    const inside = errors.filter(
      (error) => error !== union && error.schemaPath.startsWith(`${union.schemaPath}/`),
    )
    const ofNull = inside.filter((error) => error.keyword === 'type' && error.params.type === 'null')
    const isNullable = branchCount(union) === 2 && ofNull.length > 0
    for (const error of isNullable ? [union, ...ofNull] : inside) kept.delete(error)
  }
  return [...kept]
}

function branchCount(union: ErrorObject): number {
  return Array.isArray(union.schema) ? union.schema.length : 0
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

const limitDescription = (code: string, message: (limit: string) => string) => (error: ErrorObject) =>
  [code, message(String(error.params.limit))] satisfies Description

const DESCRIPTIONS: Readonly<Record<string, (error: ErrorObject) => Description>> = {
  type: (error) => {
    const types = [error.params.type].flat().map((type) => TYPE_NAMES[String(type)] ?? String(type))
    return ['invalid_type', `must be ${types.join(' or ')}.`]
  },
  enum: (error) => ['not_allowed', `must be one of ${[error.params.allowedValues].flat().join(', ')}.`],
  const: (error) => ['not_allowed', `must be ${String(error.params.allowedValue)}.`],
  anyOf: (error) => ['not_allowed', alternatives(error)],
  oneOf: (error) => ['not_allowed', alternatives(error)],
  minLength: limitDescription('too_short', (limit) =>
    limit === '1' ? 'must not be empty.' : `must be at least ${limit} characters long.`,
  ),
  maxLength: limitDescription('too_long', (limit) => `must be at most ${limit} characters long.`),
  minItems: limitDescription('too_short', (limit) => `must have at least ${limit} items.`),
  maxItems: limitDescription('too_long', (limit) => `must have at most ${limit} items.`),
  minProperties: limitDescription('too_short', (limit) => `must have at least ${limit} keys.`),
  maxProperties: limitDescription('too_long', (limit) => `must have at most ${limit} keys.`),
  minimum: limitDescription('out_of_range', (limit) => `must be at least ${limit}.`),
  maximum: limitDescription('out_of_range', (limit) => `must be at most ${limit}.`),
  exclusiveMinimum: limitDescription('out_of_range', (limit) => `must be above ${limit}.`),
  exclusiveMaximum: limitDescription('out_of_range', (limit) => `must be below ${limit}.`),
  multipleOf: (error) => ['out_of_range', `must be a multiple of ${String(error.params.multipleOf)}.`],
  uniqueItems: () => ['not_unique', 'must not hold the same item twice.'],
  pattern: () => ['invalid_format', 'is not in the expected form.'],
  format: (error) => [
    'invalid_format',
    FORMATS[String(error.params.format)]?.message ?? 'is not in the expected form.',
  ],
}

/** A union of constants reads as a list of them; other unions have no short name. */
function alternatives(error: ErrorObject): string {
  const branches: unknown[] = Array.isArray(error.schema) ? error.schema : []
  const constants = branches.filter(isSchema).map((branch) => branch.const)
  return constants.every((constant) => constant !== undefined)
    ? `must be one of ${constants.join(', ')}.`
    : 'is not acceptable.'
}
