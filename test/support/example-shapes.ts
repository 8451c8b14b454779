// Compares the examples of the OpenAPI document with real answers: each must have the keys and types of one.

import type { ApiResponse } from './api.ts'
import { type DocumentedOperation, responseExampleOf } from './openapi.ts'

export interface ExampleShapes {
  /** The names of the operations with a successful answer. */
  operations: Set<string>
  /** Keeps the records of a successful answer. */
  collect(operation: DocumentedOperation, answer: ApiResponse): void
  /** For each example without an equal real record: its operations, and how the closest record differs. */
  differences(): string[]
}

interface Group {
  example: unknown
  names: Set<string>
  records: unknown[]
}

/** Operations with the same record have the same example. */
export function createExampleShapes(): ExampleShapes {
  const groups = new Map<string, Group>()
  const operations = new Set<string>()
  return {
    operations,
    collect(operation, { body }) {
      operations.add(operation.name)
      if (body === undefined) return
      const [example] = [responseExampleOf(operation).data].flat()
      const key = JSON.stringify(example)
      const group: Group = groups.get(key) ?? { example, names: new Set(), records: [] }
      group.names.add(operation.name)
      group.records.push(...[body.data].flat())
      groups.set(key, group)
    },
    differences() {
      return [...groups.values()].flatMap(({ example, names, records }) => {
        const [closest = []] = records
          .map((record) => shapeDifferences(example, record))
          .toSorted((one, other) => one.length - other.length)
        return closest.length === 0 ? [] : [`${[...names].join(', ')}: ${closest.join('; ')}`]
      })
    },
  }
}

/** Data that a schema does not name: of merchants, the columns of a changed row in the audit log, the fields of a log line. */
const FREE_FORM: readonly string[] = ['metadata', 'before', 'after', 'fields']

/** Null says nothing about the keys, and the first elements stand for their lists. */
export function shapeDifferences(example: unknown, real: unknown, path = ''): string[] {
  if (example === null || real === null) return []
  if (Array.isArray(example) && Array.isArray(real)) {
    if (example.length === 0 || real.length === 0) return []
    return shapeDifferences(example[0], real[0], `${path}[0]`)
  }
  if (typeof example !== typeof real || Array.isArray(example) !== Array.isArray(real))
    return [`${path} has another type than the example`]
  if (typeof example !== 'object') return []
  const [documented, given] = [Object(example), Object(real)]
  const names = new Set([...Object.keys(documented), ...Object.keys(given)])
  return [...names].flatMap((name) => {
    const at = `${path}.${name}`
    if (!Object.hasOwn(documented, name)) return [`${at} is not in the example`]
    if (!Object.hasOwn(given, name)) return [`${at} is only in the example`]
    return FREE_FORM.includes(name) ? [] : shapeDifferences(documented[name], given[name], at)
  })
}
