import { type Static, Type } from 'typebox'
import { CURRENCY_CODES } from '../core/currency.ts'
import { CHANNELS } from '../gateways/gateway.ts'
import {
  AmountText,
  CountryCode,
  CurrencyCode,
  CurrencyFilter,
  Enum,
  flag,
  NamedEnum,
  Nullable,
  namedObject,
  text,
} from '../kit/http/schema.ts'

const Channels = Type.Array(NamedEnum('Channel', CHANNELS), {
  description:
    'How payers can pay. The direct channels are transfers to your own account, which you confirm.',
})
const Health = NamedEnum('GatewayHealth', ['up', 'down'], {
  description: 'As this service sees it. down: it has not responded lately, and is tried last.',
})
const GatewayName = text('The name of the gateway, or of one of several accounts at it.', 'paystack')

export const GatewayRecord = namedObject(
  'Gateway',
  {
    name: GatewayName,
    title: text('The name for people.', 'Paystack'),
    currencies: Type.Array(CurrencyCode, { description: 'The currencies that it collects.' }),
    countries: Type.Array(CountryCode, {
      description: 'The countries in which it collects, as ISO 3166-1 alpha-2 codes.',
    }),
    channels: Channels,
    recurring: flag('Whether a payment method can be saved and charged again.'),
    refunds: flag('Whether payments can be refunded through it.'),
    partialRefunds: flag('Whether a part of a payment can be refunded. False: only the whole amount.'),
    health: Health,
  },
  { description: 'A gateway that collects payments for you.' },
)

const TestOnly = Type.Boolean({
  description:
    'True if only the sandbox has it in this place: no gateway of this version collects it there. Do not plan with it for production.',
})

const NETWORK = {
  code: text('The code of the network, for requests.', 'mpesa_ke'),
  name: text('The name that payers know.', 'M-Pesa'),
}

const Way = namedObject('RouteWay', {
  channel: NamedEnum('Channel', CHANNELS, { description: 'The channel that is collected in this way.' }),
  collection: Enum(['prompt', 'page', 'transfer'], {
    description:
      "prompt: our page asks for the number, and a prompt appears on the phone. page: on the provider's page. transfer: to an account that our page shows.",
  }),
  networks: Type.Array(namedObject('RouteNetwork', { ...NETWORK, testOnly: TestOnly }), {
    description:
      'The mobile-money networks whose payers it reaches, the largest first; empty if the provider’s page decides.',
  }),
  testOnly: TestOnly,
})

export const RouteRecord = namedObject(
  'Route',
  {
    currency: CurrencyCode,
    country: Nullable(
      CountryCode,
      'The country, an ISO 3166-1 alpha-2 code. Null: any other country of the currency, or no country.',
    ),
    gateways: Type.Array(
      namedObject('RouteGateway', {
        name: GatewayName,
        channels: Channels,
        ways: Type.Array(Way, { description: 'How each channel is collected.' }),
        reason: Enum(['split', 'preferred', 'route', 'rails'], {
          description:
            'Why it is tried. split, preferred: by your routing settings. route: by the routes of this service. rails: it collects the currency there.',
        }),
        percent: Nullable(
          Type.Integer({ examples: [70] }),
          'The percentage of payments that go to this gateway first. Null without a split.',
        ),
        health: Health,
      }),
      { description: 'The gateways that are tried, in this order.' },
    ),
    leftOut: Type.Array(
      namedObject('RouteExclusion', {
        name: GatewayName,
        reason: Enum(['not_configured', 'excluded', 'not_in_route', 'not_collected', 'amount'], {
          description:
            'not_configured: it has no credentials. excluded: by your routing settings. not_in_route: the route names others. not_collected: it does not collect the currency there. amount: it does not take the amount.',
        }),
      }),
      { description: 'The gateways that are not tried, with the reason.' },
    ),
  },
  { description: 'The gateways of one currency and country.' },
)

export const CurrencyRecord = namedObject(
  'Currency',
  {
    code: CurrencyCode,
    name: text('The name of the currency in English.', 'Kenyan Shilling'),
    decimals: Type.Integer({
      description:
        'The number of decimals of an amount, 0 or 2. An amount with more is refused, never rounded.',
    }),
    minimum: Nullable(
      AmountText,
      'The smallest amount that a gateway of yours takes, in major units; another may want more. Null: none serves this currency.',
    ),
    maximum: Nullable(
      AmountText,
      'The largest amount that a gateway of yours takes, in major units. Null: no gateway declares a limit.',
    ),
    countries: Type.Array(CountryCode, {
      description: 'The countries that use it, as ISO 3166-1 alpha-2 codes.',
    }),
    countryRequired: Type.Boolean({ description: 'Whether a payment must name one of the countries.' }),
  },
  { description: 'A currency in which payments can be collected.' },
)

export const CountryRecord = namedObject(
  'Country',
  {
    code: CountryCode,
    name: text('The name of the country in English.', 'Kenya'),
    callingCode: Nullable(
      Type.String({ examples: ['+254'] }),
      'The calling code of its phone numbers. Null if it is not known.',
    ),
    currencies: Type.Array(CurrencyCode, {
      description: 'The currencies of this service that are used there.',
    }),
    networks: Type.Array(namedObject('MobileNetwork', NETWORK, { description: 'A mobile-money network.' }), {
      description: 'Mobile-money networks, the largest first.',
    }),
  },
  { description: 'A country in which payments can be collected.' },
)

export const RoutesQuery = Type.Object({
  currency: Type.Optional(CurrencyFilter),
  country: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z]{2}$',
      'x-code': 'invalid_country',
      'x-message': 'must be an ISO 3166-1 alpha-2 code.',
      description: 'Only routes of this country, by its ISO 3166-1 alpha-2 code.',
      examples: ['KE'],
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
