// The operations of a document: their parameters, bodies and responses.

import { API_ERRORS } from '../../core/errors.ts'
import { definitionOf } from '../../kit/http/schema.ts'
import { isBodyRequired } from '../input/body.ts'
import { isSchema, type JsonSchema } from '../input/json-schema.ts'
import { type Components, pascalCase } from './components.ts'
import type { DocumentedRoute } from './documented-route.ts'
import { documentedSchema } from './documented-schema.ts'
import { createExamples, type Examples } from './examples.ts'
import { ARCHIVED_HEADER, errorResponseObject, headerRefs, STATUS_NAMES } from './parts.ts'
import { type SharedPart, shareParts } from './shared-parts.ts'

interface Context {
  components: Components
  examples: Examples
}

export function pathsOf(routes: readonly DocumentedRoute[], components: Components): JsonSchema {
  const examples = createExamples(routes)
  // Before the parameters, whose names must differ from those of the schemas.
  const contents = routes.map((route) => ({
    route,
    requestBody: route.body && requestBodyOf(route, components),
    success: successOf(route, { components, examples }),
  }))
  const parameters = shareParts(routes.flatMap(parametersFor(components)), components, 'parameters')
  const errors = shareParts(routes.flatMap(errorsFor), components, 'responses')
  const paths: Record<string, JsonSchema> = {}
  for (const { route, requestBody, success } of contents) {
    const { operationId, tag, summary, description } = route
    const operations = paths[route.path] ?? {}
    operations[route.method.toLowerCase()] = {
      operationId,
      tags: [tag],
      summary,
      ...(description !== '' && { description }),
      parameters: [...parametersFor(components)(route).map(parameters), ...idempotencyKeyOf(route)],
      ...(requestBody && { requestBody }),
      responses: {
        [route.response.http]: success,
        ...Object.fromEntries(errorsFor(route).map((error) => [error.key, errors(error)])),
      },
    }
    paths[route.path] = operations
  }
  return paths
}

function idempotencyKeyOf({ isIdempotent }: DocumentedRoute): JsonSchema[] {
  return isIdempotent ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []
}

const parametersFor =
  (components: Components) =>
  (route: DocumentedRoute): SharedPart[] =>
    [
      ...fieldsOf(route.params, components).map(([name, schema]) => parameterOf('path', name, schema, true)),
      ...fieldsOf(route.query, components).map(([name, schema, required]) =>
        parameterOf('query', name, schema, required),
      ),
    ].map((content) => {
      const key = String(content.name)
      return { key, name: pascalCase(key), owner: route.operationId, content }
    })

function fieldsOf(
  schema: unknown,
  components: Components,
): [name: string, schema: JsonSchema, required: boolean][] {
  if (!isSchema(schema) || !isSchema(schema.properties)) return []
  const required = Array.isArray(schema.required) ? schema.required : []
  return Object.entries(schema.properties).map(([name, child]) => [
    name,
    documentedSchema(child, { components }),
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
  return { name, in: location, ...(required && { required }), ...STYLES[String(schema.type)], ...described }
}

function errorsFor({ codes, operationId }: DocumentedRoute): SharedPart[] {
  const byStatus = Object.groupBy(codes, (code) => API_ERRORS[code].http)
  return Object.entries(byStatus).map(([status, group = []]) => ({
    key: status,
    name: pascalCase(group.length === 1 ? String(group[0]) : (STATUS_NAMES[status] ?? status)),
    owner: operationId,
    content: errorResponseObject(group),
  }))
}

function requestBodyOf(route: DocumentedRoute, components: Components): JsonSchema {
  const example = route.examples?.body
  const schema = documentedSchema(route.body, { components, isRequest: true })
  const content = { schema, ...(example !== undefined && { example }) }
  return { required: isBodyRequired(route), content: { 'application/json': content } }
}

function successOf(route: DocumentedRoute, { components, examples }: Context): JsonSchema {
  const { http, file, data, isArchived } = route.response
  const isFile = file !== undefined
  const schema = isFile ? documentedSchema(data, { components }) : envelopeOf(route, components)
  const example = isFile ? route.examples?.data : examples.envelopeOf(route)
  const content = { schema, ...(example !== undefined && { example }) }
  const statusText = http === 201 ? 'Created.' : 'OK.'
  return {
    description: isFile ? 'A file, no envelope.' : statusText,
    ...(route.isIdempotent && { headers: headerRefs(['Idempotent-Replayed']) }),
    ...(isFile && isArchived && { headers: ARCHIVED_HEADER }),
    content: { [file ?? 'application/json']: content },
  }
}

/** PaymentResponse for a record that is named Payment, and PaymentList for a page of them. */
function envelopeOf({ response: { data, list } }: DocumentedRoute, components: Components): JsonSchema {
  const element = documentedSchema(data, { components })
  const properties = {
    status: { type: 'string', const: 'success', description: 'Success.' },
    message: { type: 'string', description: 'For people; may change.' },
    data: list ? { type: 'array', items: element, description: 'Records of this page.' } : element,
    ...(list && { meta: { $ref: '#/components/schemas/PageMeta' } }),
  }
  const envelope = { type: 'object', required: Object.keys(properties), properties }
  const name = isSchema(data) ? definitionOf(data)?.name : undefined
  return name === undefined
    ? envelope
    : components.add('schemas', `${name}${list ? 'List' : 'Response'}`, envelope)
}
