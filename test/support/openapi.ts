// The OpenAPI document as a judge of real answers: what it does not describe to the letter is wrong.

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

/** The codes that an operation documents, by HTTP status. */
export function codesOf({ operation }: DocumentedOperation): Record<string, string[]> {
  const errors = Object.entries<Document>(operation.responses).filter(([status]) => Number(status) >= 400)
  return Object.fromEntries(
    errors.map(([status, response]) => [status, Object.keys(response.content['application/json'].examples)]),
  )
}

export interface ResponseValidator {
  /** Fails unless the operation documents this answer: its status, its code, and every field of its body. */
  assertDocumented(operation: DocumentedOperation, answer: ApiResponse): void
  /** Complaints about a value that should be of the schema at this pointer of the document. */
  schemaErrors(pointer: string[], value: unknown): string[]
}

export function createResponseValidator(document: Document): ResponseValidator {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  ajv.addFormat('uuid', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  ajv.addSchema(withoutExtraProperties(document), 'document')

  const schemaErrors: ResponseValidator['schemaErrors'] = (pointer, value) => {
    // What is only a reference is one schema with all others that refer to the same.
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
      // What is not JSON, such as a file, is a text.
      assert.deepEqual(schemaErrors(at, answer.body ?? answer.text), [], `${documented.name}: ${answer.text}`)
      if (answer.http < 400) return
      const code = answer.body.error?.code ?? answer.body.code
      assert.ok(codesOf(documented)[status]?.includes(code), `${documented.name} does not document ${code}`)
    },
  }
}

/** The same document, but an object may have no property that it does not name. */
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
