// The OpenAPI document, generated from the route objects that are served, so that it cannot differ from them.

import { API_ERRORS, type ApiErrorCode } from '../../core/errors.ts'
import type { Route, Tag } from '../../kit/http/route.ts'
import { isBodyRequired } from '../input/body.ts'
import { isSchema, type JsonSchema } from '../input/json-schema.ts'
import { documentedSchema } from './documented-schema.ts'
import {
  errorCodesOf,
  errorExamples,
  errorResponseObject,
  HEADERS,
  headerRefs,
  IDEMPOTENCY_KEY,
  SCHEMAS,
} from './parts.ts'

export interface DocumentInfo {
  /** The origin of the service; without it the server URL in the document is relative. */
  publicUrl?: string
}

// In the order of the interface, then the others. A tag is listed even while it has no operation.
const TAGS: Readonly<Record<Tag, string>> = {
  Checkout: 'Payments through a hosted checkout: start one, send the customer there, verify it.',
  P2P: 'Payments by transfer to a receiving account of the merchant.',
  'Payment Links': 'Links that anybody can pay, once or many times.',
  Customer: 'Changes to one customer and to its saved payment methods.',
  Customers: 'Customers and their saved payment methods, as this merchant knows them.',
  Misc: 'The wallet, and what this service can collect where.',
  Charges: 'Charges of a saved payment method without the customer present, and refunds.',
  Webhooks: 'Events and the endpoints that they are delivered to.',
  'API keys': 'The keys of this merchant: create, rotate with an overlap, revoke.',
}

const DESCRIPTION = `One JSON API to collect payments through many gateways.

Every operation requires the merchant's key in the \`x-api-key\` header, and returns only the data of that merchant. Amounts
in requests are numbers in major units; amounts in responses are decimal strings with two places. Requests are idempotent:
the same reference or \`Idempotency-Key\` with the same body returns the existing record. A field or query parameter that
an operation does not document is refused as \`unknown_field\`; \`metadata\` takes any. Null for an optional field equals
leaving it out.`

export function openApiDocument(routes: readonly Route[], info: DocumentInfo): object {
  const publicUrl = info.publicUrl ?? ''
  return {
    openapi: '3.1.0',
    info: {
      title: 'Cowry',
      version: '1.0',
      summary: 'Payment collection',
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: publicUrl === '' ? '/' : publicUrl }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    security: [{ apiKey: [] }],
    paths: pathsOf(routes),
    components: {
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'The key of a merchant.' },
      },
      parameters: { IdempotencyKey: IDEMPOTENCY_KEY },
      headers: HEADERS,
      schemas: SCHEMAS,
      examples: errorExamples(publicUrl),
    },
  }
}

function pathsOf(routes: readonly Route[]): JsonSchema {
  const paths: Record<string, JsonSchema> = {}
  for (const route of routes) {
    const operations = paths[route.path] ?? {}
    operations[route.method.toLowerCase()] = operationOf(route)
    paths[route.path] = operations
  }
  return paths
}

function operationOf(route: Route): JsonSchema {
  const { tag, summary, description } = route
  return {
    operationId: operationIdOf(route),
    tags: [tag],
    summary,
    description: [description, scopeSentence(route)].filter(Boolean).join('\n\n'),
    parameters: parametersOf(route),
    ...(route.body && { requestBody: requestBodyOf(route) }),
    responses: { [route.response.http]: successOf(route), ...errorsOf(errorCodesOf(route)) },
  }
}

/**
 * Derived from method and path, which never change: a reworded summary must not rename a method in a generated
 * client.
 */
function operationIdOf(route: Route): string {
  const verb = route.response.list ? 'list' : route.method.toLowerCase()
  const segments = route.path
    .split('/')
    .filter((segment) => segment !== '' && segment !== 'api' && segment !== 'v1')
  const names = segments.map((segment) => (segment.startsWith('{') ? `by-${segment.slice(1, -1)}` : segment))
  return names
    .flatMap((word) => word.split(/[^A-Za-z0-9]+/))
    .reduce((id, word) => id + word.charAt(0).toUpperCase() + word.slice(1), verb)
}

function parametersOf(route: Route): JsonSchema[] {
  return [
    ...fieldsOf(route.params).map(([name, schema]) => parameterOf('path', name, schema, true)),
    ...fieldsOf(route.query).map(([name, schema, required]) => parameterOf('query', name, schema, required)),
    ...(route.method === 'POST' ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
  ]
}

function fieldsOf(schema: unknown): [name: string, schema: JsonSchema, required: boolean][] {
  if (!isSchema(schema) || !isSchema(schema.properties)) return []
  const required = Array.isArray(schema.required) ? schema.required : []
  return Object.entries(schema.properties).map(([name, child]) => [
    name,
    documentedSchema(child),
    required.includes(name),
  ])
}

/** How the values of a parameter that is no plain text are written. */
const STYLES: Readonly<Record<string, JsonSchema>> = {
  array: { style: 'form', explode: false },
  object: { style: 'deepObject', explode: true },
}

function parameterOf(
  location: 'path' | 'query',
  name: string,
  schema: JsonSchema,
  required: boolean,
): JsonSchema {
  const { description, ...plain } = schema
  const described = { ...(description !== undefined && { description }), schema: plain }
  return { name, in: location, required, ...STYLES[String(schema.type)], ...described }
}

function requestBodyOf(route: Route): JsonSchema {
  const example = route.examples?.body
  const schema = withoutOtherFields(documentedSchema(route.body))
  const content = { schema, ...(example !== undefined && { example }) }
  return { required: isBodyRequired(route), content: { 'application/json': content } }
}

/** Says that a request may have no other fields, at every level but in free-form objects. */
function withoutOtherFields(schema: JsonSchema): JsonSchema {
  const { properties, items } = schema
  if (isSchema(items)) return { ...schema, items: withoutOtherFields(items) }
  if (!isSchema(properties)) return schema
  const strict = Object.entries(properties).map(([name, child]) => [
    name,
    isSchema(child) ? withoutOtherFields(child) : child,
  ])
  return { ...schema, properties: Object.fromEntries(strict), additionalProperties: false }
}

function successOf(route: Route): JsonSchema {
  const { list, file } = route.response
  if (file !== undefined) return fileResponseOf(route, file)
  const element = documentedSchema(route.response.data)
  const properties = {
    status: { type: 'string', const: 'success' },
    message: { type: 'string', description: 'For people; may change.' },
    data: list ? { type: 'array', items: element } : element,
    ...(list && { meta: { $ref: '#/components/schemas/PageMeta' } }),
  }
  const replayed = route.method === 'POST' ? ['Idempotent-Replayed'] : []
  return {
    description: route.response.http === 201 ? 'Created.' : 'Done.',
    headers: headerRefs(['X-Request-Id', 'RateLimit-Policy', 'RateLimit', ...replayed]),
    content: {
      'application/json': {
        schema: { type: 'object', required: Object.keys(properties), properties },
        ...(route.examples && { example: exampleOf(route, route.examples.data) }),
      },
    },
  }
}

function fileResponseOf(route: Route, mediaType: string): JsonSchema {
  const example = route.examples?.data
  const content = { schema: documentedSchema(route.response.data), ...(example !== undefined && { example }) }
  return {
    description: 'A file, without the envelope.',
    headers: headerRefs(['X-Request-Id', 'RateLimit-Policy', 'RateLimit']),
    content: { [mediaType]: content },
  }
}

function exampleOf(route: Route, data: unknown): JsonSchema {
  const envelope = { status: 'success', message: route.summary }
  if (!route.response.list) return { ...envelope, data }
  // The example of a list route is one element or the whole list.
  const elements = Array.isArray(data) ? data : [data]
  const meta = {
    page: 1,
    limit: 20,
    total: elements.length,
    totalIsCapped: false,
    pageCount: 1,
    hasNext: false,
    hasPrevious: false,
    nextCursor: null,
  }
  return { ...envelope, data: elements, meta }
}

function errorsOf(codes: readonly ApiErrorCode[]): JsonSchema {
  const byStatus = Object.groupBy(codes, (code) => API_ERRORS[code].http)
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, group]) => [status, errorResponseObject(group ?? [])] as const),
  )
}

function scopeSentence({ scope, alsoScope }: Route): string {
  return alsoScope === undefined
    ? `Needs the scope \`${scope}\`.`
    : `Needs the scope \`${scope}\` and the scope \`${alsoScope}\`.`
}
