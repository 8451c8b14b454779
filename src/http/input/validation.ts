// Everything a schema can say about a request, checked at once: path, query and body are read, cleaned and validated,
// the route's own rules are asked, and all issues go back together. Compiled once per route, at start.

import { Ajv, type ValidateFunction } from 'ajv'
import type { TSchema } from 'typebox'
import { errorFromIssues, type Issue } from '../../core/errors.ts'
import type { BodyFacts } from '../../kit/route.ts'
import type { JsonBody } from './body.ts'
import { type Clean, compileClean, isSchema, type JsonSchema } from './clean.ts'
import { FORMATS } from './formats.ts'
import { compileReadParams, compileReadQuery } from './query.ts'
import { issuesOf } from './validation-issues.ts'

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

/** Enough to mend a request; a hostile body could earn thousands, and the answer must stay small. */
const MAX_ISSUES = 100

export type CompileInput = (schemas: InputSchemas) => CheckInput

/** One validator for all routes: its formats and options are shared, and schemas used twice are compiled once. */
export function createInputCompiler(): CompileInput {
  const ajv = new Ajv({
    allErrors: true,
    strict: false,
    useDefaults: true,
    verbose: true,
    validateSchema: false,
  })
  for (const [name, format] of Object.entries(FORMATS)) ajv.addFormat(name, format.matches)
  const compilePart = (schema: TSchema | undefined, rootName: string): CheckPart => {
    // Without a schema nothing is known but that no text may hold control characters.
    if (!isSchema(schema)) return checkPart({}, compileClean({}), ajv.compile({}), rootName)
    return checkPart(schema, compileClean(schema), ajv.compile(schema), rootName)
  }
  return (schemas) => compileCheck(schemas, compilePart)
}

type CheckPart = (value: Record<string, unknown>, issues: Issue[]) => Record<string, unknown>

function checkPart(
  schema: JsonSchema,
  clean: Clean,
  validate: ValidateFunction,
  rootName: string,
): CheckPart {
  return (value, issues) => {
    const cleaned = clean(value, [], issues)
    if (!validate(cleaned)) issues.push(...issuesOf(schema, validate.errors ?? [], rootName))
    // An object on top goes in, and cleaning an object by an object's schema gives an object.
    return isSchema(cleaned) ? cleaned : {}
  }
}

function compileCheck(
  schemas: InputSchemas,
  compilePart: (schema: TSchema | undefined, rootName: string) => CheckPart,
): CheckInput {
  const readParams = compileReadParams(isSchema(schemas.params) ? schemas.params : undefined)
  const readQuery = compileReadQuery(isSchema(schemas.query) ? schemas.query : undefined)
  const checkParams = compilePart(schemas.params, 'path')
  const checkQuery = compilePart(schemas.query, 'query')
  const checkBody = compilePart(schemas.body, 'body')
  return (rawParams, queryText, rawBody) => {
    const issues: Issue[] = []
    const params = checkParams(readParams(rawParams), issues)
    const query = checkQuery(readQuery(queryText, issues), issues)
    const body = rawBody && checkBody(rawBody.value, issues)
    if (body && rawBody) issues.push(...(schemas.issues?.(body, rawBody.facts) ?? []))
    if (issues.length > 0) throw errorFromIssues(firstPerField(issues))
    return { params, query, body }
  }
}

/** A field with two faults is complained of once: mending the first usually mends the second. */
function firstPerField(issues: Issue[]): Issue[] {
  const byField = new Map<string, Issue>()
  for (const issue of issues) {
    if (!byField.has(issue.field)) byField.set(issue.field, issue)
  }
  return [...byField.values()].slice(0, MAX_ISSUES)
}
