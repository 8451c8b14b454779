// The operations of the OpenAPI document as the methods of resources.

import type { Schema, Schemas } from './schema-types.ts'

export interface OpenApiDocument {
  info: { version: string }
  paths: Record<string, Record<string, DocumentedOperation>>
  components: { schemas: Schemas; parameters?: Record<string, Parameter> }
}

interface DocumentedOperation {
  operationId: string
  summary: string
  description?: string
  parameters?: (Parameter | { $ref: string })[]
  requestBody?: { required?: boolean; content: Content }
  responses: Record<string, { content?: Content }>
}

type Content = Record<string, { schema: Schema; example?: unknown }>

interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  description?: string
  schema: Schema
}

export interface SdkOperation {
  resource: string
  verb: string
  method: string
  path: string
  summary: string
  description: string | undefined
  pathParameters: string[]
  /** The filters of a list, and the like. */
  query: { schema: Schema; required: boolean } | undefined
  body: { schema: Schema; required: boolean } | undefined
  /** Of the record, or of one record of a list. Undefined for a file. */
  data: Schema | undefined
  isList: boolean
}

export function operationsOf(document: OpenApiDocument): SdkOperation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      toOperation(document, path, method.toUpperCase(), operation),
    ),
  )
}

function toOperation(
  { components }: OpenApiDocument,
  path: string,
  method: string,
  operation: DocumentedOperation,
): SdkOperation {
  const [resource = '', verb] = operation.operationId.split('.')
  if (verb === undefined) throw new Error(`${operation.operationId} is not of the form resource.verb`)
  const parameters = (operation.parameters ?? []).map((one) => resolveParameter(one, components.parameters))
  const json = operation.requestBody?.content['application/json']
  return {
    resource,
    verb,
    method,
    path,
    summary: operation.summary,
    description: operation.description,
    pathParameters: [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name),
    query: toQuery(parameters.filter((one) => one.in === 'query')),
    body: json && { schema: json.schema, required: operation.requestBody?.required ?? false },
    ...dataOf(operation, components.schemas),
  }
}

function resolveParameter(
  parameter: Parameter | { $ref: string },
  shared: Record<string, Parameter> = {},
): Parameter {
  if (!('$ref' in parameter)) return parameter
  const found = shared[parameter.$ref.slice('#/components/parameters/'.length)]
  if (!found) throw new Error(`${parameter.$ref} is not in the document`)
  return found
}

function toQuery(parameters: readonly Parameter[]): SdkOperation['query'] {
  if (parameters.length === 0) return undefined
  const required = parameters.filter((one) => one.required).map(({ name }) => name)
  const properties = parameters.map(({ name, schema, description }) => [name, { ...schema, description }])
  const schema: Schema = { type: 'object', required, properties: Object.fromEntries(properties) }
  return { schema, required: required.length > 0 }
}

function dataOf(operation: DocumentedOperation, schemas: Schemas): Pick<SdkOperation, 'data' | 'isList'> {
  const success = Object.entries(operation.responses).find(([status]) => status.startsWith('2'))?.[1]
  const envelope = success?.content?.['application/json']?.schema
  if (!envelope) return { data: undefined, isList: false }
  const { data, meta } = propertiesOf(envelope, schemas)
  if (!data) throw new Error(`${operation.operationId} has no data`)
  return meta ? { data: data.items ?? {}, isList: true } : { data, isList: false }
}

/** The properties of an envelope, which may be a named schema or consist of several. */
export function propertiesOf(schema: Schema, schemas: Schemas): Record<string, Schema> {
  const named =
    schema.$ref === undefined ? undefined : schemas[schema.$ref.slice('#/components/schemas/'.length)]
  const parts = [...(named ? [named] : []), ...(schema.allOf ?? [])]
  return Object.assign({}, ...parts.map((part) => propertiesOf(part, schemas)), schema.properties)
}
