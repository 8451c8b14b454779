// The conformance suite that every connector must pass. A connector's test calls testConformance with a fake of its
// provider, and the real connector runs against the fake over a real socket. Operations that the connector does not
// have are not tested.

import assert from 'node:assert/strict'
import { after, before, describe, it, mock } from 'node:test'
import { inspect } from 'node:util'
import { CURRENCIES } from '../../src/core/currency.ts'
import { findNetwork } from '../../src/core/networks.ts'
import type { Gateway } from '../../src/gateways/gateway.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { createHttpClient } from '../../src/kit/http/http-client.ts'
import { testAltered } from './conformance/altered.ts'
import { testCancel } from './conformance/cancel.ts'
import { testCharge } from './conformance/charge.ts'
import { testCheckout } from './conformance/checkout.ts'
import { testComplete } from './conformance/complete.ts'
import { testDispute } from './conformance/dispute.ts'
import { testPrelude } from './conformance/prelude.ts'
import { testProbe } from './conformance/probe.ts'
import { testRefund } from './conformance/refund.ts'
import { testChargeSchedules, testSchedules } from './conformance/schedules.ts'
import { formOf, PUBLIC_URL, type Subject } from './conformance/subject.ts'
import { testWebhook } from './conformance/webhook.ts'
import { openMemoryTokens } from './memory-tokens.ts'

export {
  type ChargeBehavior,
  type CheckoutEnding,
  type FakeProvider,
  PUBLIC_URL,
  type RefundBehavior,
  type Subject,
  type Webhook,
} from './conformance/subject.ts'

import { callbackUrlAt } from './webhook-request.ts'

const CONSOLE_METHODS = ['debug', 'error', 'info', 'log', 'trace', 'warn'] as const

export function testConformance(subject: Subject): void {
  const gateway = openUnconnected(subject)
  const title = [`the gateway ${subject.name}`, ...(subject.variant ? [subject.variant] : [])].join(', ')
  describe(title, formOf(subject), () => {
    assertConsoleUnused()
    testDeclaration(subject, gateway)
    testCheckout(subject)
    testAltered(subject, gateway)
    testWebhook(subject)
    testSchedules(subject)
    if (gateway.chargeSaved) testCharge(subject)
    if (gateway.complete) testComplete(subject)
    if (subject.completesCharges) testChargeSchedules(subject)
    if (gateway.refund) testRefund(subject)
    if (gateway.cancel) testCancel(subject)
    if (subject.disputes) testDispute(subject)
    if (gateway.probe) testProbe(subject)
    if (subject.prelude) testPrelude(subject, subject.prelude)
  })
}

/** Only to see which operations exist: nothing is sent. */
function openUnconnected(subject: Subject): Gateway {
  return subject.open({
    credentials: subject.credentials,
    baseUrl: 'http://127.0.0.1:1',
    mode: subject.mode ?? 'test',
    http: createHttpClient(),
    tokens: openMemoryTokens(),
    clock: systemClock,
    publicUrl: () => PUBLIC_URL,
    callbackUrl: callbackUrlAt(PUBLIC_URL, subject.name),
  })
}

/** A connector has no log, so the console is the only place where it could leak secrets. */
function assertConsoleUnused(): void {
  const spies = CONSOLE_METHODS.map((method) => ({
    method,
    spy: undefined as ReturnType<typeof mock.method> | undefined,
  }))
  before(() => {
    for (const one of spies) one.spy = mock.method(console, one.method)
  })
  after(() => {
    const written = spies.flatMap(({ spy }) => spy?.mock.calls.map((call) => call.arguments) ?? [])
    for (const { spy } of spies) spy?.mock.restore()
    assert.deepEqual(written, [], 'a connector writes nothing to the console')
  })
}

function testDeclaration(subject: Subject, gateway: Gateway): void {
  it('declares a rail for the currency that it collects, and its behavior', () => {
    const rail = gateway.rails.find(({ currency }) => currency === subject.amount.currency)
    assert.ok(rail?.channels.includes(subject.choice?.channel ?? 'card'), inspect(rail))
    assert.ok(gateway.behavior.keyRetentionHours >= 0)
    assert.match(gateway.name, /^[a-z][a-z0-9_]*$/)
  })

  it('declares rails with channels, possible amounts, and networks of the countries that they collect in', () => {
    for (const rail of gateway.rails) {
      const { currency, channels, minimumMinor = 1n, maximumMinor = minimumMinor } = rail
      assert.ok(channels.length > 0 && minimumMinor > 0n && minimumMinor <= maximumMinor, inspect(rail))
      const hasMobileMoney = channels.includes('mobile_money')
      assert.ok(
        hasMobileMoney || !(rail.prompts || rail.networks),
        'only mobile money has prompts and networks',
      )
      assert.ok(channels.includes('bank_transfer') || !rail.transfers, inspect(rail))
      const countries: readonly string[] = rail.countries ?? CURRENCIES[currency].countries
      const foreign = rail.networks?.filter((code) => !countries.includes(findNetwork(code)?.country ?? ''))
      assert.deepEqual(foreign ?? [], [], `${currency} has networks of other countries`)
    }
  })
}
