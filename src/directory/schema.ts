import { type Static, Type } from 'typebox'
import { CURRENCY_CODES } from '../core/currency.ts'
import { CurrencyCode, CurrencyFilter, Nullable, Words } from '../kit/schema.ts'

const Channels = Type.Array(Words(['card', 'mobile_money', 'bank_transfer']))
const Health = Words(['up', 'down'])

export const GatewayRecord = Type.Object({
  name: Type.String(),
  title: Type.String(),
  currencies: Type.Array(CurrencyCode),
  countries: Type.Array(Type.String()),
  channels: Channels,
  /** Whether what was paid with here can be saved and charged again. */
  recurring: Type.Boolean(),
  refunds: Type.Boolean(),
  health: Health,
})

export const RouteRecord = Type.Object({
  currency: CurrencyCode,
  /** Null: any other country of the currency, or none. */
  country: Nullable(Type.String()),
  /** In the order in which they are tried. */
  gateways: Type.Array(
    Type.Object({
      name: Type.String(),
      channels: Channels,
      reason: Words(['split', 'preferred', 'route', 'rails']),
      percent: Nullable(Type.Integer()),
      health: Health,
    }),
  ),
  leftOut: Type.Array(
    Type.Object({
      name: Type.String(),
      reason: Words(['not_configured', 'excluded', 'not_in_route', 'not_collected', 'amount']),
    }),
  ),
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
  health: 'up',
}

export const ROUTE_EXAMPLE = {
  currency: 'KES',
  country: 'KE',
  gateways: [
    {
      name: 'paystack',
      channels: ['card', 'mobile_money', 'bank_transfer'],
      reason: 'route',
      percent: null,
      health: 'up',
    },
    { name: 'stripe', channels: ['card'], reason: 'route', percent: null, health: 'up' },
  ],
  leftOut: [
    { name: 'flutterwave', reason: 'excluded' },
    { name: 'pawapay', reason: 'not_configured' },
  ],
}
