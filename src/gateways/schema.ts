// What enters and leaves the operators' routes over gateways. Credentials only enter.

import { Type } from 'typebox'
import { Enum, Nullable, Timestamp, Uuid, UuidInput } from '../kit/schema.ts'

export const GatewayParams = Type.Object({
  uuid: UuidInput,
  gateway: Type.String({ pattern: '^[a-z][a-z0-9_]{0,39}$' }),
})

// A public key in PEM is below 1 KB; nothing that a provider gives out is longer than a long token.
const MAX_CREDENTIAL = 8_192

export const AccountBody = Type.Object({
  credentials: Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: { type: 'string', maxLength: MAX_CREDENTIAL },
    'x-multiline': true,
  }),
})

export const AccountQuery = Type.Object({
  /** False keeps the credentials without trying them. */
  probe: Type.Optional(Type.Boolean({ default: true })),
})

const CredentialState = Type.Object({
  name: Type.String(),
  isSet: Type.Boolean(),
  /** Its last four characters, where they are a small part of it. */
  ending: Nullable(Type.String()),
})

export const AccountRecord = Type.Object({
  uuid: Uuid,
  gateway: Type.String(),
  title: Type.String(),
  status: Enum(['active', 'revoked']),
  credentials: Type.Array(CredentialState),
  /** What to write into the provider's dashboard. */
  webhookUrl: Type.String(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  revokedAt: Nullable(Timestamp),
})

export const SavedAccountRecord = Type.Object({
  ...AccountRecord.properties,
  /** What the gateway said to the credentials. */
  probe: Enum(['works', 'unreachable', 'unchecked']),
  warnings: Type.Array(Type.String()),
})

export const MerchantGatewayRecord = Type.Object({
  gateway: Type.String(),
  title: Type.String(),
  /** Whose account takes the merchant's payments; null when there is none. */
  servedBy: Nullable(Enum(['merchant', 'instance'])),
  account: Nullable(AccountRecord),
})

export const GatewayRecord = Type.Object({
  gateway: Type.String(),
  title: Type.String(),
  isConfigured: Type.Boolean(),
  baseUrl: Type.String(),
  webhookUrl: Type.String(),
  credentials: Type.Array(
    Type.Object({
      name: Type.String(),
      /** The variable that gives it to the whole installation. */
      variable: Type.String(),
      isRequired: Type.Boolean(),
      meaning: Type.String(),
    }),
  ),
})
