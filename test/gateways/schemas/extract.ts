// Reduces a provider's OpenAPI description to the operations that a connector calls. References are resolved, texts and
// examples are dropped, and nested objects that the connector neither sends nor reads are left out.

/** A JSON schema of the extract. */
export interface Schema {
  type?: string | readonly string[]
  enum?: readonly unknown[]
  properties?: Readonly<Record<string, Schema>>
  required?: readonly string[]
  items?: Schema
  anyOf?: readonly Schema[]
  additionalProperties?: Schema | boolean
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  pattern?: string
  /** The description has an object here, which the extract does not contain. */
  'x-left-out'?: true
}

export type Method = 'GET' | 'POST'

/** An operation that a connector calls. Paths are names with dots between them; an array has none of its own. */
export interface CalledOperation {
  method: Method
  path: string
  /** The nested objects that the connector sends, in the body or the query. */
  sends?: readonly string[]
  /** The nested objects of responses that the connector reads. */
  reads?: readonly string[]
}

/** What the provider accepts although its description does not list it. */
export type Correction = ValueCorrection | FieldCorrection

interface ValueCorrection {
  /** The name of the field in any body: a value or a list of values. */
  field: string
  adds: string
  why: string
}

/** A field of the body of one operation. */
interface FieldCorrection {
  /** Such as POST /charge. */
  operation: string
  field: string
  schema: Schema
  why: string
}

export interface Operation {
  method: Method
  path: string
  parameters: Schema
  query: Schema
  body: { encoding: 'form' | 'json'; schema: Schema } | null
  /** The name of the schema, by HTTP status; `default` for all others. */
  responses: Readonly<Record<string, string>>
}

export interface Extract {
  source: Readonly<Record<string, unknown>>
  operations: readonly Operation[]
  /** Of responses, by name: several operations have the same. */
  schemas: Readonly<Record<string, Schema>>
}

/** Any JSON: the description is a document of others. */
// biome-ignore lint/suspicious/noExplicitAny: a document of any shape, walked here
type Json = any

/** The names below a field, each with the names below it. */
interface Names {
  [name: string]: Names
}

export function extractOperations(
  document: Json,
  called: readonly CalledOperation[],
  corrections: readonly Correction[],
): Pick<Extract, 'operations' | 'schemas'> {
  const names = new Map<string, string>()
  const name: NameSchema = (schema, proposed) => {
    const text = JSON.stringify(schema)
    const known = names.get(text) ?? proposed
    names.set(text, known)
    return known
  }
  const operations = called.map((operation) => extractOperation(document, operation, corrections, name))
  const schemas = [...names].map(([text, given]) => [given, JSON.parse(text)])
  return { operations, schemas: Object.fromEntries(schemas) }
}

/** The name of a schema: that of an equal one, or the proposed one. */
type NameSchema = (schema: Schema, proposed: string) => string

function extractOperation(
  document: Json,
  { method, path, sends = [], reads = [] }: CalledOperation,
  corrections: readonly Correction[],
  name: NameSchema,
): Operation {
  const described = document.paths[path]?.[method.toLowerCase()]
  if (!described) throw new Error(`the description has no ${method} ${path}`)
  const sent = toNames(sends)
  const parameters = [...(document.paths[path].parameters ?? []), ...(described.parameters ?? [])].map(
    (parameter: Json) => resolve(document, parameter),
  )
  const body = resolve(document, described.requestBody)
  const responses = toResponses(document, described.responses, toNames(reads))
  const named = Object.entries(responses).map(([status, schema]) => [
    status,
    name(schema, `${method} ${path} ${status}`),
  ])
  return {
    method,
    path,
    parameters: toObject(document, parameters, 'path', sent),
    query: toObject(document, parameters, 'query', sent),
    body: method === 'GET' ? null : toBody(document, body, sent, correctionsOf(corrections, method, path)),
    responses: Object.fromEntries(named),
  }
}

/** The corrections of this operation. */
function correctionsOf(corrections: readonly Correction[], method: string, path: string): Correction[] {
  return corrections.filter((one) => !('operation' in one) || one.operation === `${method} ${path}`)
}

function toNames(paths: readonly string[]): Names {
  const names: Names = {}
  for (const path of paths) {
    let inner = names
    for (const name of path.split('.')) {
      inner[name] ??= {}
      inner = inner[name]
    }
  }
  return names
}

/** The schema of all parameters in this place, as one object. */
function toObject(document: Json, parameters: readonly Json[], place: string, names: Names): Schema {
  const found = parameters.filter((parameter) => parameter.in === place)
  const properties = Object.fromEntries(
    found.map(({ name, schema }) => [name, reduce(document, schema, names[name])]),
  )
  const required = found.filter((parameter) => parameter.required).map(({ name }) => name)
  return { type: 'object', properties, ...(required.length > 0 && { required }) }
}

function toBody(
  document: Json,
  body: Json,
  names: Names,
  corrections: readonly Correction[],
): Operation['body'] {
  const json = body?.content['application/json']
  const content = json ?? body?.content['application/x-www-form-urlencoded']
  if (!content) return null
  const schema = reduce(document, content.schema, names)
  return { encoding: json ? 'json' : 'form', schema: correct(schema, corrections) }
}

function correct(schema: Schema, corrections: readonly Correction[]): Schema {
  const properties = Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const added = corrections.flatMap((one) => (one.field === name && 'adds' in one ? [one.adds] : []))
    return [name, addValues(property, added)]
  })
  const fields = corrections.flatMap((one) => ('schema' in one ? [[one.field, one.schema]] : []))
  return { ...schema, properties: Object.fromEntries([...properties, ...fields]) }
}

function addValues(schema: Schema, added: readonly string[]): Schema {
  if (schema.items) return { ...schema, items: addValues(schema.items, added) }
  return schema.enum ? { ...schema, enum: [...schema.enum, ...added] } : schema
}

function toResponses(document: Json, responses: Json, names: Names): Record<string, Schema> {
  const entries = Object.entries<Json>(responses).flatMap(([status, response]) => {
    const content = resolve(document, response).content?.['application/json']
    return content ? [[status, reduce(document, content.schema, names)]] : []
  })
  return Object.fromEntries(entries)
}

function resolve(document: Json, node: Json): Json {
  if (typeof node?.$ref !== 'string') return node
  const found = node.$ref
    .slice('#/'.length)
    .split('/')
    .reduce(
      (value: Json, name: string) => value?.[name.replaceAll('~1', '/').replaceAll('~0', '~')],
      document,
    )
  if (found === undefined) throw new Error(`the description has no ${node.$ref}`)
  return resolve(document, found)
}

/** The alternatives of a schema: more than one with anyOf or oneOf. Those of allOf are merged into one. */
function alternativesOf(document: Json, node: Json): Json[] {
  const schema = mergeAllOf(document, resolve(document, node))
  const alternatives = schema.properties ? undefined : (schema.anyOf ?? schema.oneOf)
  return alternatives ? alternatives.flatMap((one: Json) => alternativesOf(document, one)) : [schema]
}

function mergeAllOf(document: Json, schema: Json): Json {
  if (!schema.allOf) return schema
  const parts = schema.allOf.map((part: Json) => mergeAllOf(document, resolve(document, part)))
  return {
    type: 'object',
    properties: Object.assign({}, schema.properties, ...parts.map((part: Json) => part.properties)),
    required: [schema, ...parts].flatMap((part: Json) => part.required ?? []),
    nullable: schema.nullable,
  }
}

/** Objects with properties of their own: they are kept only where the connector uses them. */
function isNested(document: Json, node: Json): boolean {
  return alternativesOf(document, node).some(
    (schema) => schema.properties !== undefined || (schema.items && isNested(document, schema.items)),
  )
}

function reduce(document: Json, node: Json, names: Names | undefined): Schema {
  const isNullable = resolve(document, node).nullable === true
  const alternatives = alternativesOf(document, node)
  const kept = names ? alternatives : alternatives.filter((one) => !isNested(document, one))
  const schemas = kept.map((one) => reduceOne(document, one, names ?? {}))
  const [first, ...others] = distinct(schemas)
  if (!first) return { 'x-left-out': true }
  if (others.length === 0) return isNullable ? withNull(first) : first
  return { anyOf: [first, ...others, ...(isNullable ? [{ type: 'null' }] : [])] }
}

function distinct(schemas: readonly Schema[]): Schema[] {
  return [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()]
}

/** OpenAPI 3.0 writes nullable, JSON Schema a type. */
function withNull(schema: Schema): Schema {
  if (typeof schema.type !== 'string') return schema
  const { enum: values } = schema
  return { ...schema, type: [schema.type, 'null'], ...(values && { enum: [...values, null] }) }
}

const KEPT = ['enum', 'minLength', 'maxLength', 'minimum', 'maximum', 'pattern'] as const

/** A schema without alternatives. */
function reduceOne(document: Json, schema: Json, names: Names): Schema {
  const limits = Object.fromEntries(KEPT.filter((name) => name in schema).map((name) => [name, schema[name]]))
  const { type, properties, required, items, additionalProperties } = schema
  const isMap = typeof additionalProperties === 'object'
  return {
    ...(type !== undefined && { type }),
    ...limits,
    ...(properties && { properties: reduceEach(document, properties, names) }),
    ...(required?.length > 0 && { required }),
    ...(items && { items: reduce(document, items, names) }),
    ...(isMap && { additionalProperties: reduce(document, additionalProperties, names) }),
  }
}

function reduceEach(document: Json, properties: Json, names: Names): Record<string, Schema> {
  const entries = Object.entries(properties).map(([name, property]) => [
    name,
    reduce(document, property, names[name]),
  ])
  return Object.fromEntries(entries)
}
