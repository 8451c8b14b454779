import { type Static, Type } from 'typebox'
import { CURRENCY_CODES } from '../core/currency.ts'
import { CHANNELS } from '../gateways/gateway.ts'
import { AmountText, CurrencyCode, CurrencyFilter, Enum, Nullable } from '../kit/http/schema.ts'

const Channels = Type.Array(Enum(CHANNELS))
const Health = Enum(['up', 'down'])

export const GatewayRecord = Type.Object({
  name: Type.String(),
  title: Type.String(),
  currencies: Type.Array(CurrencyCode),
  countries: Type.Array(Type.String()),
  channels: Channels,
  /** Whether a payment method can be saved and charged again. */
  recurring: Type.Boolean(),
  refunds: Type.Boolean(),
  /** False if only the whole amount can be refunded. */
  partialRefunds: Type.Boolean(),
  health: Health,
})

const TestOnly = Type.Boolean({
  description:
    'True if only the sandbox has it in this place: no gateway of this version collects it there. Do not plan with it for production.',
})

const Way = Type.Object({
  channel: Enum(CHANNELS),
  collection: Enum(['prompt', 'page', 'transfer'], {
    description:
      "prompt: our page asks for the number, and a prompt appears on the phone. page: on the provider's page. transfer: to an account that our page shows.",
  }),
  networks: Type.Array(Type.Object({ code: Type.String(), name: Type.String(), testOnly: TestOnly }), {
    description:
      'The mobile-money networks whose payers it reaches, the largest first; empty if the provider’s page decides.',
  }),
  testOnly: TestOnly,
})

export const RouteRecord = Type.Object({
  currency: CurrencyCode,
  /** Null: any other country of the currency, or no country. */
  country: Nullable(Type.String()),
  /** In the order of the attempts. */
  gateways: Type.Array(
    Type.Object({
      name: Type.String(),
      channels: Channels,
      ways: Type.Array(Way, { description: 'How each channel is collected.' }),
      reason: Enum(['split', 'preferred', 'route', 'rails']),
      percent: Nullable(Type.Integer()),
      health: Health,
    }),
  ),
  leftOut: Type.Array(
    Type.Object({
      name: Type.String(),
      reason: Enum(['not_configured', 'excluded', 'not_in_route', 'not_collected', 'amount']),
    }),
  ),
})

export const CurrencyRecord = Type.Object({
  code: CurrencyCode,
  name: Type.String({ description: 'In English.' }),
  decimals: Type.Integer({ description: 'An amount with more decimals is refused, never rounded.' }),
  minimum: Nullable(
    Type.String({
      ...AmountText,
      description:
        'The smallest amount that a gateway of yours takes; another may want more. Null: none serves this currency.',
    }),
  ),
  maximum: Nullable(
    Type.String({
      ...AmountText,
      description: 'The largest amount that a gateway of yours takes. Null: no gateway declares a limit.',
    }),
  ),
  countries: Type.Array(Type.String()),
  countryRequired: Type.Boolean({ description: 'Whether a payment must name one of the countries.' }),
})

export const CountryRecord = Type.Object({
  code: Type.String(),
  name: Type.String({ description: 'In English.' }),
  callingCode: Nullable(Type.String()),
  currencies: Type.Array(CurrencyCode),
  networks: Type.Array(Type.Object({ code: Type.String(), name: Type.String() }), {
    description: 'Mobile-money networks, the largest first.',
  }),
})

export const RoutesQuery = Type.Object({
  currency: Type.Optional(CurrencyFilter),
  country: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z]{2}$',
      'x-code': 'invalid_country',
      'x-message': 'must be an ISO 3166-1 alpha-2 code.',
    }),
  ),
})
export type RoutesFilter = Static<typeof RoutesQuery>

export const GATEWAY_EXAMPLE = {
  name: 'paystack',
  title: 'Paystack',
  currencies: CURRENCY_CODES.filter((code) => ['GHS', 'KES', 'NGN', 'USD', 'XOF', 'ZAR'].includes(code)),
  countries: ['CI', 'GH', 'KE', 'NG', 'ZA'],
  channels: ['card', 'bank_transfer', 'mobile_money'],
  recurring: true,
  refunds: true,
  partialRefunds: true,
  health: 'up',
}

export const ROUTE_EXAMPLE = {
  currency: 'KES',
  country: 'KE',
  gateways: [
    {
      name: 'paystack',
      channels: ['card', 'mobile_money', 'bank_transfer'],
      ways: [
        { channel: 'card', collection: 'page', networks: [], testOnly: false },
        { channel: 'mobile_money', collection: 'page', networks: [], testOnly: false },
        { channel: 'bank_transfer', collection: 'page', networks: [], testOnly: false },
      ],
      reason: 'route',
      percent: null,
      health: 'up',
    },
    {
      name: 'stripe',
      channels: ['card'],
      ways: [{ channel: 'card', collection: 'page', networks: [], testOnly: false }],
      reason: 'route',
      percent: null,
      health: 'up',
    },
  ],
  leftOut: [
    { name: 'flutterwave', reason: 'excluded' },
    { name: 'pawapay', reason: 'not_configured' },
  ],
}

export const CURRENCY_EXAMPLE = {
  code: 'XOF',
  name: 'West African CFA Franc',
  decimals: 0,
  minimum: '1.00',
  maximum: '99999999.00',
  countries: ['BJ', 'BF', 'CI', 'GW', 'ML', 'NE', 'SN', 'TG'],
  countryRequired: true,
}

export const COUNTRY_EXAMPLE = {
  code: 'KE',
  name: 'Kenya',
  callingCode: '+254',
  currencies: ['KES', 'USD'],
  networks: [
    { code: 'mpesa_ke', name: 'M-Pesa' },
    { code: 'airtel_ke', name: 'Airtel Money' },
  ],
}
