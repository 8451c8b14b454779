// Schema shapes that every slice uses, with the keywords that the HTTP shell reads: x-code (the error code of any issue
// about the field), x-multiline (tab and newline allowed), x-nfc (normalised text), x-null: 'refused' (null is not the
// same as absent). Others are for the document: x-open (other values may be added, see openEnum), x-required (clients should
// send the field, although the service has a default for it).

import {
  type TObject,
  type TObjectOptions,
  type TProperties,
  type TSchema,
  type TUnsafe,
  Type,
} from 'typebox'
import { CURRENCY_CODES, type Currency } from '../../core/currency.ts'
import { COUNT_CAP, DEFAULT_LIMIT, MAX_LIMIT } from '../../core/page.ts'
import { LONGEST_NAME } from '../../core/text/formats.ts'

const UUID_PATTERN = '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'

const DEFINITION = Symbol('definition')

/** What the OpenAPI document knows of a named schema. */
export interface Definition {
  name: string
  schema: TSchema
  /** The named schema whose properties this one adds to. */
  base?: TSchema
  /** The properties beside those of the base. */
  added?: TSchema
}

/**
 * Gives a schema its name in the OpenAPI document, and so in generated clients. A copy with another description or
 * default keeps the name.
 */
export function named<Schema extends TSchema>(name: string, schema: Schema): Schema {
  return withDefinition(schema, { name })
}

export function namedObject<Properties extends TProperties>(
  name: string,
  properties: Properties,
  options: TObjectOptions = {},
): TObject<Properties> {
  return withDefinition(Type.Object(properties, options), { name })
}

/** An object with the properties of a named one and others. The document shows only the others. */
export function namedExtension<Base extends TProperties, Added extends TProperties>(
  name: string,
  base: TObject<Base>,
  properties: Added,
  options: TObjectOptions = {},
): TObject<Base & Added> {
  const schema = Type.Object({ ...base.properties, ...properties }, options)
  return withDefinition(schema, { name, base, added: Type.Object(properties) })
}

function withDefinition<Schema extends TSchema>(schema: Schema, facts: Omit<Definition, 'schema'>): Schema {
  // The properties by which typebox knows the kind of a schema are not enumerable, so a spread would lose them.
  const copy: Schema = Object.create(Object.prototype, Object.getOwnPropertyDescriptors(schema))
  return Object.assign(copy, { [DEFINITION]: { ...facts, schema } })
}

export function definitionOf(schema: object): Definition | undefined {
  return Reflect.get(schema, DEFINITION)
}

/** The description says what null means. */
export const Nullable = <Schema extends TSchema>(schema: Schema, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description })

/** The same schema with a description of its own. */
export const described = <Schema extends TSchema>(schema: Schema, description: string): Schema => ({
  ...schema,
  description,
})

/** A text of a response, perhaps with an example of its form. */
export const text = (description: string, example?: string) =>
  Type.String({ description, ...(example !== undefined && { examples: [example] }) })

export const count = (description: string) => Type.Integer({ description })

export const flag = (description: string) => Type.Boolean({ description })

const UUID_EXAMPLE = '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f'

export const Uuid = Type.String({ format: 'uuid', description: 'The id of this record, a UUID.' })

/** A uuid in a request: any other form is refused as invalid_uuid. */
export const UuidInput = Type.String({
  pattern: UUID_PATTERN,
  'x-code': 'invalid_uuid',
  'x-message': `must be a UUID in lower case, such as ${UUID_EXAMPLE}.`,
  description: 'The uuid of the record, in lower case.',
  examples: [UUID_EXAMPLE],
})

export const UuidParams = Type.Object({ uuid: UuidInput })

/** A literal union that appears as one enum in the document. */
export const Enum = <const Value extends string>(values: readonly Value[], options: object = {}) =>
  Type.Unsafe<Value>({ type: 'string', enum: [...values], ...options })

/** An enum that occurs in several places. The options, such as a description, are those of this place. */
export const NamedEnum = <const Value extends string>(
  name: string,
  values: readonly Value[],
  options: object = {},
) => ({ ...named(name, Enum(values)), ...options })

/**
 * The same enum where a response has it and later versions may add values. The document says that any other text may come too,
 * so that generated clients accept it.
 */
export const openEnum = <Schema extends TSchema>(schema: Schema): Schema => ({ ...schema, 'x-open': true })

/**
 * Several values of a query parameter, separated by commas or as repeated parameters.
 */
export const EnumList = <const Value extends string>(element: TUnsafe<Value>, description: string) =>
  Type.Unsafe<Value[]>({
    type: 'array',
    items: element,
    minItems: 1,
    // Without a repeat there are no more than the enum has.
    maxItems: Object(element).enum.length,
    uniqueItems: true,
    description: `${description} Separated by commas, or as repeated parameters.`,
  })

export const CurrencyCode = NamedEnum('CurrencyCode', CURRENCY_CODES, {
  description: 'ISO 4217 code of the currency.',
})

/** Of a response; CountryInput is the one of a request. */
export const CountryCode = Type.String({
  description: 'The ISO 3166-1 alpha-2 code of the country, in capitals.',
  examples: ['KE'],
})

const CURRENCY_RULES = {
  ...CurrencyCode,
  'x-code': 'invalid_currency',
  'x-message': `must be one of ${CURRENCY_CODES.join(', ')}.`,
}

/** A currency filter: absent means all. */
export const CurrencyFilter = Type.Unsafe<Currency>({
  ...CURRENCY_RULES,
  description: 'Only records in this currency, by its ISO 4217 code.',
})

export const CurrencyInput = Type.Unsafe<Currency>({
  ...CURRENCY_RULES,
  default: 'USD',
  description: 'The ISO 4217 code of the currency, in capitals.',
})

/** Decimal text with two places, in every currency. */
export const AmountText = Type.String({
  pattern: '^-?\\d+\\.\\d{2}$',
  description: 'A decimal in major units with two places, in every currency.',
  examples: ['1250.50'],
})

/** An amount of a response; the unit is the same for all. */
export const amountText = (description: string) =>
  described(AmountText, `${description} A decimal in major units.`)

export const Timestamp = Type.String({
  format: 'date-time',
  description: 'A time in UTC, ISO 8601 with milliseconds.',
})

export const timestamp = (description: string) => described(Timestamp, description)

export const CreatedAt = timestamp('When this record was created, in UTC.')

export const UpdatedAt = timestamp('When this record last changed, in UTC.')

export const Metadata = named(
  'Metadata',
  Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    'x-multiline': true,
    description:
      'Your own keys and values, returned as you sent them: at most 50 keys of 40 characters, texts of 500 characters, 16 KB in all.',
    examples: [{ orderId: 'A-1042' }],
  }),
)

export const Email = Type.String({
  maxLength: 254,
  format: 'email',
  'x-nfc': true,
  'x-message': 'must be an e-mail address of at most 254 characters.',
  description: 'The e-mail address, which identifies the customer. Upper and lower case are the same.',
  examples: ['amina@example.com'],
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
  description: 'The ISO 3166-1 alpha-2 code of the country, in either case.',
  examples: ['KE'],
})

/** Period and page of a list; every list takes these. */
export const PAGE_QUERY = {
  page: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: COUNT_CAP,
      default: 1,
      description:
        'The number of the page, from 1. Page numbers end at record 10,000: continue with `cursor`.',
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_LIMIT,
      default: DEFAULT_LIMIT,
      description: 'The number of records on a page.',
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 300,
      description:
        'The `nextCursor` of the previous response: returns the page after it. Send the same filters.',
    }),
  ),
  createdFrom: Type.Optional(timestamp('Created at this time or later.')),
  createdTo: Type.Optional(timestamp('Created at this time or earlier.')),
  sort: Type.Optional(
    Enum(['createdAt:desc', 'createdAt:asc'], {
      default: 'createdAt:desc',
      description: 'Newest first, or oldest first.',
    }),
  ),
}
