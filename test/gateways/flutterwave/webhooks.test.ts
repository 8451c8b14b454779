import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { describe, it } from 'node:test'
import { requestOf } from '../webhook-request.ts'
import { buildWebhook, readFixture } from './fake.ts'
import { CREDENTIALS, FIXTURE_KEY, openFlutterwave } from './rig.ts'

const vector = readFixture('webhook-vector') as Record<'secretHash' | 'body' | 'value' | 'header', string>
const UNREACHABLE_URL = 'http://127.0.0.1:1'

type Test = Parameters<typeof openFlutterwave>[0]

function openVector(t: Test) {
  return openFlutterwave(t, UNREACHABLE_URL, {
    credentials: { ...CREDENTIALS, webhookHash: vector.secretHash },
  })
}

/** The result for a verified webhook with this event and data. */
function parse(t: Test, event: string, data = {}) {
  const { headers, body } = buildWebhook(event, data)
  return openFlutterwave(t, UNREACHABLE_URL).parseWebhook(requestOf(headers, body))
}

function flip(bytes: Buffer): Buffer {
  const changed = Buffer.from(bytes)
  const offset = randomInt(bytes.length)
  changed.writeUInt8(bytes.readUInt8(offset) ^ (1 << randomInt(8)), offset)
  return changed
}

describe('a webhook of Flutterwave', () => {
  it('is verified by the hash of the dashboard', (t) => {
    const reading = openVector(t).parseWebhook(
      requestOf({ [vector.header]: vector.value }, Buffer.from(vector.body)),
    )
    assert.deepEqual(reading, {
      kind: 'payment',
      key: 'ord_1',
      eventId: 'charge.completed/285959875/successful',
    })
  })

  it('is forged after any of 10,000 changes of one bit in its hash', (t) => {
    const gateway = openVector(t)
    for (let round = 0; round < 10_000; round += 1) {
      const value = flip(Buffer.from(vector.value)).toString('latin1')
      const reading = gateway.parseWebhook(requestOf({ [vector.header]: value }, Buffer.from(vector.body)))
      assert.deepEqual(reading, { kind: 'forged' }, value)
    }
  })

  // The body is not signed, so only the key in it is used.
  it('returns at most a key after any of 10,000 changes of one bit in its body', (t) => {
    const gateway = openVector(t)
    for (let round = 0; round < 10_000; round += 1) {
      const reading = gateway.parseWebhook(
        requestOf({ [vector.header]: vector.value }, flip(Buffer.from(vector.body))),
      )
      const fields = reading.kind === 'payment' ? ['kind', 'key', 'eventId'] : ['kind', 'reason']
      assert.deepEqual(Object.keys(reading), fields)
    }
  })

  it('is forged with a hash that is longer, shorter or in other case', (t) => {
    const { value } = vector
    for (const odd of [
      `${value}x`,
      value.slice(1),
      value.toUpperCase(),
      ` ${value}`,
      `${value}, ${value}`,
      '',
    ])
      assert.deepEqual(
        openVector(t).parseWebhook(requestOf({ [vector.header]: odd }, Buffer.from(vector.body))),
        {
          kind: 'forged',
        },
      )
  })

  it('is forged if no hash is configured, even without a hash of its own', (t) => {
    const { webhookHash: _left, ...credentials } = CREDENTIALS
    const gateway = openFlutterwave(t, UNREACHABLE_URL, { credentials })
    const { headers, body } = buildWebhook('charge.completed', {})
    for (const given of [headers, { 'verif-hash': '' }, {}])
      assert.deepEqual(gateway.parseWebhook(requestOf(given, body)), { kind: 'forged' })
  })

  it('a webhook of Flutterwave with the signature of version 4 is forged: the versions are not mixed', (t) => {
    const headers = { 'flutterwave-signature': 'qDk7DquwWVszLW/HYcDECJW1BgK/IZiBZY4jELDuzr4=' }
    assert.deepEqual(openVector(t).parseWebhook(requestOf(headers, Buffer.from(vector.body))), {
      kind: 'forged',
    })
  })

  it('returns its payment even if that failed, with one event id per status', (t) => {
    const failed = parse(t, 'charge.completed', { status: 'failed' })
    const paid = parse(t, 'charge.completed', { status: 'successful' })
    assert.ok(failed.kind === 'payment' && paid.kind === 'payment')
    assert.equal(failed.key, FIXTURE_KEY)
    assert.notEqual(failed.eventId, paid.eventId)
  })

  it('keeps an id beyond the safe integers', (t) => {
    const { headers } = buildWebhook('charge.completed', {})
    const body = Buffer.from('{"event":"charge.completed","data":{"id":90071992547409931,"tx_ref":"k"}}')
    assert.deepEqual(openFlutterwave(t, UNREACHABLE_URL).parseWebhook(requestOf(headers, body)), {
      kind: 'payment',
      key: 'k',
      eventId: 'charge.completed/90071992547409931/',
    })
  })

  it('a webhook of Flutterwave that concerns no payment is ignored', (t) => {
    for (const event of ['test_assess', 'transfer.completed', 'subscription.cancelled'])
      assert.equal(parse(t, event).kind, 'ignored', event)
    assert.equal(parse(t, 'charge.completed', { tx_ref: null }).kind, 'ignored')
    const { headers } = buildWebhook('charge.completed', {})
    for (const text of ['', 'null', '[]', '{"data":{}}', '{"event":"charge.completed","data":null}'])
      assert.equal(
        openFlutterwave(t, UNREACHABLE_URL).parseWebhook(requestOf(headers, Buffer.from(text))).kind,
        'ignored',
        text,
      )
  })
})
