// Reading what Paystack writes. Numbers are read by their own digits: an id may be larger than a JavaScript number can
// hold, and an amount is never a float, not even for a moment. What comes as a number in one answer and as text in
// another is text here.

import { type TSchema, Type } from 'typebox'

// Every text has an end: what does not fit was not written by Paystack.
export const Text = (maxLength = 500) => Type.String({ maxLength })
export const Digits = Type.String({ pattern: '^(0|[1-9][0-9]{0,17})$' })
/** Paystack leaves a field out, or writes null, as it comes. */
export const Maybe = <Schema extends TSchema>(schema: Schema) =>
  Type.Optional(Type.Union([schema, Type.Null()]))
