// Schema shapes that every slice uses, with the keywords that the HTTP shell reads: x-code (the error code of any issue
// about the field), x-multiline (tab and newline allowed), x-nfc (normalised text), x-null: 'refused' (null is not the
// same as absent).

import { type TSchema, Type } from 'typebox'
import { CURRENCY_CODES, type Currency } from '../../core/currency.ts'
import { COUNT_CAP, DEFAULT_LIMIT, MAX_LIMIT } from '../../core/page.ts'
import { LONGEST_NAME } from '../../core/text/formats.ts'

const UUID_PATTERN = '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'

export const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])

export const Uuid = Type.String({ format: 'uuid' })

/** A uuid in a request: any other form is refused as invalid_uuid. */
export const UuidInput = Type.String({
  pattern: UUID_PATTERN,
  'x-code': 'invalid_uuid',
  'x-message': 'must be a UUID in lower case, such as 0197a3c2-7d51-7cc3-98c4-dc0c0c07398f.',
})

export const UuidParams = Type.Object({ uuid: UuidInput })

/** A literal union that appears as one enum in the document. */
export const Enum = <const Value extends string>(values: readonly Value[], options: object = {}) =>
  Type.Unsafe<Value>({ type: 'string', enum: [...values], ...options })

/**
 * Several values of a query parameter, separated by commas or as repeated parameters.
 */
export const EnumList = <const Value extends string>(values: readonly Value[], description: string) =>
  Type.Unsafe<Value[]>({
    type: 'array',
    items: { type: 'string', enum: [...values] },
    minItems: 1,
    maxItems: values.length,
    uniqueItems: true,
    description: `${description} Separated by commas, or as repeated parameters.`,
  })

export const CurrencyCode = Type.Unsafe<Currency>({ type: 'string', enum: CURRENCY_CODES })

const CURRENCY_RULES = {
  type: 'string',
  enum: CURRENCY_CODES,
  'x-code': 'invalid_currency',
  'x-message': `must be one of ${CURRENCY_CODES.join(', ')}.`,
}

/** A currency filter: absent means all. */
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

export const Email = Type.String({
  maxLength: 254,
  format: 'email',
  'x-nfc': true,
  'x-message': 'must be an e-mail address of at most 254 characters.',
})

/**
 * A text with something to see. The document shows only the pattern, which the regular expressions of every language
 * take; the format, which only the HTTP shell knows, is stricter.
 */
export const VISIBLE_TEXT = { minLength: 1, pattern: '\\S', format: 'visible-text', 'x-nfc': true } as const

export const PersonName = Type.String({
  ...VISIBLE_TEXT,
  maxLength: LONGEST_NAME,
  format: 'person-name',
  'x-message': `must be 1 to ${LONGEST_NAME} characters, one of them visible and none that turns the direction of writing.`,
})

/** In either case; an unknown country is an issue of its own. */
export const CountryInput = Type.String({
  pattern: '^[A-Za-z]{2}$',
  'x-message': 'must be an ISO 3166-1 alpha-2 code.',
})

/** Period and page of a list; every list takes these. */
export const PAGE_QUERY = {
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: COUNT_CAP, default: 1 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT })),
  cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 300 })),
  createdFrom: Type.Optional(Type.String({ format: 'date-time', description: 'From this time, inclusive.' })),
  createdTo: Type.Optional(Type.String({ format: 'date-time', description: 'Until this time, inclusive.' })),
  sort: Type.Optional(Enum(['createdAt:desc', 'createdAt:asc'], { default: 'createdAt:desc' })),
}
