import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { describe, it } from 'node:test'
import { PAYSTACK } from '../../../src/gateways/paystack/index.ts'
import { systemClock } from '../../../src/kit/clock.ts'
import { createHttpClient } from '../../../src/kit/http/http-client.ts'
import { openMemoryTokens } from '../memory-tokens.ts'
import { callbackUrlAt, requestOf } from '../webhook-request.ts'
import { signWebhook } from './fake.ts'
import { readFixture } from './fake-replies.ts'
import { FIXTURE_KEY } from './rig.ts'

const vector = readFixture('webhook-vector') as Record<'secret' | 'body' | 'value' | 'header', string>

function openWith(secretKey: string) {
  return PAYSTACK.open({
    credentials: { secretKey },
    baseUrl: 'http://127.0.0.1:1',
    mode: 'test',
    http: createHttpClient(),
    tokens: openMemoryTokens(),
    clock: systemClock,
    publicUrl: () => 'https://pay.example.com',
    callbackUrl: callbackUrlAt('https://pay.example.com', 'paystack'),
  })
}

const read = (signature: string, body: Buffer) =>
  openWith(vector.secret).parseWebhook(requestOf({ [vector.header]: signature }, body))

/** Parses an event with a valid signature. */
const parse = (webhook: unknown) => {
  const { headers, body } = signWebhook(webhook, vector.secret)
  return openWith(vector.secret).parseWebhook(requestOf(headers, body))
}

describe('a webhook of Paystack', () => {
  it('is verified by the signature over its bytes', () => {
    assert.deepEqual(read(vector.value, Buffer.from(vector.body)), {
      kind: 'payment',
      key: 'ord_1',
      eventId: 'charge.success:302961',
    })
  })

  it('is forged after any of 10,000 changes of one bit in its body or signature', () => {
    const gateway = openWith(vector.secret)
    const body = Buffer.from(vector.body)
    const signature = Buffer.from(vector.value)
    const flip = (bytes: Buffer) => {
      const changed = Buffer.from(bytes)
      const place = randomInt(bytes.length)
      changed.writeUInt8(bytes.readUInt8(place) ^ (1 << randomInt(8)), place)
      return changed
    }
    for (let round = 0; round < 10_000; round += 1) {
      const [left, right] = round % 2 === 0 ? [flip(body), signature] : [body, flip(signature)]
      const reading = gateway.parseWebhook(requestOf({ [vector.header]: right.toString('latin1') }, left))
      assert.deepEqual(reading, { kind: 'forged' }, `${left} ${right}`)
    }
  })

  it('is forged if its signature has another notation', () => {
    const body = Buffer.from(vector.body)
    for (const odd of [
      vector.value.toUpperCase(),
      ` ${vector.value}`,
      vector.value.slice(0, -2),
      `${vector.value}00`,
    ])
      assert.deepEqual(read(odd, body), { kind: 'forged' })
  })

  it('is forged if it was signed over the same JSON in other bytes', () => {
    const spaced = Buffer.from(JSON.stringify(JSON.parse(vector.body), null, 1))
    assert.deepEqual(read(vector.value, spaced), { kind: 'forged' })
  })

  it('has the same event id in a repeat, and another one for another payment', () => {
    const webhook = (id: number) => ({ event: 'charge.success', data: { id, reference: FIXTURE_KEY } })
    assert.deepEqual(parse(webhook(1)), parse(webhook(1)))
    assert.notDeepEqual(parse(webhook(1)), parse(webhook(2)))
  })

  it('keeps an id beyond the safe integers of JavaScript', () => {
    const webhook = '{"event":"charge.success","data":{"id":90071992547409931,"reference":"r"}}'
    assert.deepEqual(parse(webhook), {
      kind: 'payment',
      key: 'r',
      eventId: 'charge.success:90071992547409931',
    })
  })

  it('about a refund is about the refunded payment', () => {
    const reading = parse(readFixture('webhook-refund'))
    assert.ok(reading.kind === 'payment')
    assert.equal(reading.key, FIXTURE_KEY)
    const other = parse({ ...readFixture('webhook-refund'), event: 'refund.pending' })
    assert.ok(other.kind === 'payment')
    assert.notEqual(other.eventId, reading.eventId)
  })

  it('about a dispute is about the disputed payment', () => {
    assert.deepEqual(parse(readFixture('webhook-dispute')), {
      kind: 'payment',
      key: FIXTURE_KEY,
      eventId: 'charge.dispute.create:358950:awaiting-merchant-feedback',
      isDispute: true,
    })
  })

  it('a webhook of Paystack without a payment is ignored', () => {
    const data = { id: 1, reference: 'r', transaction_reference: 'r' }
    for (const event of [
      'transfer.success',
      'subscription.create',
      'invoice.update',
      'paymentrequest.success',
    ])
      assert.equal(parse({ event, data }).kind, 'ignored', event)
    for (const odd of [
      null,
      [],
      'not JSON',
      '"text"',
      { event: 'charge.success' },
      { event: 'charge.success', data: {} },
    ])
      assert.equal(parse(odd).kind, 'ignored')
    assert.equal(parse({ event: 'refund.pending', data: { transaction_reference: null } }).kind, 'ignored')
  })
})
