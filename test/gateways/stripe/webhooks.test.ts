import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readSignedEvent } from '../../../src/gateways/stripe/webhooks.ts'
import { systemClock } from '../../../src/kit/clock.ts'
import { systemRandom } from '../../../src/kit/random.ts'
import { requestOf } from '../webhook-request.ts'
import { FAKE_WEBHOOK_SECRET, signEvent } from './fake.ts'
import { readFixture } from './fake-state.ts'
import { FIXTURE_KEY, startStripe } from './rig.ts'

// Computed independently of the code under test.
const VECTOR = {
  secret: 'whsec_test_secret',
  now: new Date(1_700_000_000_000),
  body: Buffer.from(
    '{"id":"evt_1","object":"event","type":"checkout.session.completed","data":{"object":{"id":"cs_test_1","object":"checkout.session","status":"complete","payment_status":"paid"}}}',
  ),
  value: 't=1700000000,v1=abbb9a9a43fce84d4bdb243c9b9f9f09fdfdd5027fdb5e067fbf6f2ae04f542f',
}
const FORGED = { kind: 'forged' }

const readVector = (value: string, body = VECTOR.body, now = VECTOR.now) =>
  readSignedEvent(VECTOR.secret, now, { 'stripe-signature': value }, body)

/** The vector's body with a key in it, signed as Stripe does. */
function makeEvent(changes: object = {}, object: object = {}) {
  const fixture = readFixture('event')
  const data = { object: { ...readFixture('checkout-session-paid'), ...object } }
  return Buffer.from(JSON.stringify({ ...fixture, data, ...changes }))
}

const readEvent = (body: Buffer) =>
  readSignedEvent(
    VECTOR.secret,
    VECTOR.now,
    { 'stripe-signature': signEvent(VECTOR.secret, 1_700_000_000, body) },
    body,
  )

describe("Stripe's signature", () => {
  it('is valid for the known vector, whose event has no key', () => {
    assert.deepEqual(readVector(VECTOR.value), { kind: 'ignored', reason: 'an event without a key of ours' })
  })

  it('F-40 fails after each of 10,000 random flips of one bit in the body or in the signature', () => {
    const random = systemRandom(systemClock)
    const signature = Buffer.from(VECTOR.value, 'latin1')
    for (let round = 0; round < 10_000; round += 1) {
      const isBody = random.fraction() < 0.5
      const flipped = Buffer.from(isBody ? VECTOR.body : signature)
      const bit = Math.floor(random.fraction() * flipped.length * 8)
      flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
      const reading = isBody
        ? readVector(VECTOR.value, flipped)
        : readVector(flipped.toString('latin1'), VECTOR.body)
      assert.deepEqual(reading, FORGED, `bit ${bit} of the ${isBody ? 'body' : 'signature'}`)
    }
  })

  const [time = '', proof = ''] = VECTOR.value.split(',')
  const others = 'v1='.padEnd(67, '0')
  const ways: [title: string, value: string, isRight: boolean][] = [
    ['is valid beside one of another secret, before or after', `${time},${others},${proof},${others}`, true],
    ['is valid beside an unknown scheme', `${time},${proof},v0=${'1'.repeat(64)}`, true],
    ['is invalid under the name of another scheme', `${time},${proof.replace('v1', 'v0')}`, false],
    ['is invalid in capitals', `${time},${proof.toUpperCase().replace('V1', 'v1')}`, false],
    ['is invalid when it is truncated', `${time},${proof.slice(0, -2)}`, false],
    ['is invalid without a time', proof, false],
    ['is invalid with two times', `${time},t=1700000001,${proof}`, false],
    ['is invalid with a time that is not an integer', `t=1.7e9,${proof}`, false],
    ['is invalid when it is absent', time, false],
  ]
  for (const [title, value, isRight] of ways) {
    it(title, () => assert.equal(readVector(value).kind, isRight ? 'ignored' : 'forged'))
  }

  it('is valid for five minutes in both directions', () => {
    const at = (offsetMs: number) =>
      readVector(VECTOR.value, VECTOR.body, new Date(VECTOR.now.getTime() + offsetMs)).kind
    assert.deepEqual([-300_000, 0, 300_000].map(at), ['ignored', 'ignored', 'ignored'])
    assert.deepEqual([-300_001, 300_001].map(at), ['forged', 'forged'])
  })

  it('is never valid without a secret, even if it was made with an empty secret', () => {
    const body = makeEvent()
    const headers = { 'stripe-signature': signEvent('', 1_700_000_000, body) }
    for (const secret of [undefined, '']) {
      assert.deepEqual(readSignedEvent(secret, VECTOR.now, headers, body), FORGED)
    }
  })
})

describe("Stripe's event", () => {
  const concerning = [
    'checkout.session.completed',
    'checkout.session.async_payment_succeeded',
    'checkout.session.async_payment_failed',
    'checkout.session.expired',
    'payment_intent.succeeded',
    'payment_intent.processing',
    'payment_intent.requires_action',
    'payment_intent.payment_failed',
    'payment_intent.canceled',
    'refund.created',
    'refund.updated',
    'refund.failed',
    'charge.refunded',
    'charge.refund.updated',
  ]
  for (const type of concerning) {
    it(`${type} is about the attempt whose key it contains`, async (t) => {
      const { gateway, provider } = await startStripe(t)
      const { headers, body } = provider.webhook(FIXTURE_KEY, type)
      const { id, data } = JSON.parse(body.toString())
      const isAskedAbout = /^(?:checkout|payment_intent)/.test(type)
      assert.deepEqual(gateway.parseWebhook(requestOf(headers, body)), {
        kind: 'payment',
        key: FIXTURE_KEY,
        eventId: id,
        ...(type === 'charge.refunded' && { isRefund: true }),
        ...(isAskedAbout && { referenceHint: data.object.id }),
      })
    })
  }

  it('about a refund without a key of ours names the refunded payment', () => {
    const refund = { metadata: {}, client_reference_id: null, payment_intent: 'pi_1' }
    const reading = readEvent(makeEvent({ type: 'refund.created' }, refund))
    assert.ok(reading.kind === 'refund')
    assert.equal(reading.gatewayPaymentId, 'pi_1')
  })

  it('about a dispute without a payment names its charge', () => {
    const reading = readEvent(
      makeEvent({
        type: 'charge.dispute.created',
        data: { object: { charge: 'ch_1', payment_intent: null } },
      }),
    )
    assert.ok(reading.kind === 'dispute')
    assert.equal(reading.gatewayPaymentId, 'ch_1')
  })

  it('is about the client_reference_id of a session without metadata', () => {
    const reading = readEvent(makeEvent({}, { metadata: {}, client_reference_id: 'ours' }))
    assert.ok(reading.kind === 'payment')
    assert.equal(reading.key, 'ours')
  })

  const ignored: [title: string, body: Buffer][] = [
    ['of a type that concerns no payment', makeEvent({ type: 'customer.created' })],
    [
      'of a dispute, which carries no key',
      makeEvent({ type: 'charge.dispute.created', data: { object: {} } }),
    ],
    [
      'of other software on the account',
      makeEvent({}, { metadata: { order: '7' }, client_reference_id: null }),
    ],
    ['whose key is not text', makeEvent({}, { metadata: { cowry_key: 7 }, client_reference_id: null })],
    ['without an object', makeEvent({ data: null })],
    ['that is not JSON', Buffer.from('evt_1')],
  ]
  for (const [title, body] of ignored) {
    it(`${title} is ignored`, () => assert.equal(readEvent(body).kind, 'ignored'))
  }

  it('is parsed for any API version of the account', () => {
    const body = makeEvent({
      api_version: '2026-10-28.endive',
      data: { object: { metadata: { cowry_key: 'k' } } },
    })
    assert.equal(readEvent(body).kind, 'payment')
  })

  it('is forged if the connector has no webhook secret', async (t) => {
    const { provider } = await startStripe(t)
    const { headers, body } = provider.webhook(FIXTURE_KEY)
    assert.deepEqual(readSignedEvent(undefined, systemClock.now(), headers, body), FORGED)
    assert.equal(readSignedEvent(FAKE_WEBHOOK_SECRET, systemClock.now(), headers, body).kind, 'payment')
  })
})
