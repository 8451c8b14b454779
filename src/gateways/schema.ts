// The request and response schemas of the operators' gateway endpoints. Credentials are write-only.

import { Type } from 'typebox'
import { Enum, Nullable, Timestamp, Uuid, UuidInput } from '../kit/http/schema.ts'

export const GatewayParams = Type.Object({
  uuid: UuidInput,
  gateway: Type.String({ pattern: '^[a-z][a-z0-9_]{0,39}$' }),
})

// A public key in PEM is below 1 KB; no provider issues longer tokens.
const MAX_CREDENTIAL = 8_192

export const AccountBody = Type.Object({
  credentials: Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: { type: 'string', maxLength: MAX_CREDENTIAL },
    'x-multiline': true,
  }),
})

export const AccountQuery = Type.Object({
  /** False stores the credentials without checking them. */
  probe: Type.Optional(Type.Boolean({ default: true })),
})

const CredentialState = Type.Object({
  name: Type.String(),
  isSet: Type.Boolean(),
  /** The last four characters, if they are a small part of the value. */
  ending: Nullable(Type.String()),
})

/** The texts as they were entered; null: no limit. */
const Limits = Type.Object({
  countries: Nullable(Type.String()),
  currencies: Nullable(Type.String()),
  channels: Nullable(Type.String()),
  amounts: Nullable(Type.String()),
})

export const AccountRecord = Type.Object({
  uuid: Uuid,
  gateway: Type.String(),
  title: Type.String(),
  status: Enum(['active', 'revoked']),
  credentials: Type.Array(CredentialState),
  limits: Limits,
  /** What to enter in the provider's dashboard. */
  webhookUrl: Type.String(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  revokedAt: Nullable(Timestamp),
})

export const SavedAccountRecord = Type.Object({
  ...AccountRecord.properties,
  /** The result of the credential check. */
  probe: Enum(['works', 'unreachable', 'unchecked']),
  warnings: Type.Array(Type.String()),
})

export const MerchantGatewayRecord = Type.Object({
  gateway: Type.String(),
  title: Type.String(),
  /** Whose account takes the merchant's payments; null if there is none. */
  servedBy: Nullable(Enum(['merchant', 'instance'])),
  account: Nullable(AccountRecord),
})

const Field = Type.Object({
  name: Type.String(),
  /** The environment variable that sets it for the whole instance. */
  variable: Type.String(),
  isRequired: Type.Boolean(),
  meaning: Type.String(),
})

export const GatewayRecord = Type.Object({
  gateway: Type.String(),
  title: Type.String(),
  isConfigured: Type.Boolean(),
  baseUrl: Type.String(),
  webhookUrl: Type.String(),
  credentials: Type.Array(Field),
  /** Optional fields that narrow what the account is used for. */
  limits: Type.Array(Field),
})
