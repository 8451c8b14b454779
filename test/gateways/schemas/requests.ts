// Validates the requests of a connector against the provider's own description: an operation, a field or a value that the
// description does not have is an issue.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ErrorObject, Options, ValidateFunction } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { FakeRequest } from '../fake-server.ts'
import type { Extract, Operation, Schema } from './extract.ts'
import { decodeForm } from './forms.ts'
import { SOURCES } from './sources.ts'

export type SentRequest = Pick<FakeRequest, 'method' | 'path' | 'query' | 'text'>

export interface FoundOperation {
  operation: Operation
  /** The values in the path, by name. */
  parameters: Record<string, string>
}

export interface Description {
  readonly extract: Extract
  find(request: Pick<SentRequest, 'method' | 'path'>): FoundOperation | undefined
  /** What is wrong with the request; empty if nothing is. */
  issuesOf(request: SentRequest): string[]
  /** What is wrong with a response; fields that the description does not have are allowed. */
  responseIssuesOf(request: Pick<SentRequest, 'method' | 'path'>, response: GivenResponse): string[]
}

export interface GivenResponse {
  status: number
  body: unknown
}

const loaded = new Map<string, Description>()

/** All descriptions of a provider: a request must be valid in each version. */
export function descriptionsOf(provider: string): Description[] {
  const names = Object.keys(SOURCES).filter((name) => SOURCES[name]?.provider === provider)
  return names.map((name) => {
    const description = loaded.get(name) ?? createDescription(readExtract(name))
    loaded.set(name, description)
    return description
  })
}

export function readExtract(name: string): Extract {
  // A boundary: the file is written by write.ts.
  return JSON.parse(readFileSync(join(import.meta.dirname, `${name}.json`), 'utf8')) as Extract
}

/** For a fake provider: every request that any test makes a connector send is validated. */
export function requestIssues(provider: string): (request: SentRequest) => string[] {
  return (request) => descriptionsOf(provider).flatMap(({ issuesOf }) => issuesOf(request))
}

export function createDescription(extract: Extract): Description {
  // Values of forms, queries and paths are text. Those of JSON have their types.
  const ofText = createCompiler(toStrict, { coerceTypes: true })
  const ofJson = createCompiler(toStrict)
  const ofResponse = createCompiler((schema) => schema)
  const patterns = extract.operations.map((operation) => ({ operation, pattern: toPattern(operation.path) }))

  const find: Description['find'] = ({ method, path }) => {
    // A path without a variable comes before one that has one in its place.
    for (const { operation, pattern } of patterns) {
      const match = operation.method === method ? pattern.exec(path) : null
      if (match) return { operation, parameters: decodeEach(match.groups ?? {}) }
    }
    return undefined
  }

  return {
    extract,
    find,
    issuesOf(request) {
      const found = find(request)
      if (!found) return [`${request.method} ${request.path} is not among the operations of the extract`]
      const { parameters, query, body } = found.operation
      const sent = [
        ofText(parameters, found.parameters, 'path'),
        ofText(query, decodeForm(request.query), 'query'),
        bodyIssues(body, request.text),
      ]
      return sent.flat().map((issue) => `${nameOf(found)}: ${issue}`)
    },
    responseIssuesOf(request, response) {
      const found = find(request)
      return found
        ? responseIssues(found.operation, response).map((issue) => `${nameOf(found)}: ${issue}`)
        : []
    },
  }

  function responseIssues(operation: Operation, { status, body }: GivenResponse): string[] {
    const schema = extract.schemas[operation.responses[status] ?? operation.responses.default ?? '']
    return schema ? ofResponse(schema, body, 'response') : []
  }

  function bodyIssues(body: Operation['body'], text: string): string[] {
    if (!body) return text === '' ? [] : ['the operation has no body']
    if (body.encoding === 'json') return ofJson(body.schema, JSON.parse(text), 'body')
    return ofText(body.schema, decodeForm(new URLSearchParams(text)), 'body')
  }
}

function nameOf({ operation: { method, path } }: FoundOperation): string {
  return `${method} ${path}`
}

function toPattern(path: string): RegExp {
  const escaped = path.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&')
  return new RegExp(`^${escaped.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)
}

function decodeEach(values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, decodeURIComponent(value)]))
}

type Check = (schema: Schema, value: unknown, place: string) => string[]

/** Each schema is compiled when it is first used. */
function createCompiler(prepare: (schema: Schema) => object | boolean, options: Options = {}): Check {
  const ajv = new Ajv2020({ strict: false, allErrors: true, ...options })
  const compiled = new Map<Schema, ValidateFunction>()
  return (schema, value, place) => {
    const validate = compiled.get(schema) ?? ajv.compile(prepare(schema))
    compiled.set(schema, validate)
    validate(value)
    return (validate.errors ?? []).map((error) => describe(error, place))
  }
}

function describe({ instancePath, message, params, keyword }: ErrorObject, place: string): string {
  if (keyword === 'false schema')
    return `${place}${instancePath} is left out of the extract: name it in sources.ts and write the extract again`
  return `${place}${instancePath} ${message} ${JSON.stringify(params)}`
}

/** Objects reject properties that they do not name, and what was left out cannot be judged. */
function toStrict(schema: Schema): object | boolean {
  if (schema['x-left-out']) return false
  const { properties, items, anyOf, additionalProperties } = schema
  const isMap = typeof additionalProperties === 'object'
  return {
    ...schema,
    ...(properties && { properties: mapValues(properties, toStrict), additionalProperties: false }),
    ...(isMap && { additionalProperties: toStrict(additionalProperties) }),
    ...(items && { items: toStrict(items) }),
    ...(anyOf && { anyOf: anyOf.map(toStrict) }),
  }
}

function mapValues<From, To>(record: Readonly<Record<string, From>>, change: (value: From) => To) {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]))
}
