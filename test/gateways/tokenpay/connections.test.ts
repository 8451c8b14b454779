// A gateway with access tokens as the service opens it: with its circuit breaker, and for an account that is checked first.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import { inspect } from 'node:util'
import { createTokenSources } from '../../../src/gateway-tokens/source.ts'
import type { TokenStore } from '../../../src/gateway-tokens/store.ts'
import { type ConnectionFactory, createConnectionFactory } from '../../../src/gateways/connections.ts'
import { sealCredentials } from '../../../src/gateways/credentials.ts'
import type { GatewayDefinition } from '../../../src/gateways/definition.ts'
import { systemClock } from '../../../src/kit/clock.ts'
import type { HttpClient } from '../../../src/kit/http/http-client.ts'
import { createCallbackPaths } from '../../../src/secrets/callback-paths.ts'
import { frozenClock } from '../../support/fake-clock.ts'
import { createMemoryTokenStore, SILENT_LOG, TEST_VAULT, TOKEN_KEY } from '../memory-tokens.ts'
import { openTokenpay, TOKEN_PATH } from './connector.ts'
import { CREDENTIALS, startFakeTokenpay } from './fake.ts'
import { charge } from './processes.ts'

const RAILS = [{ currency: 'KES', channels: ['card'] }] as const
const BEHAVIOR = { keyRetentionHours: 24, cachesErrors: false, lookupByReference: true }
const OWNER = { merchantId: randomUUID(), accountId: randomUUID() }
const ON_TOKEN = new RegExp(TOKEN_PATH)

async function startFactory(t: TestContext, timeoutMs: number) {
  const clock = frozenClock()
  // How long each request and each read of a token takes, by the clock of the service.
  const network = { delayMs: 0, readMs: 0 }
  const wrap = (http: HttpClient): HttpClient => ({
    ...http,
    async request(request) {
      const result = await http.request(request)
      clock.advance(network.delayMs)
      return result
    },
  })
  const provider = await startFakeTokenpay(t)
  const { url } = provider.server
  const definition: GatewayDefinition = {
    ...{ name: 'tokenpay', title: 'Tokenpay', rails: RAILS, behavior: BEHAVIOR, credentials: [] },
    baseUrl: { test: url, live: url },
    open: openTokenpay({ grants: 2, perMs: 3_600_000 }),
  }
  const tools = { vault: TEST_VAULT, clock }
  const memory = createMemoryTokenStore(clock)
  const store: TokenStore = {
    ...memory,
    async read(id) {
      const found = await memory.read(id)
      clock.advance(network.readMs)
      return found
    },
  }
  const tokens = createTokenSources({ ...tools, store, log: SILENT_LOG, key: TOKEN_KEY })
  const callbackPaths = createCallbackPaths([TOKEN_KEY])
  const factory = createConnectionFactory(
    { ...tools, callbackPaths, openTokens: tokens.open },
    {
      definitions: [definition],
      configs: new Map([['tokenpay', { credentials: CREDENTIALS, baseUrl: url }]]),
      ...{ mode: 'test', timeoutMs, wrap, publicUrl: () => 'https://pay.example.com' },
    },
  )
  t.after(async () => {
    await factory.close()
    await tokens.close()
  })
  return { provider, factory, network, clock }
}

function requireInstanceGateway({ instanceGateways: [first] }: ConnectionFactory) {
  assert.ok(first)
  return first.gateway
}

describe('a gateway with access tokens', () => {
  it('reports that a charge was not sent before the circuit breaker gives up on it, if no token arrives', async (t) => {
    const { provider, factory } = await startFactory(t, 4_000)
    provider.server.injectFault('hang', { on: ON_TOKEN })
    const outcome = await charge(requireInstanceGateway(factory))
    assert.ok(outcome.kind === 'unknown' && outcome.reason === 'not_sent', inspect(outcome))
    assert.deepEqual(
      provider.server.requests.map(({ path }) => path),
      [TOKEN_PATH],
    )
  })

  it('uses the token of the credential check, so that the check costs nothing of the ration', async (t) => {
    const { provider, factory } = await startFactory(t, 10_000)
    assert.equal(await factory.checkCredentials('tokenpay', CREDENTIALS, OWNER), 'works')
    const now = systemClock.now()
    const key = { merchantId: OWNER.merchantId, id: OWNER.accountId, gateway: 'tokenpay' }
    const sealed = sealCredentials(TEST_VAULT, key, CREDENTIALS)
    const account = { ...key, sealed, createdAt: now, updatedAt: now, revokedAt: null }
    const opened = factory.connectAccount(account)
    assert.ok(opened)
    assert.equal((await charge(opened.gateway)).kind, 'succeeded')
    assert.equal(provider.grants(), 1)
    const wrong = { ...CREDENTIALS, appSecret: 'wrong' }
    assert.equal(await factory.checkCredentials('tokenpay', wrong, OWNER), 'refused')
  })

  it('does not repeat a call whose token was rejected too late, and reports it as not sent', async (t) => {
    const { provider, factory, network } = await startFactory(t, 10_000)
    const gateway = requireInstanceGateway(factory)
    assert.equal((await charge(gateway)).kind, 'succeeded')
    provider.rejectTokens()
    network.delayMs = 6_000
    const outcome = await charge(gateway)
    assert.ok(outcome.kind === 'unknown' && outcome.reason === 'not_sent', inspect(outcome))
    assert.match(outcome.message, /took too long/)
    assert.equal(provider.grants(), 1)
  })

  it('counts the time until it had the token as part of the operation', async (t) => {
    const { provider, factory, network, clock } = await startFactory(t, 10_000)
    assert.equal(await factory.checkCredentials('tokenpay', CREDENTIALS, OWNER), 'works')
    provider.rejectTokens()
    // Old enough to be replaced.
    clock.advance(60_000)
    Object.assign(network, { readMs: 4_000, delayMs: 4_000 })
    const outcome = await charge(requireInstanceGateway(factory))
    assert.ok(outcome.kind === 'unknown' && outcome.reason === 'not_sent', inspect(outcome))
    assert.match(outcome.message, /took too long/)
    assert.equal(provider.grants(), 1)
  })
})
