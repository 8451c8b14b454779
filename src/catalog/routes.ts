import { singlePage } from '../core/page.ts'
import { listed, type Route, route } from '../kit/http/route.ts'
import {
  COUNTRY_EXAMPLE,
  CountryRecord,
  CURRENCY_EXAMPLE,
  CurrencyRecord,
  GATEWAY_EXAMPLE,
  GatewayRecord,
  ROUTE_EXAMPLE,
  RouteRecord,
  RoutesQuery,
} from './schema.ts'
import { type CatalogApp, listCountries, listCurrencies, listGateways, listRoutes } from './service.ts'

export function catalogRoutes(app: CatalogApp): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/v1/misc/currencies',
      tag: 'Misc',
      scope: 'checkout:read',
      operationId: 'currencies.list',
      summary: 'List the currencies',
      description:
        'All supported currencies, with the amount format and the smallest amount your gateways accept.',
      response: { http: 200, data: CurrencyRecord, list: true },
      errors: [],
      examples: { data: [CURRENCY_EXAMPLE] },
      handle: async ({ merchant }) => {
        const currencies = await listCurrencies(app, merchant)
        return listed('Currencies retrieved.', currencies, singlePage(currencies.length))
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/misc/countries',
      tag: 'Misc',
      scope: 'checkout:read',
      operationId: 'countries.list',
      summary: 'List the countries',
      description: 'The countries that use one of the currencies, with their mobile-money networks.',
      response: { http: 200, data: CountryRecord, list: true },
      errors: [],
      examples: { data: [COUNTRY_EXAMPLE] },
      handle: async () => {
        const countries = listCountries()
        return listed('Countries retrieved.', countries, singlePage(countries.length))
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/misc/gateways',
      tag: 'Misc',
      scope: 'checkout:read',
      operationId: 'gateways.list',
      summary: 'List the gateways that serve you',
      description:
        'The gateways that are configured for you, with the currencies and channels that they collect. Health is as seen by this service: a gateway that is down has not responded lately and is tried last.',
      response: { http: 200, data: GatewayRecord, list: true },
      errors: [],
      examples: { data: [GATEWAY_EXAMPLE] },
      handle: async ({ merchant }) => {
        const gateways = await listGateways(app, merchant)
        return listed('Gateways retrieved.', gateways, singlePage(gateways.length))
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/misc/routes',
      tag: 'Misc',
      scope: 'checkout:read',
      operationId: 'routes.list',
      summary: 'List the gateways that a payment would go through',
      description:
        'For a currency and a country, or for all: the gateways that are tried, in this order, and those that are skipped, with the reason. The next gateway is tried only if the previous one provably started nothing. With a split, percent is the share of payments that go to a gateway first.',
      query: RoutesQuery,
      response: { http: 200, data: RouteRecord, list: true },
      errors: ['invalid_currency', 'invalid_country'],
      examples: { data: [ROUTE_EXAMPLE] },
      handle: async ({ merchant, query }) => {
        const routes = await listRoutes(app, merchant, query)
        return listed('Routes retrieved.', routes, singlePage(routes.length))
      },
    }),
  ]
}
