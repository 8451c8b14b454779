// Reading what Paystack writes. Numbers are read by their own digits: an id may be larger than a JavaScript number can
// hold, and an amount is never a float, not even for a moment. What comes as a number in one answer and as text in
// another is text here.

import { type Static, type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'

// Every text has an end: what does not fit was not written by Paystack.
export const Text = (maxLength = 500) => Type.String({ maxLength })
export const Digits = Type.String({ pattern: '^(0|[1-9][0-9]{0,17})$' })
/** Paystack leaves a field out, or writes null, as it comes. */
export const Maybe = <Schema extends TSchema>(schema: Schema) =>
  Type.Optional(Type.Union([schema, Type.Null()]))

// The declarations of JSON.parse do not know yet that a reviver is told the digits of a number.
const parse = JSON.parse as (
  text: string,
  reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
) => unknown

/** The value, its numbers as the text they were written in; undefined when it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return parse(text, (_key, value, { source }) => (typeof value === 'number' ? source : value))
  } catch {
    return undefined
  }
}

/** A reader of parsed JSON: the value if it has the shape, undefined if it is anything else. */
export function shaped<Schema extends TSchema>(
  schema: Schema,
): (value: unknown) => Static<Schema> | undefined {
  const compiled = Compile(schema)
  // A boundary: the check is what makes the type true.
  return (value) => (compiled.Check(value) ? (value as Static<Schema>) : undefined)
}
