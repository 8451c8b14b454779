// The issue for a field or query parameter that an operation does not know. It names the field that was probably meant:
// a field that is ignored would let a mistyped amount refund a whole payment.

import type { Issue } from '../../core/errors.ts'
import { nearestName, squashName } from '../../core/text/spelling.ts'
import { fieldName, type Path } from './characters.ts'
import { findAlias } from './field-aliases.ts'
import { isSchema, type JsonSchema } from './json-schema.ts'

/** `path` ends with the unknown name; `siblings` are the names that its object knows. */
export type UnknownFieldIssue = (path: Path, siblings: readonly string[]) => Issue

const NOUNS = {
  body: { one: 'a field of this request', none: 'this operation takes no fields' },
  query: { one: 'a query parameter of this operation', none: 'it takes none' },
} as const

/** Fits every object of the API; longer lists would not help. */
const MAX_LISTED_NAMES = 40

export function createUnknownFieldIssue(place: keyof typeof NOUNS, schema: JsonSchema): UnknownFieldIssue {
  const everywhere = pathsOf(schema)
  const { one, none } = NOUNS[place]
  return (path, siblings) => {
    const name = String(path.at(-1) ?? '')
    const field = fieldName(name === '' ? [...path.slice(0, -1), '(empty)'] : path)
    const above = path.slice(0, -1).map(String)
    const { meant, note } = findMeant(name, toPaths(above, siblings), everywhere)
    const listed =
      siblings.length === 0 ? none : `known are ${siblings.slice(0, MAX_LISTED_NAMES).join(', ')}`
    const advice = meant === undefined ? `${listed}.` : `did you mean ${meant}?`
    const isOnlyNote = meant === undefined && note !== undefined
    const sentences = [
      isOnlyNote ? `${field} is not ${one}.` : `${field} is not ${one}; ${advice}`,
      note ?? [],
    ]
    return { field, code: 'unknown_field', message: sentences.flat().join(' ') }
  }
}

interface Meant {
  meant?: string
  note?: string
}

/** Looks among the names of the same object first, then in the whole request. */
function findMeant(name: string, siblings: readonly string[], everywhere: readonly string[]): Meant {
  const alias = findAlias(name)
  const inOrder = [siblings, everywhere]
  const same = inOrder.map((paths) => findSame(name, paths)).find((found) => found !== undefined)
  if (same !== undefined) return { meant: same }
  const named = inOrder
    .flatMap((paths) => (alias?.meant ?? []).map((meant) => findSame(meant, paths)))
    .find((found) => found !== undefined)
  if (named !== undefined) return { meant: named, note: alias?.note }
  const leaves = siblings.map(leafOf)
  const nearest = nearestName(name, leaves)
  if (nearest !== undefined) return { meant: siblings[leaves.indexOf(nearest)] }
  return { note: alias?.otherwise }
}

/** The path that ends with this name, or that is this name when it is written in one word: customer.email, customerEmail. */
function findSame(name: string, paths: readonly string[]): string | undefined {
  const squashed = squashName(name)
  return paths.find((path) => squashName(leafOf(path)) === squashed || squashName(path) === squashed)
}

function leafOf(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1)
}

function toPaths(above: readonly string[], names: readonly string[]): string[] {
  return names.map((name) => [...above, name].join('.'))
}

/** The dotted paths of all fields, outer ones first. Fields of array items have no path without an index. */
function pathsOf(schema: JsonSchema, above: readonly string[] = []): string[] {
  const alternatives = [schema, ...[schema.anyOf ?? schema.oneOf ?? []].flat().filter(isSchema)]
  const properties = alternatives.flatMap((one) =>
    isSchema(one.properties) ? Object.entries(one.properties) : [],
  )
  const inner = properties.flatMap(([name, child]) =>
    isSchema(child) ? pathsOf(child, [...above, name]) : [],
  )
  return [
    ...new Set([
      ...toPaths(
        above,
        properties.map(([name]) => name),
      ),
      ...inner,
    ]),
  ]
}
