// The test events of the SDK are as the service would send them.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { EVENT_TYPE_NAMES } from '../../../src/core/event-types.ts'
import { createResponseValidator } from '../../../test/support/openapi.ts'
import { TEST_EVENTS } from '../src/generated/test-events.ts'
import { unwrap } from '../src/index.ts'
import { createTestEvent, signTestEvent } from '../src/testing.ts'

const DOCUMENT = JSON.parse(readFileSync(new URL('../../../openapi.json', import.meta.url), 'utf8'))
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

describe('the test events of the SDK', () => {
  it('has a record that fits the document, for every type', () => {
    const { schemaErrors } = createResponseValidator(DOCUMENT)
    for (const type of EVENT_TYPE_NAMES) {
      const { data, resource } = createTestEvent(type)
      assert.deepEqual(schemaErrors(['components', 'schemas', TEST_EVENTS[type].record], data), [], type)
      assert.deepEqual(schemaErrors(['components', 'schemas', 'EventResource'], resource), [], type)
    }
  })

  it('names the resource whose record it has', () => {
    const named = EVENT_TYPE_NAMES.map((type) => [
      TEST_EVENTS[type].record,
      createTestEvent(type).resource.type,
    ])
    assert.deepEqual(Object.fromEntries(named), {
      Payment: 'payment',
      Case: 'case',
      Charge: 'charge',
      Refund: 'refund',
      Customer: 'customer',
      PaymentMethod: 'payment_method',
      PaidPaymentLink: 'payment_link',
      PaymentLinkSummary: 'payment_link',
      P2PPayment: 'p2p_payment',
      Settlement: 'settlement',
      WebhookEndpoint: 'webhook_endpoint',
    })
    // Each record belongs to one kind of resource.
    assert.equal(new Set(named.map(String)).size, new Set(named.map(([record]) => record)).size)
  })

  it('has the state that the type names, no access codes, and the changes of the caller', () => {
    const event = createTestEvent('payment.expired', { reference: 'order-7' })
    assert.deepEqual([event.data.status, event.data.reference], ['expired', 'order-7'])
    assert.deepEqual([event.data.accessCode, event.data.checkoutUrl], [null, null])
    assert.equal(event.resource.type, 'payment')
    assert.notEqual(createTestEvent('payment.expired').id, event.id)
  })

  it('is signed as a webhook, whose type says what data is', async () => {
    const { body, headers } = await signTestEvent(createTestEvent('refund.failed'), SECRET)
    const event = await unwrap(body, headers, SECRET)
    assert.ok(event.type === 'refund.failed')
    // Compiles only if the type narrows the record.
    assert.match(event.data.refundReference ?? '', /./)
    const old = new Date(Date.now() - 3_600_000)
    const late = await signTestEvent(event, SECRET, { sentAt: old })
    await assert.rejects(unwrap(late.body, late.headers, SECRET), { code: 'invalid_signature' })
  })
})
