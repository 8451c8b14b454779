// The fields of all documented operations, for tests that iterate over them.

import type { Document, DocumentedOperation } from './openapi.ts'

export interface Field {
  path: readonly string[]
  schema: Document
  isRequired: boolean
}

export const bodySchemaOf = ({ operation }: DocumentedOperation): Document | undefined =>
  operation.requestBody?.content['application/json'].schema

export const exampleOf = ({ operation }: DocumentedOperation): Document =>
  operation.requestBody?.content['application/json'].example

export const parametersOf = ({ operation }: DocumentedOperation, place: 'path' | 'query'): Document[] =>
  operation.parameters.filter((parameter: Document) => parameter.in === place)

/** Every field of a body, including those of nested objects. */
export function fieldsOf(schema: Document | undefined, above: readonly string[] = []): Field[] {
  return Object.entries<Document>(schema?.properties ?? {}).flatMap(([name, child]) => {
    const path = [...above, name]
    const isRequired = schema.required?.includes(name) === true
    return [{ path, schema: child, isRequired }, ...fieldsOf(child, path)]
  })
}

export function isOfType(schema: Document, type: string): boolean {
  return [schema.type].flat().includes(type)
}

/** The same body with another value in one field. */
export function setAt(body: unknown, [name = '', ...rest]: readonly string[], value: unknown): unknown {
  const object: Record<string, unknown> = isObject(body) ? { ...body } : {}
  object[name] = rest.length > 0 ? setAt(object[name], rest, value) : value
  return object
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
