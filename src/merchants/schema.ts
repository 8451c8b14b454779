// The request and response schemas of the operators' routes over merchants.

import { type Static, type TSchema, Type } from 'typebox'
import { SAVED_METHOD_MODES } from '../consents/consent.ts'
import { CURRENCY_CODES } from '../core/currency.ts'
import { LANGUAGE_CODES } from '../core/languages.ts'

import {
  CountryCode,
  CreatedAt,
  CurrencyCode,
  CurrencyFilter,
  CurrencyInput,
  count,
  described,
  Enum,
  NamedEnum,
  Nullable,
  named,
  namedObject,
  text,
  UpdatedAt,
  Uuid,
} from '../kit/http/schema.ts'
import { LOGO_MESSAGE } from './logo.ts'

export const DisplayName = Type.String({ minLength: 1, maxLength: 100, pattern: '\\S', 'x-nfc': true })

/** Null clears the field. The message is on the union, where the validator reads it. */
const Clearable = <Schema extends TSchema>(schema: Schema, message: string, description: string) =>
  Type.Union([schema, Type.Null()], { 'x-message': message, description })

/** The same words for a setting in requests and in responses. */
const BRANDING_MEANINGS = {
  displayName: 'The name that payers see. Null: the name of the merchant.',
  logo: 'The logo on the pages, a data: URI in base64 of a PNG, WebP, JPEG or SVG of at most 3,072 bytes. Null: none.',
  supportEmail: 'The e-mail address where payers get help. Null: none.',
  supportPhone: 'The phone number where payers get help, in E.164. Null: none.',
  supportUrl: 'The https address where payers get help. Null: none.',
  accentColor: 'The colour of the buttons, with six hexadecimal digits. Null: the usual one.',
}
const SETTINGS_MEANINGS = {
  locale:
    'The language of the payer’s pages, an ISO 639-1 code. Null: the languages of the payer’s browser, then that of the country.',
  savedMethods:
    'How payers consent to a saved card. always_tell: the page says that it is saved. ask_with_checkbox: it is saved if the payer ticks a box. only_when_recurring: it is saved, and the page says so, only for payments with isRecurring.',
  country:
    'Where payments that name no country are collected, if the country uses their currency; an ISO 3166-1 alpha-2 code. Null: the gateway accounts decide, if they collect in one country alone, and then the main country of the currency.',
  timeZone: 'The IANA time zone of the times in exports and of the days in the dashboard. Null: UTC.',
  redirectOrigins: 'The origins to which redirectUrl may lead. Empty: any.',
  routing:
    'Which gateways collect the payments, by currency: at most one rule for each currency, and one for all others. Empty: the routes of the instance.',
  caseApprovals:
    'From which amount, in major units, the resolution of a case by an API key needs the API key of a second person. The larger one of the asked and the received amount counts, or the amount of the refund. Empty: never.',
  refundApprovals:
    'From which amount, in major units, a refund by a person in the dashboard needs the approval of a second person. All refunds of the payment together count; so does money that a person gives back by resolving a case. Refunds by API keys need none. Empty: never.',
  refundConfirmations:
    'From which amount, in major units, a person in the dashboard must have signed in or confirmed their identity within the last five minutes to refund. Empty: never.',
  branding: 'How the payer’s pages look.',
}
const RULE_MEANINGS = {
  currency: 'The ISO 4217 code of the currency of the rule. Null: all others.',
  prefer: 'The names of the gateways to try first, in this order.',
  exclude: 'The names of the gateways never to use.',
  split: 'The shares of the payments that go to a gateway first. Together at most 100.',
  gateway: 'The name of the gateway.',
  percent: 'The percentage of payments that go to it first.',
}
const LIMIT_FROM = 'From this amount on, in major units.'

// Longer than any valid logo, so that readLogo reports the decoded length instead of the schema.
const LOGO_MAX_TEXT = 40_000
const MAX_ORIGINS = 20
// The largest amount of a payment.
const MAX_LIMIT_FROM = 999_999_999_999.99

/** The merchant's branding on pages. Null clears a field. */
export const BRANDING = {
  displayName: Clearable(
    DisplayName,
    'must be 1 to 100 characters, not only spaces; null shows the name.',
    BRANDING_MEANINGS.displayName,
  ),
  logo: Clearable(Type.String({ maxLength: LOGO_MAX_TEXT }), LOGO_MESSAGE, BRANDING_MEANINGS.logo),
  supportEmail: Clearable(
    Type.String({ maxLength: 254, format: 'email' }),
    'must be an e-mail address, such as help@shop.example.',
    BRANDING_MEANINGS.supportEmail,
  ),
  supportPhone: Clearable(
    Type.String({ pattern: '^\\+[1-9]\\d{6,14}$' }),
    'must be a number with its country code and nothing but digits, such as +254700123456.',
    BRANDING_MEANINGS.supportPhone,
  ),
  supportUrl: Clearable(
    Type.String({ maxLength: 500 }),
    'must be an address of at most 500 characters.',
    BRANDING_MEANINGS.supportUrl,
  ),
  accentColor: Clearable(
    Type.String({ pattern: '^#[0-9a-fA-F]{6}$' }),
    'must be a colour with six hexadecimal digits, such as #0b6b57.',
    BRANDING_MEANINGS.accentColor,
  ),
}

export const Locale = Clearable(
  NamedEnum('LanguageCode', LANGUAGE_CODES),
  `must be one of ${LANGUAGE_CODES.join(', ')}, or null.`,
  SETTINGS_MEANINGS.locale,
)

export const SavedMethods = Clearable(
  NamedEnum('SavedMethodMode', SAVED_METHOD_MODES),
  `must be one of ${SAVED_METHOD_MODES.join(', ')}, or null.`,
  `${SETTINGS_MEANINGS.savedMethods} Null: always_tell.`,
)

export const Country = Clearable(
  Type.String({ pattern: '^[A-Z]{2}$' }),
  'must be an ISO 3166-1 alpha-2 code, such as KE, or null.',
  SETTINGS_MEANINGS.country,
)

export const TimeZone = Clearable(
  Type.String({ minLength: 1, maxLength: 64 }),
  'must be the name of a time zone, such as Africa/Nairobi; null is UTC.',
  SETTINGS_MEANINGS.timeZone,
)

const GATEWAY_NAME = '^[a-z][a-z0-9_]{0,39}$'
const GatewayNames = Type.Array(
  Type.String({ pattern: GATEWAY_NAME, 'x-message': 'must be the name of a gateway, such as paystack.' }),
  { maxItems: 20 },
)
const Shares = Type.Array(
  namedObject('GatewayShareInput', {
    gateway: Type.String({
      pattern: GATEWAY_NAME,
      'x-message': 'must be the name of a gateway, such as paystack.',
      description: RULE_MEANINGS.gateway,
      examples: ['paystack'],
    }),
    percent: Type.Integer({ minimum: 1, maximum: 100, description: RULE_MEANINGS.percent }),
  }),
  { maxItems: 20, description: RULE_MEANINGS.split },
)

export const RoutingList = Type.Array(
  namedObject('RoutingRuleInput', {
    currency: Type.Optional(Nullable(CurrencyFilter, RULE_MEANINGS.currency)),
    prefer: Type.Optional(described(GatewayNames, RULE_MEANINGS.prefer)),
    exclude: Type.Optional(described(GatewayNames, RULE_MEANINGS.exclude)),
    split: Type.Optional(Shares),
  }),
  { maxItems: CURRENCY_CODES.length + 1, description: SETTINGS_MEANINGS.routing },
)
export type RoutingInput = Static<typeof RoutingList>

/** Amounts by currency, at most one entry for each. */
const limits = (description: string) =>
  Clearable(
    Type.Array(
      namedObject('AmountLimitInput', {
        currency: CurrencyCode,
        from: Type.Number({ minimum: 0, maximum: MAX_LIMIT_FROM, description: LIMIT_FROM }),
      }),
      { maxItems: CURRENCY_CODES.length },
    ),
    'must be a list such as [{"currency": "KES", "from": 10000}].',
    description,
  )

export const LIMITS = {
  caseApprovals: limits(SETTINGS_MEANINGS.caseApprovals),
  refundApprovals: limits(SETTINGS_MEANINGS.refundApprovals),
  refundConfirmations: limits(SETTINGS_MEANINGS.refundConfirmations),
}
/** The settings that are amounts by currency. */
export type LimitSetting = keyof typeof LIMITS

export const SettingsInput = named(
  'MerchantSettingsInput',
  Type.Partial(
    Type.Object({
      locale: Locale,
      savedMethods: SavedMethods,
      country: Country,
      timeZone: TimeZone,
      redirectOrigins: Clearable(
        Type.Array(Type.String({ maxLength: 300 }), { maxItems: MAX_ORIGINS }),
        `must be a list of at most ${MAX_ORIGINS} origins, such as ["https://shop.example"].`,
        SETTINGS_MEANINGS.redirectOrigins,
      ),
      routing: Nullable(RoutingList, SETTINGS_MEANINGS.routing),
      ...LIMITS,
      branding: Nullable(
        named('BrandingInput', Type.Partial(Type.Object(BRANDING))),
        `${SETTINGS_MEANINGS.branding} Null clears all.`,
      ),
    }),
  ),
)
export type SettingsChanges = Static<typeof SettingsInput>

const limitRecords = (setting: LimitSetting) =>
  Type.Array(
    namedObject('AmountLimit', {
      currency: CurrencyCode,
      from: Type.Number({ description: LIMIT_FROM }),
    }),
    { description: SETTINGS_MEANINGS[setting] },
  )

const LIMIT_RECORDS = {
  caseApprovals: limitRecords('caseApprovals'),
  refundApprovals: limitRecords('refundApprovals'),
  refundConfirmations: limitRecords('refundConfirmations'),
}

/** The limits as a person has seen them. */
export const ExpectedLimits = Type.Object(LIMIT_RECORDS)
export type ExpectedLimits = Static<typeof ExpectedLimits>

const SettingsRecord = namedObject(
  'MerchantSettings',
  {
    locale: Nullable(NamedEnum('LanguageCode', LANGUAGE_CODES), SETTINGS_MEANINGS.locale),
    savedMethods: NamedEnum('SavedMethodMode', SAVED_METHOD_MODES, {
      description: SETTINGS_MEANINGS.savedMethods,
    }),
    country: Nullable(CountryCode, SETTINGS_MEANINGS.country),
    timeZone: Nullable(Type.String({ examples: ['Africa/Nairobi'] }), SETTINGS_MEANINGS.timeZone),
    redirectOrigins: Type.Array(Type.String(), {
      description: SETTINGS_MEANINGS.redirectOrigins,
      examples: [['https://shop.example']],
    }),
    routing: Type.Array(
      namedObject('RoutingRule', {
        currency: Nullable(CurrencyCode, RULE_MEANINGS.currency),
        prefer: Type.Array(Type.String(), { description: RULE_MEANINGS.prefer }),
        exclude: Type.Array(Type.String(), { description: RULE_MEANINGS.exclude }),
        split: Type.Array(
          namedObject('GatewayShare', {
            gateway: text(RULE_MEANINGS.gateway),
            percent: count(RULE_MEANINGS.percent),
          }),
          { description: RULE_MEANINGS.split },
        ),
      }),
      { description: SETTINGS_MEANINGS.routing },
    ),
    ...LIMIT_RECORDS,
    branding: namedObject(
      'Branding',
      {
        displayName: Nullable(Type.String(), BRANDING_MEANINGS.displayName),
        logo: Nullable(Type.String(), BRANDING_MEANINGS.logo),
        supportEmail: Nullable(Type.String(), BRANDING_MEANINGS.supportEmail),
        supportPhone: Nullable(Type.String(), BRANDING_MEANINGS.supportPhone),
        supportUrl: Nullable(Type.String(), BRANDING_MEANINGS.supportUrl),
        accentColor: Nullable(Type.String({ examples: ['#0b6b57'] }), BRANDING_MEANINGS.accentColor),
      },
      { description: SETTINGS_MEANINGS.branding },
    ),
  },
  { description: 'How payments of the merchant are collected and shown.' },
)
export type MerchantSettings = Static<typeof SettingsRecord>

const BASE_CURRENCY = 'The currency at the top of the wallet balance, an ISO 4217 code.'

export const MerchantRecord = namedObject(
  'Merchant',
  {
    uuid: Uuid,
    name: text('The name of the merchant.', 'Demo Shop'),
    mode: NamedEnum('Mode', ['test', 'live'], { description: 'test: of staging. live: of production.' }),
    baseCurrency: described(CurrencyCode, BASE_CURRENCY),
    status: Enum(['active', 'suspended'], {
      description: 'suspended: its keys are refused, and it collects nothing, also at open checkouts.',
    }),
    settings: SettingsRecord,
    cell: Type.Optional(
      text('The cell that has its data. Absent while all merchants are in one database.', 'main'),
    ),
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
  },
  { description: 'A merchant with its settings.' },
)

const MERCHANT_FIELDS = {
  name: described(DisplayName, 'The name of the merchant. Payers see it unless branding.displayName is set.'),
  baseCurrency: Type.Optional(described(CurrencyInput, BASE_CURRENCY)),
  settings: Type.Optional(
    Nullable(SettingsInput, 'The settings to change. Absent ones stay unchanged; null clears one.'),
  ),
}

export const CreateMerchantBody = namedObject('CreateMerchantRequest', {
  ...MERCHANT_FIELDS,
  cell: Type.Optional(
    text('The name of the cell for its data. Absent: the active one with the fewest merchants.', 'main'),
  ),
})
export type CreateMerchant = Static<typeof CreateMerchantBody>

// The currency has no default here: an absent field must not change.
export const UpdateMerchantBody = named(
  'UpdateMerchantRequest',
  Type.Partial(Type.Object({ ...MERCHANT_FIELDS, baseCurrency: described(CurrencyFilter, BASE_CURRENCY) })),
)
export type UpdateMerchant = Static<typeof UpdateMerchantBody>

export const InvariantRecord = namedObject(
  'Invariant',
  {
    name: text('The name of the database view that checks it.', 'invariant_i05_credit_has_proof'),
    violations: Type.Integer({ minimum: 0, description: 'How many records violate it.' }),
  },
  { description: 'A rule that the records must keep.' },
)
