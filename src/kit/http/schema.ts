// The few schema shapes that every slice uses, with the keywords by which the HTTP shell reads them: x-code (the
// refusal code of any issue about the field), x-multiline (tab and newline allowed), x-nfc (normalised text),
// x-null: 'refused' (null is not the same as absent).

import { type TSchema, Type } from 'typebox'
import { CURRENCY_CODES, type Currency } from '../../core/currency.ts'
import { COUNT_CAP, DEFAULT_LIMIT, MAX_LIMIT } from '../../core/page.ts'

const UUID_PATTERN = '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'

export const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])

export const Uuid = Type.String({ format: 'uuid' })

/** A uuid that comes from the caller: any other form is refused as invalid_uuid. */
export const UuidInput = Type.String({
  pattern: UUID_PATTERN,
  'x-code': 'invalid_uuid',
  'x-message': 'must be a UUID in lower case, such as 0197a3c2-7d51-7cc3-98c4-dc0c0c07398f.',
})

export const UuidParams = Type.Object({ uuid: UuidInput })

/** A literal union that shows as one enum in the document. */
export const Enum = <const Value extends string>(values: readonly Value[], options: object = {}) =>
  Type.Unsafe<Value>({ type: 'string', enum: [...values], ...options })

export const CurrencyCode = Type.Unsafe<Currency>({ type: 'string', enum: CURRENCY_CODES })

const CURRENCY_RULES = {
  type: 'string',
  enum: CURRENCY_CODES,
  'x-code': 'invalid_currency',
  'x-message': `must be one of ${CURRENCY_CODES.join(', ')}.`,
}

/** A currency to filter by: absent means all. */
export const CurrencyFilter = Type.Unsafe<Currency>(CURRENCY_RULES)

export const CurrencyInput = Type.Unsafe<Currency>({ ...CURRENCY_RULES, default: 'USD' })

/** Decimal text with two places, in every currency. */
export const AmountText = Type.String({ pattern: '^-?\\d+\\.\\d{2}$' })

export const Timestamp = Type.String({ format: 'date-time' })

export const Metadata = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  'x-multiline': true,
})

// Deliberately wide: an address is proven by a mail that arrives, not by a pattern.
const EMAIL_PATTERN = '^[^\\s@<>()\\[\\]\\\\,;:"]+@[^\\s@<>()\\[\\]\\\\,;:"]+\\.[^\\s@<>()\\[\\]\\\\,;:".]+$'
const LONGEST_EMAIL = 254

export const Email = Type.String({
  maxLength: LONGEST_EMAIL,
  pattern: EMAIL_PATTERN,
  'x-message': 'must be an e-mail address of at most 254 characters.',
})

/** The same for what comes from a form. */
export function isEmail(text: string): boolean {
  return [...text].length <= LONGEST_EMAIL && new RegExp(EMAIL_PATTERN, 'u').test(text)
}

/** At least one character that can be seen: neither white space nor one that Unicode gives no look of its own. */
export const VISIBLE = '[^\\s\\p{Default_Ignorable_Code_Point}\\u2800]'

const LONGEST_NAME = 100
// Whoever reads a name beside others must not read those backwards, so nothing in it turns the direction of writing.
const NAME_PATTERN = `^(?![\\s\\S]*[\\u202a-\\u202e\\u2066-\\u2069])[\\s\\S]*${VISIBLE}`

export const PersonName = Type.String({
  minLength: 1,
  maxLength: LONGEST_NAME,
  pattern: NAME_PATTERN,
  'x-nfc': true,
  'x-message': `must be 1 to ${LONGEST_NAME} characters, one of them visible and none that turns the direction of writing.`,
})

/** The same for what comes from a form. */
export function isPersonName(text: string): boolean {
  return [...text].length <= LONGEST_NAME && new RegExp(NAME_PATTERN, 'u').test(text)
}

/** Either case; whether there is such a country is a issue of its own. */
export const CountryInput = Type.String({
  pattern: '^[A-Za-z]{2}$',
  'x-message': 'must be an ISO 3166-1 alpha-2 code.',
})

/** The window and page of a list; every list takes these. */
export const PAGE_QUERY = {
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: COUNT_CAP, default: 1 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT })),
  cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 300 })),
  createdFrom: Type.Optional(Type.String({ format: 'date-time', description: 'From this moment on.' })),
  createdTo: Type.Optional(
    Type.String({ format: 'date-time', description: 'Up to this moment, and it included.' }),
  ),
  sort: Type.Optional(Enum(['createdAt:desc', 'createdAt:asc'], { default: 'createdAt:desc' })),
}
