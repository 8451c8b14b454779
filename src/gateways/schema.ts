// The request and response schemas of the operators' gateway endpoints. Credentials are write-only.

import { Type } from 'typebox'
import {
  CreatedAt,
  described,
  Enum,
  flag,
  Nullable,
  namedExtension,
  namedObject,
  Timestamp,
  text,
  UpdatedAt,
  Uuid,
  UuidInput,
} from '../kit/http/schema.ts'

const Gateway = text('The name of the gateway, with the label of the account if it has one.', 'paystack')
const Title = text('The name for people.', 'Paystack')

export const GatewayParams = Type.Object({
  uuid: described(UuidInput, 'The uuid of the merchant.'),
  gateway: Type.String({
    pattern: '^[a-z][a-z0-9_]{0,39}$',
    description: 'The name of the gateway, with the label of the account if it has one.',
    examples: ['paystack'],
  }),
})

/** Of a merchant that is known already. */
export const AccountParams = Type.Object({ gateway: GatewayParams.properties.gateway })

// A public key in PEM is below 1 KB; no provider issues longer tokens.
const MAX_CREDENTIAL = 8_192

export const AccountBody = namedObject('SaveGatewayAccountRequest', {
  credentials: Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: { type: 'string', maxLength: MAX_CREDENTIAL },
    'x-multiline': true,
    description:
      'The credentials and limits by their names, as /admin/v1/gateways lists them. They replace all earlier ones.',
  }),
})

export const AccountQuery = Type.Object({
  probe: Type.Optional(
    Type.Boolean({
      default: true,
      description: 'Whether to try the credentials at the provider before they are stored.',
    }),
  ),
})

const CredentialState = namedObject('GatewayCredential', {
  name: text('The name of the credential.', 'secretKey'),
  isSet: flag('Whether it has a value.'),
  ending: Nullable(
    Type.String({ examples: ['9f3a'] }),
    'The last four characters of the value. Null if it is not set, or shorter than 20 characters.',
  ),
})

const Limits = namedObject(
  'GatewayAccountLimits',
  {
    countries: Nullable(
      Type.String({ examples: ['KE,UG'] }),
      'The only countries whose payments use it. Null: no limit.',
    ),
    currencies: Nullable(
      Type.String({ examples: ['KES,USD'] }),
      'The only currencies whose payments use it. Null: no limit.',
    ),
    channels: Nullable(
      Type.String({ examples: ['card'] }),
      'The only channels for which it is used. Null: no limit.',
    ),
    amounts: Nullable(
      Type.String({ examples: ['KES:10-250000,UGX:-5000000'] }),
      'The amounts for which it is used, by currency, in major units. Null: no limit.',
    ),
  },
  { description: 'For which payments the account is used: the texts as they were entered.' },
)

const WebhookUrl = text('The URL of our webhook receiver, to enter in the provider’s dashboard.')

export const AccountRecord = namedObject(
  'GatewayAccount',
  {
    uuid: Uuid,
    gateway: Gateway,
    title: Title,
    status: Enum(['active', 'revoked'], {
      description: 'revoked: no new payments use it; those that it began are still resolved with it.',
    }),
    credentials: Type.Array(CredentialState, {
      description: 'Which credentials are set, without their values.',
    }),
    limits: Limits,
    webhookUrl: WebhookUrl,
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
    revokedAt: Nullable(Timestamp, 'When it was revoked, in UTC. Null if it was not.'),
  },
  { description: 'A merchant’s own account at a gateway.' },
)

export const SavedAccountRecord = namedExtension(
  'SavedGatewayAccount',
  AccountRecord,
  {
    probe: Enum(['works', 'unreachable', 'unchecked'], {
      description:
        'Whether the provider accepted the credentials. unreachable: it did not respond. unchecked: it was not asked.',
    }),
    warnings: Type.Array(Type.String(), { description: 'What the operator should know, in sentences.' }),
  },
  { description: 'A merchant’s own account at a gateway, as it was saved.' },
)

export const MerchantGatewayRecord = namedObject(
  'MerchantGateway',
  {
    gateway: Gateway,
    title: Title,
    servedBy: Nullable(
      Enum(['merchant', 'instance']),
      'Whose account collects the merchant’s payments. Null if there is none.',
    ),
    account: Nullable(AccountRecord, 'The merchant’s own account. Null if it has none.'),
  },
  { description: 'A gateway as it serves a merchant.' },
)

const Field = namedObject('GatewayField', {
  name: text('The name of the field in requests.', 'secretKey'),
  variable: text(
    'The environment variable that sets it for the whole instance.',
    'GATEWAY_PAYSTACK_SECRET_KEY',
  ),
  isRequired: flag('Whether an account needs it.'),
  meaning: text('What it is, and where to find it.'),
})

export const GatewayRecord = namedObject(
  'InstanceGateway',
  {
    gateway: Gateway,
    title: Title,
    isConfigured: flag('Whether the instance has credentials for it.'),
    baseUrl: text('The URL of the provider’s API.', 'https://api.paystack.co'),
    webhookUrl: WebhookUrl,
    credentials: Type.Array(Field, { description: 'The credentials that an account has.' }),
    limits: Type.Array(Field, { description: 'Optional fields that narrow what an account is used for.' }),
  },
  { description: 'A gateway that this version supports.' },
)
