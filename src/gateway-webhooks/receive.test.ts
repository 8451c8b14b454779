import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Gateway } from '../gateways/gateway.ts'
import { fixedGateways } from '../gateways/registry.ts'
import { createCounters } from '../kit/observability/counters.ts'
import type { LogFields } from '../kit/observability/log.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { gatewayWebhookRoutes } from './receive.ts'

function rig() {
  let nowMs = 1_000_000
  const logged: LogFields[] = []
  const counters = createCounters()
  const unused = () => Promise.reject(new Error('not used in this test'))
  const gateway = (name: string): Gateway => ({
    name,
    rails: [],
    behavior: { keyRetentionHours: 24, cachesErrors: false, lookupByReference: true },
    startCheckout: unused,
    verify: unused,
    parseWebhook: () => ({ kind: 'forged' }),
  })
  // A boundary: the path of a forged webhook uses only these parts, and no database.
  const app = {
    gateways: fixedGateways([gateway('one'), gateway('other')]),
    counters,
    clock: { now: () => new Date(nowMs) },
    log: { write: (_key: string, fields: LogFields) => void logged.push(fields) },
  } as unknown as PaymentsApp
  const [receiver] = gatewayWebhookRoutes(app)
  return {
    logged,
    counters,
    forge: (name: string) =>
      receiver?.handle({ params: { gateway: name }, headers: {}, rawBody: Buffer.alloc(0) }),
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
