import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Currency } from '../core/currency.ts'
import { systemClock } from '../kit/clock.ts'
import { createCallbackPaths } from '../secrets/callback-paths.ts'
import type { GatewayConfig } from './connections.ts'
import type { Connection, GatewayDefinition } from './definition.ts'
import type { Gateway, Rail } from './gateway.ts'
import { createGateways, fixedGateways } from './registry.ts'
import { gatewayRoutes } from './routes.ts'

const notHere = () => Promise.reject(new Error('not in this test'))

function gateway(name: string, rails: Rail[]): Gateway {
  const behavior = { keyRetentionHours: 24, cachesErrors: false, lookupByReference: true }
  return {
    name,
    rails,
    behavior,
    startCheckout: notHere,
    verify: notHere,
    parseWebhook: () => ({ kind: 'forged' }),
  }
}

const local = gateway('local', [
  { currency: 'XOF', countries: ['SN'], channels: ['mobile_money'] },
  { currency: 'XOF', countries: ['SN', 'CI'], channels: ['card', 'mobile_money'] },
])
const wide = gateway('wide', [{ currency: 'XOF', channels: ['card'] }])
const coarse = gateway('coarse', [
  { currency: 'KES', channels: ['card'], minimumMinor: 500n },
  { currency: 'KES', channels: ['mobile_money'], stepMinor: 100n },
])
const gateways = fixedGateways([local, wide, coarse])
const MERCHANT = '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f'

async function names(currency: Currency, country: string | null, amountMinor = 1000n): Promise<string[]> {
  const candidates = await gateways.candidates(MERCHANT, { currency, country, amountMinor, key: 'order-1' })
  return candidates.map((candidate) => `${candidate.gateway.name} ${candidate.channels}`)
}

describe('the registry', () => {
  it('lists the gateways that collect a currency in a country, in order, each channel once', async () => {
    assert.deepEqual(await names('XOF', 'SN'), ['local mobile_money,card', 'wide card'])
    assert.deepEqual(await names('XOF', 'ML'), ['wide card'])
    assert.deepEqual(await names('ZMW', 'ZM'), [])
  })

  it('applies a rail without countries only to the countries of its currency', async () => {
    assert.deepEqual(await names('XOF', 'KE'), [])
  })

  it('offers only rails without countries to a payment without a country', async () => {
    assert.deepEqual(await names('XOF', null), ['wide card'])
  })

  it('leaves out rails that cannot take the amount', async () => {
    assert.deepEqual(await names('KES', 'KE', 1_000n), ['coarse card,mobile_money'])
    assert.deepEqual(await names('KES', 'KE', 400n), ['coarse mobile_money'])
    assert.deepEqual(await names('KES', 'KE', 550n), ['coarse card'])
    assert.deepEqual(await names('KES', 'KE', 50n), [])
  })

  it('throws for an unknown gateway name, and for a name that is used twice', async () => {
    assert.equal(await gateways.get(MERCHANT, 'wide', null), wide)
    assert.equal(await gateways.find(MERCHANT, 'missing', null), undefined)
    await assert.rejects(gateways.get(MERCHANT, 'missing', null), /missing is not configured here/)
    assert.throws(() => fixedGateways([wide, wide]), /two gateways are named wide/)
  })
})

describe('several accounts of the instance at one gateway', () => {
  const connections: Connection[] = []
  const acme: GatewayDefinition = {
    name: 'acme',
    title: 'Acme',
    credentials: [{ name: 'secretKey', isRequired: true, meaning: 'The key.', validate: () => undefined }],
    rails: [{ currency: 'KES', channels: ['card'] }],
    behavior: local.behavior,
    baseUrl: { test: 'https://acme.example', live: 'https://acme.example' },
    open(connection) {
      connections.push(connection)
      // The rails depend on the account: one country per key.
      const isUganda = connection.credentials.secretKey === 'ug'
      const place = isUganda
        ? { currency: 'UGX' as const, countries: ['UG'] }
        : { currency: 'KES' as const, countries: ['KE'] }
      return gateway('acme', [{ ...place, channels: ['card', 'mobile_money'] }])
    },
  }
  const config = (credentials: Record<string, string>) => ({ credentials, baseUrl: 'https://acme.example' })
  const openGateways = (...configs: [string, GatewayConfig][]) =>
    createGateways(
      // A boundary: without merchants there is no database, and no token is asked for.
      {
        clock: systemClock,
        db: { query: () => Promise.resolve([]) },
        callbackPaths: createCallbackPaths([new Uint8Array(32)]),
        openTokens: () => undefined,
        routingRules: () => Promise.resolve([]),
      } as unknown as Parameters<typeof createGateways>[0],
      {
        definitions: [acme],
        configs: new Map(configs),
        builtIn: [],
        mode: 'test',
        timeoutMs: 1_000,
        publicUrl: () => 'https://pay.example.com',
      },
    )
  const kenya: [string, GatewayConfig] = [
    'acme_ke',
    config({ secretKey: 'ke', channels: 'card', amounts: 'KES:10-' }),
  ]
  const opened = openGateways(
    ['acme', { credentials: null, baseUrl: 'https://acme.example' }],
    ['acme_ug', config({ secretKey: 'ug' })],
    kenya,
  )
  const routed = async (currency: Currency, country: string, amountMinor: bigint | null = null) => {
    const { candidates } = await opened.explain(MERCHANT, { currency, country, amountMinor, key: null })
    return candidates.map(({ name, ways }) => `${name} ${ways.map(({ channel }) => channel)}`)
  }

  it('are opened each with its credentials, and named and titled by the label', async () => {
    const shown = opened.supported.map(({ definition, isConfigured }) => [
      definition.name,
      definition.title,
      isConfigured,
    ])
    assert.deepEqual(shown, [
      ['acme', 'Acme', false],
      ['acme_ke', 'Acme (KE)', true],
      ['acme_ug', 'Acme (UG)', true],
    ])
    const [first] = connections
    assert.deepEqual(first?.credentials, { secretKey: 'ke' }, 'the limits are not for the connector')
    assert.equal(first?.webhookPath, '/hooks/acme_ke')
    assert.match(first?.callbackUrl({ kind: 'account' }) ?? '', /\/hooks\/acme_ke\/instance\//)
    assert.equal((await opened.get(MERCHANT, 'acme_ug', null)).name, 'acme_ug')
    assert.equal((await opened.findWebhookGateways('acme_ke', null)).length, 1)
    assert.deepEqual(await opened.findWebhookGateways('acme', null), [])
  })

  it('give a payment without a country the only one in which its currency is collected', async () => {
    const kenyan = openGateways(kenya)
    assert.equal(await kenyan.homeCountry(MERCHANT, 'KES'), 'KE')
    assert.equal(await kenyan.homeCountry(MERCHANT, 'USD'), null, 'it collects no USD')
    assert.equal(await opened.homeCountry(MERCHANT, 'UGX'), 'UG')
  })

  it('are candidates by the rails of the opened account within its limits', async () => {
    assert.deepEqual(await routed('KES', 'KE'), ['acme_ke card'])
    assert.deepEqual(await routed('KES', 'KE', 999n), [])
    assert.deepEqual(await routed('UGX', 'UG'), ['acme_ug card,mobile_money'])
    assert.deepEqual(await routed('ZMW', 'ZM'), [])
  })

  it('let a built-in gateway have the rails that the option derives from the merchant’s other gateways, and come before it', async () => {
    const opened = createGateways(
      {
        clock: systemClock,
        db: { query: () => Promise.resolve([]) },
        callbackPaths: createCallbackPaths([new Uint8Array(32)]),
        openTokens: () => undefined,
        routingRules: () => Promise.resolve([]),
      } as unknown as Parameters<typeof createGateways>[0],
      {
        definitions: [acme],
        configs: new Map([['acme', config({ secretKey: 'one' })]]),
        builtIn: [gateway('built_in', [{ currency: 'GHS', channels: ['card'] }])],
        builtInRails: (others) => others.map((rail) => ({ ...rail, channels: ['card'] })),
        mode: 'test',
        timeoutMs: 1_000,
        publicUrl: () => 'https://pay.example.com',
      },
    )
    const [own, builtIn, ...others] = await opened.listForMerchant(MERCHANT)
    assert.deepEqual([own?.gateway.name, builtIn?.gateway.name, others], ['acme', 'built_in', []])
    assert.deepEqual(
      builtIn?.gateway.rails.map(({ currency }) => currency),
      own?.gateway.rails.map(({ currency }) => currency),
    )
    assert.ok(builtIn?.gateway.rails.every(({ channels }) => channels.join() === 'card'))
  })
})

describe('the callback addresses of an account', () => {
  const account = { gateway: 'unsigned', merchantId: null, accountId: null }
  const callbackPaths = createCallbackPaths([new Uint8Array(32).fill(3)])

  function open(definition: Pick<GatewayDefinition, 'unsignedCallbacks'>) {
    const connections: Connection[] = []
    const unsigned: GatewayDefinition = {
      ...{ ...definition, name: 'unsigned', title: 'Unsigned', credentials: [] },
      ...{ rails: local.rails, behavior: local.behavior, baseUrl: { test: 'https://x', live: 'https://x' } },
      open(connection) {
        connections.push(connection)
        return gateway('unsigned', [])
      },
    }
    const publicUrl = () => 'https://pay.example.com'
    const configs = new Map([['unsigned', { credentials: {}, baseUrl: 'https://x' }]])
    const options = { definitions: [unsigned], configs, builtIn: [], mode: 'test', timeoutMs: 1_000 } as const
    // A boundary: without merchants there is no database, and no token is asked for.
    const opened = createGateways(
      { clock: systemClock, callbackPaths, openTokens: () => undefined } as unknown as Parameters<
        typeof createGateways
      >[0],
      {
        ...options,
        publicUrl,
      },
    )
    const [list] = gatewayRoutes({ gateways: opened, publicUrl } as unknown as Parameters<
      typeof gatewayRoutes
    >[0])
    return { opened, list, connection: connections[0] }
  }

  it('are given to the connector, and verified for that account', async () => {
    const { opened, connection } = open({})
    const subject = { kind: 'attempt', key: '0b0e7a52-7d51-4cc3-98c4-dc0c0c07398f' } as const
    const url = connection?.callbackUrl(subject) ?? ''
    assert.equal(url, `https://pay.example.com${callbackPaths.pathOf(account, subject)}`)
    const [named = '', mac = ''] = url.split('/').slice(-2)
    assert.deepEqual(opened.callbackPaths.verify(account, named, mac), subject)
    await opened.close()
  })

  it('are shown to operators if the provider signs nothing, and the plain one otherwise', async () => {
    for (const [definition, path] of [
      [{ unsignedCallbacks: true }, callbackPaths.pathOf(account, { kind: 'account' })],
      [{}, '/hooks/unsigned'],
    ] as const) {
      const { opened, list } = open(definition)
      const response = await list?.handle({} as Parameters<NonNullable<typeof list>['handle']>[0])
      assert.match(JSON.stringify(response), new RegExp(`"webhookUrl":"https://pay.example.com${path}"`))
      await opened.close()
    }
  })
})
