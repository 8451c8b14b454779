// Examples of responses. That of a record is written once, with its schema; an operation has one only if its record has
// none.

import { isDeepStrictEqual } from 'node:util'
import { definitionOf } from '../../kit/http/schema.ts'
import type { JsonSchema } from '../input/json-schema.ts'
import type { DocumentedRoute } from './documented-route.ts'

export interface Examples {
  /** The example of a response with its envelope; undefined if the schemas have it already. */
  envelopeOf(route: DocumentedRoute): JsonSchema | undefined
}

const nameOf = ({ response }: DocumentedRoute) => definitionOf(response.data)?.name

/** The records of an example: that of a list is one element or the whole list. */
const recordsOf = ({ examples }: DocumentedRoute): unknown[] =>
  examples?.data === undefined ? [] : [examples.data].flat()

/** The example of each named record. Another one would not be in the document: that is a mistake in the routes. */
export function recordExamples(routes: readonly DocumentedRoute[]): Map<string, unknown> {
  const found = new Map<string, unknown>()
  for (const route of routes) {
    const name = nameOf(route)
    const [record] = recordsOf(route)
    if (name === undefined || record === undefined) continue
    if (!isDeepStrictEqual(found.get(name) ?? record, record))
      throw new Error(`${route.operationId} has another example than the other operations with ${name}`)
    found.set(name, record)
  }
  return found
}

export function createExamples(routes: readonly DocumentedRoute[]): Examples {
  const known = recordExamples(routes)
  return {
    envelopeOf(route) {
      if (route.examples?.data === undefined) return undefined
      return known.has(nameOf(route) ?? '') ? undefined : envelope(route, recordsOf(route))
    },
  }
}

function envelope({ summary, response, examples }: DocumentedRoute, records: readonly unknown[]): JsonSchema {
  const head = { status: 'success', message: summary }
  if (!response.list) return { ...head, data: examples?.data }
  const meta = {
    page: 1,
    limit: 20,
    total: records.length,
    totalIsCapped: false,
    pageCount: 1,
    hasNext: false,
    hasPrevious: false,
    nextCursor: null,
  }
  return { ...head, data: records, meta }
}
