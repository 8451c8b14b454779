// An OpenAPI document, generated from the route objects that are served, so that it cannot differ from them.

import type { JsonSchema } from '../input/json-schema.ts'
import type { Components } from './components.ts'
import type { DocumentedRoute } from './documented-route.ts'
import { recordExamples } from './examples.ts'
import { pathsOf } from './operations.ts'
import { errorExamples, HEADERS, IDEMPOTENCY_KEY, SCHEMAS } from './parts.ts'

interface DocumentTexts {
  /** The origin of the service; without it the server URL in the document is relative. */
  publicUrl?: string
  title: string
  summary: string
  description: string
  /** The description of each tag, in their order. */
  tags: Readonly<Record<string, string>>
  /** The groups of a sidebar, for tools that know them. */
  tagGroups?: readonly { name: string; tags: readonly string[] }[]
  /** How every operation is authorized, under its name. */
  securityScheme: Readonly<Record<string, JsonSchema>>
  webhooks?: JsonSchema
  /** May have parts already; those of the routes are added. */
  components: Components
  /** In place of the same in SCHEMAS. */
  schemas?: JsonSchema
}

export function assembleDocument(routes: readonly DocumentedRoute[], texts: DocumentTexts): object {
  const { title, summary, description, tagGroups, securityScheme, webhooks, components } = texts
  const publicUrl = texts.publicUrl ?? ''
  const paths = pathsOf(routes, components)
  const takesKeys = routes.some((route) => route.isIdempotent)
  const { 'Idempotent-Replayed': replayed, ...headers } = HEADERS
  return {
    openapi: '3.1.0',
    info: {
      title,
      version: '1.0',
      summary,
      description,
      contact: { name: 'The operator of this service' },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: publicUrl === '' ? '/' : publicUrl }],
    tags: Object.entries(texts.tags).map(([name, text]) => ({ name, description: text })),
    ...(tagGroups && { 'x-tagGroups': tagGroups }),
    security: Object.keys(securityScheme).map((name) => ({ [name]: [] })),
    paths,
    ...(webhooks && { webhooks }),
    components: {
      securitySchemes: securityScheme,
      parameters: { ...(takesKeys && { IdempotencyKey: IDEMPOTENCY_KEY }), ...components.all('parameters') },
      headers: { ...headers, ...(takesKeys && { 'Idempotent-Replayed': replayed }) },
      responses: components.all('responses'),
      schemas: { ...SCHEMAS, ...texts.schemas, ...withExamples(components, routes) },
      examples: errorExamples(publicUrl, new Set(routes.flatMap(({ codes }) => codes))),
    },
  }
}

function withExamples(components: Components, routes: readonly DocumentedRoute[]): JsonSchema {
  const examples = recordExamples(routes)
  const schemas = Object.entries(components.all('schemas')).map(([name, schema]) => [
    name,
    examples.has(name) ? { ...Object(schema), examples: [examples.get(name)] } : schema,
  ])
  return Object.fromEntries(schemas)
}
