// The request and response schemas of the operators' routes over merchants.

import { type Static, type TSchema, Type } from 'typebox'
import { SAVED_METHOD_MODES } from '../consents/consent.ts'
import { CURRENCY_CODES } from '../core/currency.ts'
import { LANGUAGE_CODES } from '../core/languages.ts'

import {
  CurrencyCode,
  CurrencyFilter,
  CurrencyInput,
  Enum,
  Nullable,
  Timestamp,
  Uuid,
} from '../kit/http/schema.ts'
import { LOGO_MESSAGE } from './logo.ts'

export const DisplayName = Type.String({ minLength: 1, maxLength: 100, pattern: '\\S', 'x-nfc': true })

/** Null clears the field. The message is on the union, where the validator reads it. */
const Clearable = <Schema extends TSchema>(schema: Schema, message: string) =>
  Type.Union([schema, Type.Null()], { 'x-message': message })

// Longer than any valid logo, so that readLogo reports the decoded length instead of the schema.
const LOGO_MAX_TEXT = 40_000
const MAX_ORIGINS = 20
// The largest amount of a payment.
const MAX_APPROVAL_FROM = 999_999_999_999.99

/** The merchant's branding on pages. Null clears a field. */
export const BRANDING = {
  displayName: Clearable(DisplayName, 'must be 1 to 100 characters, not only spaces; null shows the name.'),
  logo: Clearable(Type.String({ maxLength: LOGO_MAX_TEXT }), LOGO_MESSAGE),
  supportEmail: Clearable(
    Type.String({ maxLength: 254, format: 'email' }),
    'must be an e-mail address, such as help@shop.example.',
  ),
  supportPhone: Clearable(
    Type.String({ pattern: '^\\+[1-9]\\d{6,14}$' }),
    'must be a number with its country code and nothing but digits, such as +254700123456.',
  ),
  supportUrl: Clearable(Type.String({ maxLength: 500 }), 'must be an address of at most 500 characters.'),
  accentColor: Clearable(
    Type.String({ pattern: '^#[0-9a-fA-F]{6}$' }),
    'must be a colour with six hexadecimal digits, such as #0b6b57.',
  ),
}

export const Locale = Clearable(Enum(LANGUAGE_CODES), `must be one of ${LANGUAGE_CODES.join(', ')}, or null.`)

export const SavedMethods = Clearable(
  Enum(SAVED_METHOD_MODES),
  `must be one of ${SAVED_METHOD_MODES.join(', ')}, or null.`,
)

/** Where payments that name no country are collected, if the country uses their currency. */
export const Country = Clearable(
  Type.String({ pattern: '^[A-Z]{2}$' }),
  'must be an ISO 3166-1 alpha-2 code, such as KE, or null.',
)

/** Times in exports and days in reports are in this time zone. */
export const TimeZone = Clearable(
  Type.String({ minLength: 1, maxLength: 64 }),
  'must be the name of a time zone, such as Africa/Nairobi; null is UTC.',
)

const GATEWAY_NAME = '^[a-z][a-z0-9_]{0,39}$'
const GatewayNames = Type.Array(
  Type.String({ pattern: GATEWAY_NAME, 'x-message': 'must be the name of a gateway, such as paystack.' }),
  { maxItems: 20 },
)
const Shares = Type.Array(
  Type.Object({
    gateway: Type.String({
      pattern: GATEWAY_NAME,
      'x-message': 'must be the name of a gateway, such as paystack.',
    }),
    percent: Type.Integer({ minimum: 1, maximum: 100 }),
  }),
  { maxItems: 20 },
)

/** At most one rule per currency, and one without a currency for all others. */
export const RoutingList = Type.Array(
  Type.Object({
    currency: Type.Optional(Nullable(CurrencyFilter)),
    prefer: Type.Optional(GatewayNames),
    exclude: Type.Optional(GatewayNames),
    split: Type.Optional(Shares),
  }),
  { maxItems: CURRENCY_CODES.length + 1 },
)
export type RoutingInput = Static<typeof RoutingList>

/** From which amount a second person must approve the resolution of a case; at most one entry per currency. */
export const CaseApprovals = Clearable(
  Type.Array(
    Type.Object({ currency: CurrencyCode, from: Type.Number({ minimum: 0, maximum: MAX_APPROVAL_FROM }) }),
    { maxItems: CURRENCY_CODES.length },
  ),
  'must be a list such as [{"currency": "KES", "from": 10000}].',
)

const SettingsInput = Type.Partial(
  Type.Object({
    locale: Locale,
    savedMethods: SavedMethods,
    country: Country,
    timeZone: TimeZone,
    redirectOrigins: Clearable(
      Type.Array(Type.String({ maxLength: 300 }), { maxItems: MAX_ORIGINS }),
      `must be a list of at most ${MAX_ORIGINS} origins, such as ["https://shop.example"].`,
    ),
    routing: Nullable(RoutingList),
    caseApprovals: CaseApprovals,
    branding: Nullable(Type.Partial(Type.Object(BRANDING))),
  }),
)
export type SettingsChanges = Static<typeof SettingsInput>

const SettingsRecord = Type.Object({
  locale: Nullable(Enum(LANGUAGE_CODES)),
  savedMethods: Enum(SAVED_METHOD_MODES, {
    description:
      'How payers consent to a saved card. always_tell: the page says that it is saved. ask_with_checkbox: it is saved if the payer ticks a box. only_when_recurring: it is saved, and the page says so, only for payments with isRecurring.',
  }),
  country: Nullable(
    Type.String({
      description:
        'Where payments that name no country are collected, if the country uses their currency. Null: the gateway accounts decide, if they collect in one country alone, and then the main country of the currency.',
    }),
  ),
  timeZone: Nullable(Type.String()),
  redirectOrigins: Type.Array(Type.String()),
  routing: Type.Array(
    Type.Object({
      currency: Nullable(CurrencyCode),
      prefer: Type.Array(Type.String()),
      exclude: Type.Array(Type.String()),
      split: Type.Array(Type.Object({ gateway: Type.String(), percent: Type.Integer() })),
    }),
  ),
  caseApprovals: Type.Array(Type.Object({ currency: CurrencyCode, from: Type.Number() }), {
    description:
      'From which amount, in major units, the resolution of a case by an API key needs the API key of a second person. The larger one of the asked and the received amount counts, or the amount of the refund. Empty: never.',
  }),
  branding: Type.Object({
    displayName: Nullable(Type.String()),
    logo: Nullable(Type.String()),
    supportEmail: Nullable(Type.String()),
    supportPhone: Nullable(Type.String()),
    supportUrl: Nullable(Type.String()),
    accentColor: Nullable(Type.String()),
  }),
})
export type MerchantSettings = Static<typeof SettingsRecord>

export const MerchantRecord = Type.Object({
  uuid: Uuid,
  name: Type.String(),
  mode: Enum(['test', 'live']),
  baseCurrency: CurrencyCode,
  status: Enum(['active', 'suspended']),
  settings: SettingsRecord,
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

export const CreateMerchantBody = Type.Object({
  name: DisplayName,
  baseCurrency: Type.Optional(CurrencyInput),
  settings: Type.Optional(Nullable(SettingsInput)),
})
export type CreateMerchant = Static<typeof CreateMerchantBody>

// The currency has no default here: an absent field must not change.
export const UpdateMerchantBody = Type.Partial(
  Type.Object({ ...CreateMerchantBody.properties, baseCurrency: CurrencyFilter }),
)
export type UpdateMerchant = Static<typeof UpdateMerchantBody>

export const InvariantRecord = Type.Object({
  name: Type.String(),
  violations: Type.Integer({ minimum: 0 }),
})
