// What enters and leaves the operators' routes over merchants and keys.

import { type Static, type TSchema, Type } from 'typebox'
import { CURRENCY_CODES } from '../core/currency.ts'
import { LANGUAGE_CODES } from '../core/languages.ts'
import { type GrantedScope, SCOPES } from '../core/merchant.ts'
import { COUNT_CAP, DEFAULT_LIMIT, MAX_LIMIT } from '../core/page.ts'
import {
  CurrencyCode,
  CurrencyFilter,
  CurrencyInput,
  Enum,
  Nullable,
  PAGE_QUERY,
  Timestamp,
  Uuid,
} from '../kit/schema.ts'
import { LOGO_MESSAGE } from './logo.ts'

const GRANTED_SCOPES: readonly GrantedScope[] = [...SCOPES, '*']

/** What a shop's server needs. Managing keys is left out: a leaked key should not be able to make others. */
export const DEFAULT_SCOPES: readonly GrantedScope[] = SCOPES.filter((scope) => scope !== 'keys:write')

const Name = Type.String({ minLength: 1, maxLength: 100, pattern: '\\S', 'x-nfc': true })

/** The languages of the payer's pages. */

/** Null clears the field. The words stand on the union, where a complaint looks for them. */
const Clearable = <Schema extends TSchema>(schema: Schema, message: string) =>
  Type.Union([schema, Type.Null()], { 'x-message': message })

// Longer than any that is acceptable, so that the rule, which knows the decoded length, can say what is wrong.
const LOGO_MAX_TEXT = 40_000
const MAX_ORIGINS = 20

/** What payers see of a merchant. Each can be cleared with null. */
export const BRANDING = {
  displayName: Clearable(Name, 'must be 1 to 100 characters, not only spaces; null shows the name.'),
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

/** One rule for all currencies, and one for each that has its own. */
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

const SettingsInput = Type.Partial(
  Type.Object({
    locale: Locale,
    redirectOrigins: Clearable(
      Type.Array(Type.String({ maxLength: 300 }), { maxItems: MAX_ORIGINS }),
      `must be a list of at most ${MAX_ORIGINS} origins, such as ["https://shop.example"].`,
    ),
    routing: Nullable(RoutingList),
    branding: Nullable(Type.Partial(Type.Object(BRANDING))),
  }),
)
export type SettingsChanges = Static<typeof SettingsInput>

const SettingsRecord = Type.Object({
  locale: Nullable(Enum(LANGUAGE_CODES)),
  redirectOrigins: Type.Array(Type.String()),
  routing: Type.Array(
    Type.Object({
      currency: Nullable(CurrencyCode),
      prefer: Type.Array(Type.String()),
      exclude: Type.Array(Type.String()),
      split: Type.Array(Type.Object({ gateway: Type.String(), percent: Type.Integer() })),
    }),
  ),
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

const RateLimit = Type.Object({
  perSecond: Type.Integer({ minimum: 1, maximum: 100_000 }),
  burst: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
})

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
  name: Name,
  baseCurrency: Type.Optional(CurrencyInput),
  settings: Type.Optional(Nullable(SettingsInput)),
})
export type CreateMerchant = Static<typeof CreateMerchantBody>

// The currency without its default: what a change does not name must stay.
export const UpdateMerchantBody = Type.Partial(
  Type.Object({ ...CreateMerchantBody.properties, baseCurrency: CurrencyFilter }),
)
export type UpdateMerchant = Static<typeof UpdateMerchantBody>

export const KeyRecord = Type.Object({
  keyId: Type.String(),
  merchantUuid: Uuid,
  name: Type.String(),
  /** The beginning of the key, by which its owner recognises it. */
  prefix: Type.String(),
  mode: Enum(['test', 'live']),
  scopes: Type.Array(Enum(GRANTED_SCOPES)),
  allowedIps: Type.Array(Type.String()),
  rateLimit: Nullable(RateLimit),
  status: Enum(['active', 'expired', 'revoked']),
  replacedBy: Nullable(Type.String()),
  createdAt: Timestamp,
  expiresAt: Nullable(Timestamp),
  lastUsedAt: Nullable(Timestamp),
  revokedAt: Nullable(Timestamp),
})

/** Only the answer to creating or rotating a key holds the key itself. */
export const CreatedKeyRecord = Type.Object({ ...KeyRecord.properties, apiKey: Type.String() })

export const CreateKeyBody = Type.Object({
  name: Type.Optional(Name),
  scopes: Type.Optional(Type.Array(Enum(GRANTED_SCOPES), { minItems: 1, maxItems: GRANTED_SCOPES.length })),
  expiresAt: Type.Optional(Timestamp),
  allowedIps: Type.Optional(Type.Array(Type.String({ maxLength: 50 }), { maxItems: 100 })),
  rateLimit: Type.Optional(RateLimit),
})
export type CreateKey = Static<typeof CreateKeyBody>

/** What a merchant sees of its own keys. */
export const SelfServiceKeyRecord = Type.Object({
  ...Type.Omit(KeyRecord, ['merchantUuid']).properties,
  /** Whether it is the key that asks. */
  isCurrent: Type.Boolean(),
})

/** The key itself is null when an Idempotency-Key is sent again: it was shown once, and is not kept. */
export const CreatedSelfServiceKeyRecord = Type.Object({
  ...SelfServiceKeyRecord.properties,
  apiKey: Nullable(Type.String()),
})

// A name and the scopes are wanted here: a key of which nobody says what it is for can do nothing.
export const CreateSelfServiceKeyBody = Type.Object({
  name: Name,
  scopes: Type.Array(Enum(GRANTED_SCOPES), { minItems: 1, maxItems: GRANTED_SCOPES.length }),
  expiresAt: Type.Optional(Timestamp),
  allowedIps: CreateKeyBody.properties.allowedIps,
})
export type CreateSelfServiceKey = Static<typeof CreateSelfServiceKeyBody>

export const RevokeSelfServiceKeyBody = Type.Object({
  /** Without it a key does not end itself. */
  confirmSelf: Type.Optional(Type.Boolean({ default: false })),
})

export const SelfServiceKeysQuery = Type.Object(PAGE_QUERY)

export const RotateKeyBody = Type.Object({
  /** How long the old key keeps working: up to a week. */
  overlapHours: Type.Optional(Type.Number({ minimum: 0, maximum: 168, default: 24 })),
})

export const KeyParams = Type.Object({ keyId: Type.String({ pattern: '^[0-9A-Za-z]{1,40}$' }) })

export const ListQuery = Type.Object({
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: COUNT_CAP, default: 1 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT })),
})
export type ListWindow = Static<typeof ListQuery>

export const InvariantRecord = Type.Object({
  name: Type.String(),
  violations: Type.Integer({ minimum: 0 }),
})
