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

export function operationsOf(document: Document): DocumentedOperation[] {
  return Object.entries<Record<string, unknown>>(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path,
      operation,
    })),
  )
}

/** The error codes that an operation documents, by HTTP status. */
export function codesOf({ operation }: DocumentedOperation): Record<string, string[]> {
  const errors = Object.entries<Document>(operation.responses).filter(([status]) => Number(status) >= 400)
  return Object.fromEntries(
    errors.map(([status, response]) => [status, Object.keys(response.content['application/json'].examples)]),
  )
}

export interface ResponseValidator {
  /** Fails unless the operation documents this response: its status, its code, and every field of its body. */
  assertDocumented(operation: DocumentedOperation, answer: ApiResponse): void
  /** Validation issues of a value for the schema at this pointer of the document. */
  schemaErrors(pointer: string[], value: unknown): string[]
}

export function createResponseValidator(document: Document): ResponseValidator {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  ajv.addFormat('uuid', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  ajv.addFormat('email', /^[^@\s]+@[^@\s]+$/)
  ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  ajv.addSchema(withoutExtraProperties(document), 'document')

  const schemaErrors: ResponseValidator['schemaErrors'] = (pointer, value) => {
    // A schema that is only a reference is compiled once for all references to it.
    const { $ref: shared } = pointer.reduce((node, part) => node?.[part], document) ?? {}
    const place = pointer.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')))
    const validate = ajv.getSchema(`document${shared ?? `#/${place.join('/')}`}`)
    assert.ok(validate, `the document has no schema at ${pointer.join(' ')}`)
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
      const at = ['paths', path, method.toLowerCase(), 'responses', status, 'content', type, 'schema']
      // A body that is not JSON, such as a file, is validated as a string.
      assert.deepEqual(schemaErrors(at, answer.body ?? answer.text), [], `${documented.name}: ${answer.text}`)
      if (answer.http < 400) return
      const code = answer.body.error?.code ?? answer.body.code
      assert.ok(codesOf(documented)[status]?.includes(code), `${documented.name} does not document ${code}`)
    },
  }
}

/** The same document, but objects reject properties that they do not name. */
function withoutExtraProperties(value: Document): Document {
  if (Array.isArray(value)) return value.map(withoutExtraProperties)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, withoutExtraProperties(member)]),
  )
  const isObject = members.type === 'object' && members.properties !== undefined
  return isObject && members.additionalProperties === undefined
    ? { ...members, additionalProperties: false }
    : members
}
