import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, describe, it } from 'node:test'
import { listCurrencies } from '../../src/catalog/service.ts'
import { CURRENCY_CODES } from '../../src/core/currency.ts'
import type { Rail } from '../../src/gateways/gateway.ts'
import { fixedGateways } from '../../src/gateways/registry.ts'
import type { Api } from '../support/api.ts'
import { assertApiError, UNKNOWN_UUID } from '../support/assertions.ts'
import { initiateBody } from '../support/builders.ts'
import { fileContext } from '../support/gateways.ts'
import { scriptedGateway } from '../support/payments-rig.ts'
import {
  addressOf,
  PROVIDER_NAMES,
  PROVIDERS,
  type ProviderFacts,
  type ProviderName,
} from '../support/providers.ts'
import { FORM, HAS_LARGER_FORM } from '../support/scale.ts'
import { testService } from '../support/service.ts'

const addresses: Record<string, string>[] = []
for (const name of PROVIDER_NAMES)
  addresses.push(addressOf(name, await PROVIDERS[name].start(fileContext({ after }))))
const env: Record<string, string> = Object.assign({ COWRY_RATE_LIMIT: '0' }, ...addresses)
const service = await testService({ after }, { env })

const GATEWAYS = '/api/v1/misc/gateways'
const ROUTES = '/api/v1/misc/routes'
const CURRENCIES = '/api/v1/misc/currencies'
const COUNTRIES = '/api/v1/misc/countries'
const JSON_TYPE = { 'content-type': 'application/json' }

async function merchantWith(names: readonly ProviderName[], routing: object[] = []) {
  const merchant = await service.newMerchant()
  const path = `/admin/v1/merchants/${merchant.uuid}`
  const send = async (method: string, address: string, body: object) => {
    const answer = await service.admin.send(method, address, {
      body: JSON.stringify(body),
      headers: JSON_TYPE,
    })
    assert.equal(answer.http, 200, answer.text)
  }
  for (const name of names)
    await send('PUT', `${path}/gateways/${name}`, { credentials: PROVIDERS[name].credentials })
  await send('PATCH', path, { settings: { routing } })
  return merchant
}

async function read(api: Api, path: string) {
  const answer = await api.get(path)
  assert.equal(answer.http, 200, answer.text)
  return answer.body.data
}

/** The selected gateways in order, and the excluded ones, for one place. */
async function routeOf(api: Api, currency: string, country: string) {
  const [route, ...others] = await read(api, `${ROUTES}?currency=${currency}&country=${country}`)
  assert.deepEqual(others, [])
  const gateways: { name: string }[] = route.gateways
  const leftOut: { name: string; reason: string }[] = route.leftOut
  return {
    names: gateways.map(({ name }) => name),
    leftOut: leftOut.map(({ name, reason }) => `${name} ${reason}`),
  }
}

describe('the catalog of routes', () => {
  it('requires a key with the scope checkout:read to read the catalog', async () => {
    const { api } = await service.newMerchant(['wallet:read'])
    for (const path of [GATEWAYS, ROUTES, CURRENCIES, COUNTRIES]) {
      assertApiError(await service.apiWith(undefined).get(path), 'missing_api_key')
      assertApiError(await api.get(path), 'insufficient_scope')
    }
  })

  it('shows no account and no rule of another merchant in the catalog', async () => {
    const chosen = await merchantWith(['paystack'], [{ exclude: ['sandbox', 'stripe'] }])
    const other = await service.newMerchant()
    assert.deepEqual((await routeOf(chosen.api, 'KES', 'KE')).names, ['paystack'])
    const seen = await routeOf(other.api, 'KES', 'KE')
    assert.deepEqual(seen.names, ['sandbox'])
    assert.ok(seen.leftOut.includes('paystack not_configured'))
    const gateways: { name: string }[] = await read(other.api, GATEWAYS)
    assert.deepEqual(
      gateways.map(({ name }) => name),
      ['sandbox'],
    )
  })

  it('shows what each gateway collects and supports', async () => {
    const { api } = await merchantWith(['pawapay', 'stripe', 'wave'])
    const gateways: Record<string, unknown>[] = await read(api, GATEWAYS)
    const shown = Object.fromEntries(gateways.map((gateway) => [gateway.name, gateway]))
    assert.deepEqual(Object.keys(shown), ['stripe', 'pawapay', 'wave', 'sandbox'])
    const { currencies, countries, ...facts } = shown.pawapay ?? {}
    assert.deepEqual(facts, {
      name: 'pawapay',
      title: 'pawaPay',
      channels: ['mobile_money'],
      recurring: false,
      refunds: true,
      partialRefunds: true,
      health: 'up',
    })
    assert.ok(Array.isArray(currencies) && currencies.includes('ZMW') && !currencies.includes('EUR'))
    assert.ok(Array.isArray(countries) && countries.includes('CD') && !countries.includes('ML'))
    assert.equal(shown.stripe?.recurring, true)
    assert.deepEqual([shown.wave?.refunds, shown.wave?.partialRefunds], [true, false])
  })

  it('lists all routes without a filter, and filters them by currency or country', async () => {
    const { api } = await merchantWith(['stripe', 'flutterwave'])
    const all: { currency: string; country: string | null; gateways: { name: string }[] }[] = await read(
      api,
      ROUTES,
    )
    assert.equal(all.length, 44)
    assert.ok(all.every(({ gateways }) => gateways.at(-1)?.name === 'sandbox'))
    const dollars = all.filter(({ currency }) => currency === 'USD')
    assert.deepEqual(await read(api, `${ROUTES}?currency=USD`), dollars)
    assert.deepEqual(
      dollars.map(({ country, gateways }) => [country, gateways.length]),
      [
        ['CD', 2],
        ['NG', 3],
        ['KE', 2],
        [null, 3],
      ],
    )
    const congo: { currency: string }[] = await read(api, `${ROUTES}?country=cd`)
    assert.deepEqual(
      congo.map(({ currency }) => currency),
      ['CDF', 'USD'],
    )
    assert.deepEqual(await read(api, `${ROUTES}?country=JP`), [])
  })

  it('shows how each channel is collected, and which networks are prompted', async () => {
    const { api } = await merchantWith(['pawapay'])
    const [route] = await read(api, `${ROUTES}?currency=ZMW&country=ZM`)
    const [pawapay, sandbox] = route.gateways
    const networks = [
      { code: 'airtel_zm', name: 'Airtel Money', testOnly: false },
      { code: 'mtn_zm', name: 'MTN MoMo', testOnly: false },
      { code: 'zamtel_zm', name: 'Zamtel Money', testOnly: false },
    ]
    assert.deepEqual(pawapay.ways, [
      { channel: 'mobile_money', collection: 'prompt', networks, testOnly: false },
    ])
    const ways = sandbox.ways.map(({ channel, collection }: Record<string, unknown>) => [channel, collection])
    assert.deepEqual(ways, [
      ['card', 'page'],
      ['mobile_money', 'prompt'],
      ['bank_transfer', 'transfer'],
    ])
    assert.deepEqual(sandbox.ways[1].networks[0], {
      code: 'airtel_zm',
      name: 'Airtel Money',
      testOnly: false,
    })
  })

  it('rejects an unsupported currency, and a country that does not use it', async () => {
    assertApiError(await service.api.get(`${ROUTES}?currency=JPY`), 'invalid_currency')
    assertApiError(await service.api.get(`${ROUTES}?country=Kenya`), 'invalid_country')
    assertApiError(await service.api.get(`${ROUTES}?currency=KES&country=NG`), 'invalid_country')
  })

  it('shows the weights of a split without choosing a gateway', async () => {
    const split = [{ gateway: 'stripe', percent: 30 }]
    const { api } = await merchantWith(['paystack', 'stripe'], [{ currency: 'KES', split }])
    const [route] = await read(api, `${ROUTES}?currency=KES&country=KE`)
    assert.deepEqual(
      route.gateways.map(({ name, reason, percent }: Record<string, unknown>) => [name, reason, percent]),
      [
        ['paystack', 'route', null],
        ['stripe', 'route', 30],
        ['sandbox', 'rails', null],
      ],
    )
  })
})

const PLACES: { currency: string; country: string | null; gateways: string[] }[] = JSON.parse(
  readFileSync(new URL('../gateways/fixtures/expected-routes.json', import.meta.url), 'utf8'),
)

function collectsIn(name: ProviderName, country: string | null): boolean {
  const { countries }: ProviderFacts = PROVIDERS[name]
  return countries?.includes(country ?? '') ?? true
}

describe('the route of a payment', () => {
  it('uses the sandbox for a simulated payment, also where another gateway comes first', async () => {
    const { api } = await merchantWith(['paystack'])
    const made = await api.post('/api/v1/checkout/initiate-payment', initiateBody({ currency: 'KES' }))
    const { reference, paymentGateway } = made.body.data
    assert.equal(paymentGateway, 'paystack')
    const path = `/api/v1/sandbox/payments/${reference}/complete`
    const { data } = (await api.post(path, { instrument: 'card_success' })).body
    assert.deepEqual([data.status, data.paymentGateway], ['successful', 'sandbox'])
  })

  const pairs = PROVIDER_NAMES.flatMap((one, index) =>
    PROVIDER_NAMES.slice(index + 1).map((other) => [one, other]),
  )
  const singles = PROVIDER_NAMES.map((name) => [name])
  for (const names of [...singles, PROVIDER_NAMES, ...(FORM === 'quick' ? [] : pairs)]) {
    it(`routes payments as the route table says, with ${names.join(', ')}`, HAS_LARGER_FORM, async () => {
      const { api } = await merchantWith(names, [{ exclude: ['sandbox'] }])
      for (const { currency, country, gateways } of PLACES) {
        const place = `${currency} in ${country}`
        const body = initiateBody({ amount: 10_000, currency, ...(country && { country }) })
        const answer = await api.post('/api/v1/checkout/initiate-payment', body)
        const expected = gateways.find((name) =>
          names.some((one) => one === name && collectsIn(one, country)),
        )
        if (expected === undefined) assertApiError(answer, 'no_route_available')
        else assert.equal(answer.body.data?.paymentGateway, expected, `${place}: ${answer.text}`)
      }
    })
  }
})

interface CurrencyRecord {
  code: string
  minimum: string | null
  [field: string]: unknown
}

describe('the currencies in the catalog', () => {
  it('lists the 28 currencies with the format of their amounts', async () => {
    const { api } = await service.newMerchant()
    const currencies: CurrencyRecord[] = await read(api, CURRENCIES)
    assert.deepEqual(
      currencies.map(({ code }) => code),
      CURRENCY_CODES,
    )
    assert.deepEqual(
      currencies.find(({ code }) => code === 'XOF'),
      {
        code: 'XOF',
        name: 'West African CFA Franc',
        decimals: 0,
        minimum: '1.00',
        maximum: null,
        countries: ['BJ', 'BF', 'CI', 'GW', 'ML', 'NE', 'SN', 'TG'],
        countryRequired: true,
      },
    )
    const { meta } = (await api.get(CURRENCIES)).body
    assert.equal(meta.total, 28)
  })

  it('shows the smallest minimum and the largest maximum amount of the merchant’s gateways, and none where no gateway serves the currency', async () => {
    const rails = (minimumMinor?: bigint): Rail[] => [
      { currency: 'NGN', channels: ['card'], minimumMinor, maximumMinor: minimumMinor && minimumMinor * 10n },
      { currency: 'KES', channels: ['card'], minimumMinor: minimumMinor && minimumMinor * 2n },
    ]
    const gateways = fixedGateways([
      { ...scriptedGateway('one'), rails: rails(5_000n) },
      { ...scriptedGateway('two'), rails: rails(300n) },
    ])
    const merchant = { id: UNKNOWN_UUID, name: 'Shop', mode: 'test' as const, baseCurrency: 'USD' }
    const shown = await listCurrencies({ gateways }, merchant)
    const minimumOf = (wanted: string) => shown.find(({ code }) => code === wanted)?.minimum
    assert.deepEqual(['NGN', 'KES', 'USD'].map(minimumOf), ['3.00', '6.00', null])
    const maximumOf = (wanted: string) => shown.find(({ code }) => code === wanted)?.maximum
    assert.deepEqual(['NGN', 'KES', 'USD'].map(maximumOf), ['500.00', null, null])
  })
})

describe('the countries in the catalog', () => {
  it('lists the countries that use a currency, with calling code and networks', async () => {
    const { api } = await service.newMerchant()
    const countries: { code: string; currencies: string[] }[] = await read(api, COUNTRIES)
    const codes = countries.map(({ code }) => code)
    assert.deepEqual(codes, codes.toSorted())
    assert.equal(new Set(codes).size, codes.length)
    assert.ok(countries.every(({ currencies }) => currencies.length > 0))
    assert.deepEqual(
      countries.find(({ code }) => code === 'KE'),
      {
        code: 'KE',
        name: 'Kenya',
        callingCode: '+254',
        currencies: ['KES', 'USD'],
        networks: [
          { code: 'mpesa_ke', name: 'M-Pesa' },
          { code: 'airtel_ke', name: 'Airtel Money' },
          { code: 'equitel_ke', name: 'Equitel' },
          { code: 'tkash_ke', name: 'T-Kash' },
        ],
      },
    )
  })
})
