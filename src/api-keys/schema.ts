// The request and response schemas of the routes over API keys.

import { type Static, Type } from 'typebox'
import { type GrantedScope, SCOPES } from '../core/merchant.ts'
import { Enum, Nullable, PAGE_QUERY, Timestamp, Uuid } from '../kit/http/schema.ts'
import { DisplayName } from '../merchants/schema.ts'

const GRANTED_SCOPES: readonly GrantedScope[] = [...SCOPES, '*']

/** All scopes except those of keys: a leaked key must not create others, nor show which there are. */
export const DEFAULT_SCOPES: readonly GrantedScope[] = SCOPES.filter((scope) => !scope.startsWith('keys:'))

const SCOPES_DESCRIPTION =
  'A write scope includes the read scope of the same area; * includes all scopes, also later ones.'

const RateLimit = Type.Object({
  perSecond: Type.Integer({ minimum: 1, maximum: 100_000 }),
  burst: Type.Integer({ minimum: 1, maximum: 1_000_000 }),
})

export const KeyRecord = Type.Object({
  keyId: Type.String(),
  merchantUuid: Uuid,
  name: Type.String(),
  /** The beginning of the key, for its owner to recognise it. */
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

/** Only the response that creates or rotates a key contains the key itself. */
export const CreatedKeyRecord = Type.Object({ ...KeyRecord.properties, apiKey: Type.String() })

const Scopes = Type.Array(Enum(GRANTED_SCOPES), {
  minItems: 1,
  maxItems: GRANTED_SCOPES.length,
  description: SCOPES_DESCRIPTION,
})

export const CreateKeyBody = Type.Object({
  name: Type.Optional(DisplayName),
  scopes: Type.Optional(Scopes),
  expiresAt: Type.Optional(Timestamp),
  allowedIps: Type.Optional(Type.Array(Type.String({ maxLength: 50 }), { maxItems: 100 })),
  rateLimit: Type.Optional(RateLimit),
})

export type CreateKey = Static<typeof CreateKeyBody>

/** An API key as its own merchant sees it. */
export const SelfServiceKeyRecord = Type.Object({
  ...Type.Omit(KeyRecord, ['merchantUuid']).properties,
  /** Whether this is the key of the request. */
  isCurrent: Type.Boolean(),
})

/** `apiKey` is null in a replay: the key was shown once and is not stored. */
export const CreatedSelfServiceKeyRecord = Type.Object({
  ...SelfServiceKeyRecord.properties,
  apiKey: Nullable(Type.String()),
})

// Name and scopes are required here, so that every self-service key has a stated purpose and explicit rights.
export const CreateSelfServiceKeyBody = Type.Object({
  name: DisplayName,
  scopes: Scopes,
  expiresAt: Type.Optional(Timestamp),
  allowedIps: CreateKeyBody.properties.allowedIps,
})

export type CreateSelfServiceKey = Static<typeof CreateSelfServiceKeyBody>

export const RevokeSelfServiceKeyBody = Type.Object({
  /** Required for a key to revoke itself. */
  confirmSelf: Type.Optional(Type.Boolean({ default: false })),
})

export const SelfServiceKeysQuery = Type.Object(PAGE_QUERY)

export const RotateKeyBody = Type.Object({
  /** How long the old key stays valid: at most a week. */
  overlapHours: Type.Optional(Type.Number({ minimum: 0, maximum: 168, default: 24 })),
})

export const KeyParams = Type.Object({ keyId: Type.String({ pattern: '^[0-9A-Za-z]{1,40}$' }) })
