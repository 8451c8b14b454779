// The request and response schemas of the routes over API keys.

import { type Static, Type } from 'typebox'
import { type GrantedScope, SCOPES } from '../core/merchant.ts'
import {
  CreatedAt,
  described,
  Enum,
  flag,
  NamedEnum,
  Nullable,
  namedExtension,
  namedObject,
  PAGE_QUERY,
  Timestamp,
  text,
  timestamp,
  Uuid,
} from '../kit/http/schema.ts'
import { DisplayName } from '../merchants/schema.ts'

const GRANTED_SCOPES: readonly GrantedScope[] = [...SCOPES, '*']

/** All scopes except those of keys: a leaked key must not create others, nor show which there are. */
export const DEFAULT_SCOPES: readonly GrantedScope[] = SCOPES.filter((scope) => !scope.startsWith('keys:'))

const SCOPES_DESCRIPTION =
  'A write scope includes the read scope of the same area; * includes all scopes, also later ones.'

const RATE_LIMIT_MEANING = 'The rate limit of this key alone, instead of that of the service.'

const RateLimit = namedObject(
  'RateLimit',
  {
    perSecond: Type.Integer({
      minimum: 1,
      maximum: 100_000,
      description: 'The number of requests per second, on average.',
    }),
    burst: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description: 'The number of requests at once. At least perSecond.',
    }),
  },
  { description: RATE_LIMIT_MEANING },
)

export const KeyRecord = namedObject(
  'MerchantApiKey',
  {
    keyId: text('The public id of the key: the part after the mode. It is no secret.', '4fTz0QmB7xLa'),
    merchantUuid: described(Uuid, 'The uuid of the merchant whose key it is.'),
    name: text('What the key is for, as you named it.', 'Nightly report'),
    prefix: text('The beginning of the key, by which you recognise it.', 'cowry_test_4fTz0QmB7xLa_…'),
    mode: NamedEnum('Mode', ['test', 'live'], { description: 'test: for staging. live: for production.' }),
    scopes: Type.Array(NamedEnum('Scope', GRANTED_SCOPES), {
      description: `What the key may do. ${SCOPES_DESCRIPTION}`,
    }),
    allowedIps: Type.Array(Type.String(), {
      description: 'The addresses and CIDR blocks from which it may be used. Empty: from any address.',
    }),
    rateLimit: Nullable(RateLimit, 'The rate limit of this key alone. Null: the one of the service.'),
    status: Enum(['active', 'expired', 'revoked'], { description: 'Only an active key is accepted.' }),
    replacedBy: Nullable(Type.String(), 'The keyId of the key that replaced it. Null if it was not rotated.'),
    createdAt: CreatedAt,
    expiresAt: Nullable(Timestamp, 'From when on it is refused, in UTC. Null: it does not expire.'),
    lastUsedAt: Nullable(Timestamp, 'When it was last used, in UTC. Null if it never was.'),
    revokedAt: Nullable(Timestamp, 'When it was revoked, in UTC. Null if it was not.'),
  },
  { description: 'An API key of a merchant, without the key itself.' },
)

/** Only the response that creates or rotates a key contains the key itself. */
export const CreatedKeyRecord = namedExtension(
  'CreatedMerchantApiKey',
  KeyRecord,
  {
    apiKey: text('The key itself. It is shown only in this response: store it.'),
  },
  { description: 'A new API key. The key itself is shown only here.' },
)

const Scopes = Type.Array(NamedEnum('Scope', GRANTED_SCOPES), {
  minItems: 1,
  maxItems: GRANTED_SCOPES.length,
  description: `What the key may do. ${SCOPES_DESCRIPTION}`,
})

const KeyName = described(DisplayName, 'What the key is for, such as the program that uses it.')

const AllowedIps = Type.Array(Type.String({ maxLength: 50 }), {
  maxItems: 100,
  description:
    'The addresses and CIDR blocks, IPv4 or IPv6, from which the key may be used. Empty: from any.',
  examples: [['203.0.113.0/24']],
})

export const CreateKeyBody = namedObject('CreateMerchantApiKeyRequest', {
  name: Type.Optional(KeyName),
  scopes: Type.Optional(Scopes),
  expiresAt: Type.Optional(timestamp('From when on the key is refused. Absent: it does not expire.')),
  allowedIps: Type.Optional(AllowedIps),
  rateLimit: Type.Optional(
    namedObject('RateLimitInput', RateLimit.properties, { description: RATE_LIMIT_MEANING }),
  ),
})

export type CreateKey = Static<typeof CreateKeyBody>

/** An API key as its own merchant sees it. */
export const SelfServiceKeyRecord = namedObject(
  'ApiKey',
  {
    ...Type.Omit(KeyRecord, ['merchantUuid']).properties,
    isCurrent: flag('Whether it is the key of this request.'),
  },
  { description: 'An API key of yours, without the key itself.' },
)

export const CreatedSelfServiceKeyRecord = namedExtension(
  'CreatedApiKey',
  SelfServiceKeyRecord,
  {
    apiKey: Nullable(
      Type.String(),
      'The key itself. It is shown only in this response: store it. Null in the response to a retry.',
    ),
  },
  { description: 'A new API key. The key itself is shown only here.' },
)

// Name and scopes are required here, so that every self-service key has a stated purpose and explicit rights.
export const CreateSelfServiceKeyBody = namedObject('CreateApiKeyRequest', {
  name: KeyName,
  scopes: Scopes,
  expiresAt: Type.Optional(timestamp('From when on the key is refused. Absent: as the key of this request.')),
  allowedIps: Type.Optional(
    described(
      AllowedIps,
      'The addresses and CIDR blocks, IPv4 or IPv6, from which the key may be used. Absent: those of the key of this request.',
    ),
  ),
})

export type CreateSelfServiceKey = Static<typeof CreateSelfServiceKeyBody>

export const RevokeSelfServiceKeyBody = namedObject('RevokeApiKeyRequest', {
  confirmSelf: Type.Optional(
    Type.Boolean({ default: false, description: 'Must be true for a key to revoke itself.' }),
  ),
})

export const SelfServiceKeysQuery = Type.Object(PAGE_QUERY)

export const RotateKeyBody = namedObject('RotateApiKeyRequest', {
  overlapHours: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 168,
      default: 24,
      description: 'How many hours the old key stays valid.',
    }),
  ),
})

export const KeyParams = Type.Object({
  keyId: Type.String({
    pattern: '^[0-9A-Za-z]{1,40}$',
    description: 'The public id of the key: the part after the mode.',
    examples: ['4fTz0QmB7xLa'],
  }),
})
