// What enters and leaves the operators' routes over merchants and keys.

import { type Static, Type } from 'typebox'
import { type GrantedScope, SCOPES } from '../core/merchant.ts'
import { COUNT_CAP, DEFAULT_LIMIT, MAX_LIMIT } from '../core/page.ts'
import {
  CurrencyCode,
  CurrencyFilter,
  CurrencyInput,
  Metadata,
  Nullable,
  Timestamp,
  Uuid,
  Words,
} from '../kit/schema.ts'

const GRANTED_SCOPES: readonly GrantedScope[] = [...SCOPES, '*']

/** What a shop's server needs. Managing keys is left out: a leaked key should not be able to make others. */
export const DEFAULT_SCOPES: readonly GrantedScope[] = SCOPES.filter((scope) => scope !== 'keys:write')

const Name = Type.String({ minLength: 1, maxLength: 100, pattern: '\\S', 'x-nfc': true })

const RateLimit = Type.Object({
  perSecond: Type.Integer({ minimum: 1, maximum: 100_000 }),
  burst: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
})

export const MerchantRecord = Type.Object({
  uuid: Uuid,
  name: Type.String(),
  mode: Words(['test', 'live']),
  baseCurrency: CurrencyCode,
  status: Words(['active', 'suspended']),
  settings: Metadata,
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

export const CreateMerchantBody = Type.Object({
  name: Name,
  baseCurrency: Type.Optional(CurrencyInput),
  settings: Type.Optional(Metadata),
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
  mode: Words(['test', 'live']),
  scopes: Type.Array(Words(GRANTED_SCOPES)),
  allowedIps: Type.Array(Type.String()),
  rateLimit: Nullable(RateLimit),
  status: Words(['active', 'expired', 'revoked']),
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
  scopes: Type.Optional(Type.Array(Words(GRANTED_SCOPES), { minItems: 1, maxItems: GRANTED_SCOPES.length })),
  expiresAt: Type.Optional(Timestamp),
  allowedIps: Type.Optional(Type.Array(Type.String({ maxLength: 50 }), { maxItems: 100 })),
  rateLimit: Type.Optional(RateLimit),
})
export type CreateKey = Static<typeof CreateKeyBody>

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
