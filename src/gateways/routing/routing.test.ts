import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { GATEWAYS } from '../../compose/gateways.ts'
import { CURRENCIES, CURRENCY_CODES, type Currency } from '../../core/currency.ts'
import type { RoutingRule } from '../../core/routing-rules.ts'
import type { Rail } from '../gateway.ts'
import { DEFAULT_ROUTES } from './default-routes.ts'
import { type AvailableGateway, orderCandidates, type RoutingInput } from './routing.ts'

interface Expected {
  currency: Currency
  country: string | null
  gateways: readonly string[]
}

// Written from the providers' documentation, independently of the table under test.
const EXPECTED: readonly Expected[] = JSON.parse(
  readFileSync(new URL('../../../test/gateways/fixtures/expected-routes.json', import.meta.url), 'utf8'),
)

const available = (names: readonly string[]): AvailableGateway[] =>
  GATEWAYS.filter(({ name }) => names.includes(name)).map(({ name, rails }) => ({
    name,
    rails,
    health: 'up',
  }))

/** Each connector alone, every two of them, and all. */
function subsets(): string[][] {
  const names = GATEWAYS.map(({ name }) => name)
  const pairs = names.flatMap((name, index) => names.slice(index + 1).map((other) => [name, other]))
  return [...names.map((name) => [name]), ...pairs, names]
}

// The examples of the rules below.
const EXAMPLES = ['stripe', 'paystack', 'flutterwave', 'pawapay']

// Above every minimum, below every maximum, and a whole amount in every currency.
const PLENTY = 900_000n

describe('the default routes', () => {
  it('have an expected result for every currency and every country that uses it', () => {
    assert.deepEqual(new Set(EXPECTED.map(({ currency }) => currency)), new Set(CURRENCY_CODES))
    for (const currency of ['XOF', 'XAF'] as const) {
      const countries = EXPECTED.filter((place) => place.currency === currency).map(({ country }) => country)
      assert.deepEqual(countries.toSorted(), CURRENCIES[currency].countries.toSorted())
    }
  })

  for (const names of subsets()) {
    it(`select the expected gateways when only ${names.join(', ')} can be used`, () => {
      for (const { currency, country, gateways } of EXPECTED) {
        const routing = orderCandidates(criteria(currency, country, { available: available(names) }))
        assert.deepEqual(
          routing.candidates.map(({ name }) => name),
          gateways.filter((name) => names.includes(name)),
          `${currency} in ${country}`,
        )
      }
    })
  }

  it('have one row per currency and country, and name only existing gateways', () => {
    const places = DEFAULT_ROUTES.map(({ currency, country }) => `${currency} ${country}`)
    assert.equal(new Set(places).size, places.length)
    const known = GATEWAYS.map(({ name }) => name)
    assert.deepEqual(
      DEFAULT_ROUTES.flatMap(({ gateways }) => gateways).filter((name) => !known.includes(name)),
      [],
    )
  })
})

function criteria(
  currency: Currency,
  country: string | null,
  more: Partial<RoutingInput> = {},
): RoutingInput {
  return {
    routes: DEFAULT_ROUTES,
    currency,
    country,
    amountMinor: PLENTY,
    available: available(EXAMPLES),
    rules: [],
    key: 'order-1',
    ...more,
  }
}

const rule = (facts: Partial<RoutingRule>): RoutingRule => ({
  currency: null,
  prefer: [],
  exclude: [],
  split: [],
  ...facts,
})
const namesOf = (input: RoutingInput) => orderCandidates(input).candidates.map(({ name }) => name)
const leftOutOf = (input: RoutingInput) =>
  Object.fromEntries(orderCandidates(input).leftOut.map(({ name, reason }) => [name, reason]))
const anywhere: Rail[] = CURRENCY_CODES.map((currency) => ({ currency, channels: ['card'] }))
const sandbox: AvailableGateway = { name: 'sandbox', rails: anywhere, health: 'up', isFallback: true }

describe('the order of candidates', () => {
  it('explains why a gateway is left out', () => {
    assert.deepEqual(leftOutOf(criteria('KES', 'KE', { rules: [rule({ exclude: ['flutterwave'] })] })), {
      daraja: 'not_configured',
      flutterwave: 'excluded',
    })
    assert.deepEqual(leftOutOf(criteria('GHS', 'GH', { available: available(['stripe', 'paystack']) })), {
      flutterwave: 'not_configured',
      mtn_momo: 'not_configured',
      pawapay: 'not_configured',
      stripe: 'not_collected',
    })
    // Paystack collects amounts from three shillings, and pawaPay only whole shillings.
    assert.deepEqual(leftOutOf(criteria('KES', 'KE', { amountMinor: 250n })), {
      daraja: 'not_configured',
      paystack: 'amount',
      pawapay: 'amount',
    })
    const everywhere = { name: 'paystack', rails: anywhere, health: 'up' } as const
    assert.deepEqual(leftOutOf(criteria('CAD', 'CA', { available: [everywhere] })), {
      stripe: 'not_configured',
      paystack: 'not_in_route',
    })
  })

  it('puts preferred gateways first where they collect, even if the route does not name them', () => {
    const rules = [rule({ prefer: ['stripe', 'pawapay'] })]
    assert.deepEqual(namesOf(criteria('KES', 'KE', { rules })), [
      'stripe',
      'pawapay',
      'paystack',
      'flutterwave',
    ])
    assert.deepEqual(namesOf(criteria('GHS', 'GH', { rules })), ['pawapay', 'paystack', 'flutterwave'])
  })

  it('uses the rule of the currency instead of the general rule', () => {
    const rules = [rule({ exclude: ['paystack'] }), rule({ currency: 'KES', prefer: ['flutterwave'] })]
    assert.deepEqual(namesOf(criteria('KES', 'KE', { rules })), [
      'flutterwave',
      'paystack',
      'pawapay',
      'stripe',
    ])
    assert.deepEqual(namesOf(criteria('ZAR', 'ZA', { rules })), ['flutterwave', 'stripe'])
  })

  it('splits payments by their key in the configured shares, and each payment always the same way', () => {
    const split = [
      { gateway: 'flutterwave', percent: 30 },
      { gateway: 'stripe', percent: 10 },
    ]
    const rules = [rule({ split })]
    const count: Record<string, number> = {}
    for (let order = 0; order < 10_000; order += 1) {
      const input = criteria('KES', 'KE', { rules, key: `merchant:order-${order}` })
      const [first] = namesOf(input)
      assert.equal(namesOf(input)[0], first)
      if (first) count[first] = (count[first] ?? 0) + 1
    }
    assert.deepEqual(Object.keys(count).toSorted(), ['flutterwave', 'paystack', 'stripe'])
    // Five standard deviations are at most 2.5 percent of 10,000.
    for (const [name, share] of Object.entries({ flutterwave: 3_000, stripe: 1_000, paystack: 6_000 })) {
      assert.ok(Math.abs((count[name] ?? 0) - share) < 250, `${name}: ${count[name]}`)
    }
  })

  it('falls back to the usual order when the gateway of the split cannot take the payment', () => {
    const rules = [rule({ split: [{ gateway: 'stripe', percent: 100 }] })]
    assert.deepEqual(namesOf(criteria('GHS', 'GH', { rules })), ['paystack', 'flutterwave', 'pawapay'])
    assert.deepEqual(namesOf(criteria('KES', 'KE', { rules }))[0], 'stripe')
    const excluded = [rule({ split: [{ gateway: 'stripe', percent: 100 }], exclude: ['stripe'] })]
    assert.equal(namesOf(criteria('KES', 'KE', { rules: excluded })).includes('stripe'), false)
  })

  it('puts a gateway that is down after the others, and does not drop it', () => {
    const list = available(['paystack', 'flutterwave', 'stripe']).map((gateway) =>
      gateway.name === 'paystack' ? { ...gateway, health: 'down' as const } : gateway,
    )
    const rules = [rule({ prefer: ['paystack'] })]
    assert.deepEqual(namesOf(criteria('KES', 'KE', { available: list, rules })), [
      'flutterwave',
      'stripe',
      'paystack',
    ])
  })

  it('puts the sandbox last, also after gateways that are down, and alone where no other gateway collects', () => {
    const down = available(['paystack']).map((gateway) => ({ ...gateway, health: 'down' as const }))
    assert.deepEqual(namesOf(criteria('KES', 'KE', { available: [sandbox, ...down] })), [
      'paystack',
      'sandbox',
    ])
    assert.deepEqual(namesOf(criteria('SSP', 'SS', { available: [sandbox, ...down] })), ['sandbox'])
  })

  it('uses the rails of a gateway that the table does not name, after the gateways that it names', () => {
    const newcomer: AvailableGateway = { name: 'newcomer', rails: anywhere, health: 'up' }
    const list = [newcomer, ...available(['stripe'])]
    assert.deepEqual(namesOf(criteria('KES', 'KE', { available: list })), ['stripe', 'newcomer'])
  })

  it('offers each channel once, and only channels that can take the amount', () => {
    const rails: Rail[] = [
      { currency: 'KES', channels: ['card', 'mobile_money'], minimumMinor: 500n },
      { currency: 'KES', channels: ['mobile_money'], stepMinor: 100n },
    ]
    const channels = (amountMinor: bigint | null) =>
      orderCandidates(
        criteria('KES', 'KE', { amountMinor, available: [{ name: 'newcomer', rails, health: 'up' }] }),
      ).candidates.map((candidate) => candidate.ways.map(({ channel }) => channel))
    assert.deepEqual(channels(600n), [['card', 'mobile_money']])
    assert.deepEqual(channels(300n), [['mobile_money']])
    assert.deepEqual(channels(350n), [])
    assert.deepEqual(channels(null), [['card', 'mobile_money']])
  })

  describe('with several accounts of one gateway', () => {
    const rails: Rail[] = [{ currency: 'KES', channels: ['card'] }]
    const account = (name: string): AvailableGateway => ({ name, gateway: 'paystack', rails, health: 'up' })
    const list = [
      account('paystack'),
      account('paystack_ke'),
      account('paystack_ug'),
      ...available(['stripe']),
    ]
    const names = (rule: Partial<RoutingRule> = {}, key = 'order-1') => {
      const rules = [{ currency: null, prefer: [], exclude: [], split: [], ...rule }]
      return namesOf(criteria('KES', 'KE', { available: list, rules, key }))
    }

    it('means all accounts by the name of the gateway, in the order of their labels', () => {
      assert.deepEqual(names(), ['paystack', 'paystack_ke', 'paystack_ug', 'stripe'])
      assert.deepEqual(names({ prefer: ['stripe', 'paystack'] }), [
        'stripe',
        'paystack',
        'paystack_ke',
        'paystack_ug',
      ])
      assert.deepEqual(names({ exclude: ['paystack'] }), ['stripe'])
    })

    it('means one account by its label', () => {
      assert.deepEqual(names({ prefer: ['paystack_ug'] }), [
        'paystack_ug',
        'paystack',
        'paystack_ke',
        'stripe',
      ])
      assert.deepEqual(names({ exclude: ['paystack', 'stripe'], prefer: ['paystack_ke'] }), [])
      assert.deepEqual(names({ exclude: ['paystack_ke', 'paystack_ug'] }), ['paystack', 'stripe'])
      assert.deepEqual(names({ split: [{ gateway: 'paystack_ke', percent: 100 }] })[0], 'paystack_ke')
    })

    it('reports the gateway as configured if any account is', () => {
      const input = criteria('KES', 'KE', { available: [account('paystack_ke')] })
      const { candidates, leftOut } = orderCandidates(input)
      assert.deepEqual(
        candidates.map(({ name, reason }) => [name, reason]),
        [['paystack_ke', 'route']],
      )
      assert.ok(!leftOut.some(({ name }) => name === 'paystack'))
    })
  })

  it('leaves out a gateway that cannot take so large an amount, and says so', () => {
    const route = (amountMinor: bigint) => orderCandidates(criteria('UGX', 'UG', { amountMinor }))
    const names = (amountMinor: bigint) => route(amountMinor).candidates.map(({ name }) => name)
    assert.deepEqual(names(999_999n), ['flutterwave', 'pawapay', 'stripe'])
    assert.deepEqual(names(1_000_000n), ['flutterwave', 'pawapay'])
    const leftOut = route(1_000_000n).leftOut.find(({ name }) => name === 'stripe')
    assert.equal(leftOut?.reason, 'amount')
  })
})
