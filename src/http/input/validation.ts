// Validates a request against the schemas of its route. Path, query and body are read, cleaned and validated, then the
// route's own rules run; one error returns all issues. Each route is compiled once, at its first request.

import { type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { Format } from 'typebox/format'
import { Settings } from 'typebox/system'
import { errorFromIssues, type Issue } from '../../core/errors.ts'
import type { BodyFacts } from '../../kit/http/route.ts'
import type { JsonBody } from './body.ts'
import { compileClean } from './clean.ts'
import { FORMATS } from './formats.ts'
import { isSchema, type JsonSchema } from './json-schema.ts'
import { compileReadParams, compileReadQuery } from './query.ts'
import { issuesOf, schemaAt } from './validation-issues.ts'

interface InputSchemas {
  params?: TSchema
  query?: TSchema
  body?: TSchema
  issues?: (body: Record<string, unknown>, facts: BodyFacts) => Issue[]
}

export interface CheckedInput {
  params: Record<string, unknown>
  query: Record<string, unknown>
  body: Record<string, unknown> | undefined
}

export type CheckInput = (params: unknown, queryText: string, body: JsonBody | undefined) => CheckedInput

/** A hostile body could cause thousands of issues, so the response lists at most this many. */
const MAX_ISSUES = 100

/** A failed union has errors for each branch, so there are more schema errors than issues. */
const MAX_SCHEMA_ERRORS = 10 * MAX_ISSUES

export type CompileInput = (schemas: InputSchemas) => CheckInput

/** The formats and the error limit are global in typebox, and must be set before a schema is compiled. */
export function createInputCompiler(): CompileInput {
  Settings.Set({ maxErrors: MAX_SCHEMA_ERRORS })
  for (const [name, format] of Object.entries(FORMATS)) Format.Set(name, format.matches)
  return (schemas) => {
    let check: CheckInput | undefined
    return (params, queryText, body) => {
      check ??= compileCheck(schemas)
      return check(params, queryText, body)
    }
  }
}

/** An operation without a body schema takes no body, or an empty object. */
const NO_FIELDS = Type.Object({})

type CheckPart = (value: Record<string, unknown>, issues: Issue[]) => Record<string, unknown>

function compilePart(schema: TSchema | undefined, rootName: string): CheckPart {
  // Without a schema we only refuse control characters.
  const plain: JsonSchema = isSchema(schema) ? schema : {}
  const clean = compileClean(plain)
  const validator = Compile(schema ?? {})
  // 1e400 is a JSON number, which JavaScript reads as Infinity and typebox rejects as no number. It is validated as the
  // largest number instead, so that the bounds of the field, or its own rules, report that it is out of range.
  const schemaErrors = (value: unknown) => validator.Errors(withFiniteNumbers(value))
  return (value, issues) => {
    const cleaned = clean(value, [], issues)
    if (!validator.Check(cleaned)) issues.push(...issuesOf(plain, schemaErrors(cleaned), rootName, cleaned))
    // The input is an object, and cleaning an object by an object schema returns an object.
    return isSchema(cleaned) ? cleaned : {}
  }
}

function withFiniteNumbers(value: unknown): unknown {
  if (value === Number.POSITIVE_INFINITY) return Number.MAX_VALUE
  if (value === Number.NEGATIVE_INFINITY) return -Number.MAX_VALUE
  if (Array.isArray(value)) return value.map(withFiniteNumbers)
  if (!isSchema(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withFiniteNumbers(one)]))
}

function compileCheck(schemas: InputSchemas): CheckInput {
  const readParams = compileReadParams(isSchema(schemas.params) ? schemas.params : undefined)
  const readQuery = compileReadQuery(isSchema(schemas.query) ? schemas.query : undefined)
  const checkParams = compilePart(schemas.params, 'path')
  const checkQuery = compilePart(schemas.query, 'query')
  const checkBody = compilePart(schemas.body ?? NO_FIELDS, 'body')
  return (rawParams, queryText, rawBody) => {
    const issues: Issue[] = []
    const params = checkParams(readParams(rawParams), issues)
    const query = checkQuery(readQuery(queryText, issues), issues)
    if (issues.length === 0) issues.push(...rangeIssues(query))
    const body = rawBody && checkBody(rawBody.value, issues)
    if (body && rawBody) {
      issues.push(...(schemas.issues?.(body, rawBody.facts) ?? []))
      issues.push(...exponentIssues(schemas.body, rawBody.facts))
    }
    if (issues.length > 0) throw errorFromIssues(firstPerField(issues))
    return { params, query, body: schemas.body && body }
  }
}

/** A range of times that ends before it begins would look like a list without rows. */
function rangeIssues(query: Record<string, unknown>): Issue[] {
  return Object.entries(query).flatMap(([field, from]) => {
    if (!field.endsWith('From')) return []
    const end = field.replace(/From$/, 'To')
    if (!(new Date(String(query[end])) < new Date(String(from)))) return []
    return [{ field: end, code: 'out_of_range', message: `${end} must not be before ${field}.` }]
  })
}

/** A number with an exponent is easily misread, and other systems read it differently, so no field of ours takes one. */
function exponentIssues(schema: TSchema | undefined, { exponentNumbers = new Set() }: BodyFacts): Issue[] {
  const fields = [...exponentNumbers].filter((field) => isNumeric(schemaAt(schema, field.split('.'))))
  const message = 'must be written in plain digits, without an exponent.'
  return fields.map((field) => ({ field, code: 'invalid_format', message: `${field} ${message}` }))
}

function isNumeric(schema: JsonSchema | undefined): boolean {
  const types = [schema, ...[schema?.anyOf ?? []].flat().filter(isSchema)].map((one) => one?.type)
  return types.includes('number') || types.includes('integer')
}

/** Reports one issue per field, because correcting the first usually corrects the others. */
function firstPerField(issues: Issue[]): Issue[] {
  const byField = new Map<string, Issue>()
  for (const issue of issues) {
    if (!byField.has(issue.field)) byField.set(issue.field, issue)
  }
  return [...byField.values()].slice(0, MAX_ISSUES)
}
