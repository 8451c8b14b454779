// Reads JSON of others. With parseExactJson numbers keep their digits: an id may exceed a JavaScript number, and an amount
// must never become a float.

import type { Static, TSchema } from 'typebox'
import { Compile, type Validator } from 'typebox/compile'

// The declarations of JSON.parse lack the context argument of a reviver, which holds the digits of a number.
const parse = JSON.parse as (
  text: string,
  reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
) => unknown

/** The value with its numbers as text; undefined if the text is not JSON. */
export function parseExactJson(text: string): unknown {
  try {
    return parse(text, (_key, value, { source }) => (typeof value === 'number' ? source : value))
  } catch {
    return undefined
  }
}

/** The value; undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A reader of parsed JSON: the value if it has the shape, otherwise undefined. */
export function schemaReader<Schema extends TSchema>(
  schema: Schema,
): (value: unknown) => Static<Schema> | undefined {
  let compiled: Validator | undefined
  return (value) => {
    // At the first use: a process uses few gateways, and compiling the schemas of all takes a quarter of its start.
    compiled ??= Compile(schema)
    // A boundary: the check makes the type true.
    return compiled.Check(value) ? (value as Static<Schema>) : undefined
  }
}

/** A reader of JSON text: the value if it has the shape, otherwise undefined. */
export function jsonReader<Schema extends TSchema>(
  schema: Schema,
): (text: string | Buffer) => Static<Schema> | undefined {
  const read = schemaReader(schema)
  return (text) => read(parseJson(text.toString()))
}
