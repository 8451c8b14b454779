import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Gateway } from '../gateways/gateway.ts'
import { fixedGateways } from '../gateways/registry.ts'
import { createCounters } from '../kit/observability/counters.ts'
import type { LogFields } from '../kit/observability/log.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { CallbackSubject } from '../secrets/callback-paths.ts'
import { gatewayWebhookRoutes } from './receive.ts'

function rig() {
  let nowMs = 1_000_000
  const logged: LogFields[] = []
  const counters = createCounters()
  const unused = () => Promise.reject(new Error('not used in this test'))
  const callbacks: (CallbackSubject | null)[] = []
  const gateway = (name: string): Gateway => ({
    name,
    rails: [],
    behavior: { keyRetentionHours: 24, cachesErrors: false, lookupByReference: true },
    startCheckout: unused,
    verify: unused,
    // Like a provider that signs nothing: only a secret path proves where a callback comes from.
    parseWebhook({ callback }) {
      callbacks.push(callback)
      return callback ? { kind: 'ignored', reason: 'a test' } : { kind: 'forged' }
    },
    webhookAnswer: { accepted: true },
  })
  const gateways = fixedGateways([gateway('one'), gateway('other')])
  // A boundary: the path of a forged webhook uses only these parts, and no database.
  const app = {
    gateways,
    counters,
    clock: { now: () => new Date(nowMs) },
    log: { write: (_key: string, fields: LogFields) => void logged.push(fields) },
  } as unknown as PaymentsApp
  const [receiver, , secret] = gatewayWebhookRoutes(app)
  const request = { method: 'POST' as const, query: {}, headers: {}, rawBody: Buffer.alloc(0) }
  return {
    logged,
    counters,
    callbacks,
    pathOf: (name: string, subject: CallbackSubject) =>
      gateways.callbackPaths.pathOf({ gateway: name, merchantId: null, accountId: null }, subject),
    call: (path: string) => {
      const [, , name = '', scope = '', subject = '', mac = ''] = path.split('/')
      return secret?.handle({ ...request, params: { gateway: name, scope, subject, mac } })
    },
    forge: (name: string) => receiver?.handle({ ...request, params: { gateway: name } }),
    advance: (ms: number) => {
      nowMs += ms
    },
  }
}

describe('webhooks with an invalid signature', () => {
  it('counts every webhook with an invalid signature, by gateway', async () => {
    const { forge, counters } = rig()
    for (const name of ['one', 'one', 'other', 'one']) assert.deepEqual(await forge(name), { http: 401 })
    assert.deepEqual(await forge('unknown'), { http: 404 })
    assert.deepEqual(counters.read(), [
      { name: 'gateway_webhook_signature_failures', labels: ['one'], total: 3 },
      { name: 'gateway_webhook_signature_failures', labels: ['other'], total: 1 },
    ])
  })

  it('logs the first invalid signature at once, and then three lines a minute with their number', async () => {
    const { forge, logged, advance } = rig()
    for (let second = 0; second < 60; second += 1) {
      await forge('one')
      await forge('one')
      advance(1_000)
    }
    assert.deepEqual(logged, [
      { gateway: 'one', count: 1 },
      { gateway: 'one', count: 40 },
      { gateway: 'one', count: 40 },
    ])
  })
})

describe('callbacks to a secret path', () => {
  const KEY = '0b0e7a52-7d51-4cc3-98c4-dc0c0c07398f'
  const ATTEMPT: CallbackSubject = { kind: 'attempt', key: KEY }

  it('tells the gateway what the path proves, and answers as the provider wants', async () => {
    const { call, pathOf, callbacks } = rig()
    for (const subject of [ATTEMPT, { kind: 'account' } as const])
      assert.deepEqual(await call(pathOf('one', subject)), { http: 200, json: { accepted: true } })
    assert.deepEqual(callbacks, [ATTEMPT, { kind: 'account' }])
  })

  it('rejects a callback to a path that we did not make, before the gateway reads it, and counts it', async () => {
    const { call, pathOf, callbacks, counters } = rig()
    const path = pathOf('one', ATTEMPT)
    const others = [
      path.replace('/one/', '/other/'),
      path.replace('attempt-0', 'attempt-1'),
      path.replace('attempt', 'refund'),
      path.slice(0, -1),
      path.replace(/.{32}$/, '0'.repeat(32)),
    ]
    for (const other of others) assert.deepEqual(await call(other), { http: 401 }, other)
    assert.deepEqual(callbacks, [])
    assert.equal(
      counters.read().reduce((sum, { total }) => sum + total, 0),
      others.length,
    )
  })

  it('answers 404 to a path of an unknown gateway or without a merchant', async () => {
    const { call, pathOf } = rig()
    const path = pathOf('one', ATTEMPT)
    for (const other of [path.replace('/one/', '/two/'), path.replace('instance', 'nobody')])
      assert.deepEqual(await call(other), { http: 404 })
  })
})
