// Reading somebody else's JSON. Numbers are read by their own digits: an id may be larger than a JavaScript number can
// hold, and an amount is never a float, not even for a moment.

import type { Static, TSchema } from 'typebox'
import { Compile } from 'typebox/compile'

// The declarations of JSON.parse do not know yet that a reviver is told the digits of a number.
const parse = JSON.parse as (
  text: string,
  reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
) => unknown

/** The value, its numbers as the text they were written in; undefined when it is not JSON. */
export function parseExactJson(text: string): unknown {
  try {
    return parse(text, (_key, value, { source }) => (typeof value === 'number' ? source : value))
  } catch {
    return undefined
  }
}

/** A reader of parsed JSON: the value if it has the shape, undefined if it is anything else. */
export function schemaReader<Schema extends TSchema>(
  schema: Schema,
): (value: unknown) => Static<Schema> | undefined {
  const compiled = Compile(schema)
  // A boundary: the check is what makes the type true.
  return (value) => (compiled.Check(value) ? (value as Static<Schema>) : undefined)
}
