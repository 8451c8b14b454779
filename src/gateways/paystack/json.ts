// Parses Paystack's JSON. Numbers keep their digits: an id may exceed a JavaScript number, and an amount is never a
// float. Values that are numbers in one response and text in another are text here.

import { Type } from 'typebox'

// Texts have a maximum length: Paystack writes no longer ones.
export const Text = (maxLength = 500) => Type.String({ maxLength })
export const Digits = Type.String({ pattern: '^(0|[1-9][0-9]{0,17})$' })
