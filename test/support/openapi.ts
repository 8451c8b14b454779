// Validates real responses against the OpenAPI document: any difference is an error.

import assert from 'node:assert/strict'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { ApiResponse } from './api.ts'

// biome-ignore lint/suspicious/noExplicitAny: a document of any shape, walked and asserted on
export type Document = any

export interface DocumentedOperation {
  name: string
  method: string
  path: string
  // biome-ignore lint/suspicious/noExplicitAny: see Document
  operation: any
}

/** The operations with everything that they refer to. */
export function operationsOf(document: Document): DocumentedOperation[] {
  const resolve = createResolver(document)
  return Object.entries<Record<string, unknown>>(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path,
      operation: resolve(operation),
    })),
  )
}

/** Replaces references by what they refer to. Keywords beside a reference are kept. */
function createResolver(document: Document): (value: Document) => Document {
  const known = new Map<string, Document>()
  const target = (ref: string) => {
    if (!known.has(ref)) known.set(ref, resolve(nodeAt(document, ref.slice(2).split('/'))))
    return known.get(ref)
  }
  const resolve = (value: Document): Document => {
    if (Array.isArray(value)) return value.map(resolve)
    if (typeof value !== 'object' || value === null) return value
    const { $ref, ...rest } = value
    const members = Object.entries(rest).map(([name, member]) => [name, resolve(member)])
    return { ...(typeof $ref === 'string' && target($ref)), ...Object.fromEntries(members) }
  }
  return resolve
}

/** The node at a pointer, through the references on the way. */
function nodeAt(document: Document, pointer: readonly string[]): Document {
  return followReferences(document, pointer).node
}

/** The node at a pointer, and where it really is: behind the references on the way. */
function followReferences(
  document: Document,
  pointer: readonly string[],
): { node: Document; place: string[] } {
  const start: { node: Document; place: string[] } = { node: document, place: [] }
  return pointer.reduce(({ node, place }, part) => {
    const at = node?.[part]
    if (typeof at?.$ref === 'string') return followReferences(document, at.$ref.slice(2).split('/'))
    return { node: at, place: [...place, part] }
  }, start)
}

/** The error codes that an operation documents, by HTTP status. */
export function codesOf({ operation }: DocumentedOperation): Record<string, string[]> {
  const errors = Object.entries<Document>(operation.responses).filter(([status]) => Number(status) >= 400)
  return Object.fromEntries(
    errors.map(([status, response]) => [status, Object.keys(response.content['application/json'].examples)]),
  )
}

/** The example of the first response: that of the operation, or that of its record. */
export function responseExampleOf({ operation }: DocumentedOperation): Document {
  const [response] = Object.values<Document>(operation.responses)
  const [content] = Object.values<Document>(response.content)
  if (content.example !== undefined) return content.example
  const { data } = content.schema.properties
  const [record] = (data.items ?? data).examples ?? []
  assert.ok(record, `${operation.operationId} has no example`)
  const envelope = { status: 'success', message: 'Done.' }
  return data.items ? { ...envelope, data: [record], meta: PAGE } : { ...envelope, data: record }
}

const PAGE = {
  page: 1,
  limit: 20,
  total: 1,
  totalIsCapped: false,
  pageCount: 1,
  hasNext: false,
  hasPrevious: false,
  nextCursor: null,
}

export interface ResponseValidator {
  /** Fails unless the operation documents this response: its status, its code, and every field of its body. */
  assertDocumented(operation: DocumentedOperation, answer: ApiResponse): void
  /** Validation issues of a value for the schema at this pointer of the document. */
  schemaErrors(pointer: string[], value: unknown): string[]
}

/** Values that only a later version returns are refused, unless these are asked for. */
export function createResponseValidator(
  document: Document,
  { acceptsNewValues = false } = {},
): ResponseValidator {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  ajv.addFormat('uuid', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  ajv.addFormat('email', /^[^@\s]+@[^@\s]+$/)
  ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  const base = acceptsNewValues ? document : withoutNewValues(document)
  const closed = withoutExtraProperties(base, base)
  // The whole document is one schema, so that each part of it is compiled once, whatever refers to it.
  ajv.addSchema(closed, DOCUMENT_ID, false, false)

  const schemaErrors: ResponseValidator['schemaErrors'] = (pointer, value) => {
    const { node, place } = followReferences(closed, pointer)
    assert.ok(node, `the document has no schema at ${pointer.join(' ')}`)
    const validate = ajv.getSchema(`${DOCUMENT_ID}#/${place.map(escapePointer).join('/')}`)
    assert.ok(validate, `no schema at ${place.join(' ')}`)
    validate(value)
    return (validate.errors ?? []).map(({ instancePath, message, params }) =>
      [instancePath, message, JSON.stringify(params)].join(' '),
    )
  }

  return {
    schemaErrors,
    assertDocumented(documented, answer) {
      const { path, method } = documented
      const status = String(answer.http)
      const type = (answer.headers.get('content-type') ?? '').replace('; charset=utf-8', '')
      if (type === 'application/problem+json') {
        assert.deepEqual(problemErrors(answer), [], answer.text)
        assert.ok(codesOf(documented)[status]?.includes(answer.body.code), answer.text)
        return
      }
      const at = ['paths', path, method.toLowerCase(), 'responses', status, 'content', type, 'schema']
      // A body that is not JSON, such as a file, is validated as a string.
      assert.deepEqual(schemaErrors(at, answer.body ?? answer.text), [], `${documented.name}: ${answer.text}`)
      if (answer.http < 400) return
      const { code } = answer.body.error
      assert.ok(codesOf(documented)[status]?.includes(code), `${documented.name} does not document ${code}`)
    },
  }
}

const DOCUMENT_ID = 'document'

function escapePointer(part: string): string {
  return encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))
}

const PROBLEM_FIELDS = [
  'code',
  'detail',
  'details',
  'errorType',
  'instance',
  'requestId',
  'retryable',
  'status',
  'title',
  'type',
]

/** The document describes RFC 9457 problems in words: they have the fields of the error under their names there. */
export function problemErrors({ http, body }: Pick<ApiResponse, 'http' | 'body'>): string[] {
  const names = Object.keys(Object(body)).sort().join()
  const wrongNames = names === PROBLEM_FIELDS.join() ? [] : [`has ${names}`]
  return Object(body).status === http ? wrongNames : [...wrongNames, 'has another status than the response']
}

/** The same document, but objects reject properties that they do not name. Extensions are written as one object. */
function withoutExtraProperties(value: Document, document: Document): Document {
  if (Array.isArray(value)) return value.map((member) => withoutExtraProperties(member, document))
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value.allOf)) return withoutExtraProperties(mergeParts(value.allOf, document), document)
  const members = Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, withoutExtraProperties(member, document)]),
  )
  const isObject = members.type === 'object' && members.properties !== undefined
  return isObject && members.additionalProperties === undefined
    ? { ...members, additionalProperties: false }
    : members
}

function mergeParts(parts: Document[], document: Document): Document {
  const objects = parts.map((part) => (part.$ref ? nodeAt(document, part.$ref.slice(2).split('/')) : part))
  return {
    type: 'object',
    required: [...new Set(objects.flatMap(({ required = [] }) => required))],
    properties: Object.assign({}, ...objects.map(({ properties }) => properties)),
  }
}

/** The same document, but open enums have only their known values. */
function withoutNewValues(value: Document): Document {
  if (Array.isArray(value)) return value.map(withoutNewValues)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).map(([name, member]) => [name, withoutNewValues(member)])
  const copy = Object.fromEntries(members)
  const isEnum = Array.isArray(copy.anyOf) && copy.anyOf.some(({ $ref }: Document) => $ref)
  return isEnum ? { ...copy, anyOf: copy.anyOf.filter(isNotAnyText) } : copy
}

const isNotAnyText = (branch: Document) => JSON.stringify(branch) !== '{"type":"string"}'
