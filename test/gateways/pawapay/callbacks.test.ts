import assert from 'node:assert/strict'
import { generateKeyPairSync, randomInt } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import type { Connection } from '../../../src/gateways/definition.ts'
import { PAWAPAY } from '../../../src/gateways/pawapay/index.ts'
import { addMs } from '../../../src/kit/clock.ts'
import { PUBLIC_URL, type Webhook } from '../conformance.ts'
import { requestOf } from '../webhook-request.ts'
import { type CallbackOptions, OTHER_KEYS, PAWAPAY_KEYS, signCallback } from './fake-callbacks.ts'
import { createTestClock, openOn, RECORDED_KEY, readFixture } from './rig.ts'

const UNREACHABLE_URL = 'http://127.0.0.1:1'
const FORGED = { kind: 'forged' }

function read(t: TestContext, { headers, body }: Webhook, changes: Partial<Connection> = {}) {
  return openOn(t, UNREACHABLE_URL, changes).parseWebhook(requestOf(headers, body))
}

const sign = (options: CallbackOptions) => signCallback(RECORDED_KEY, 'COMPLETED', options)

describe('a callback of pawaPay', () => {
  it('is about a deposit, once per status', (t) => {
    const completed = { kind: 'payment', key: RECORDED_KEY, eventId: `${RECORDED_KEY}:COMPLETED` }
    assert.deepEqual(read(t, signCallback(RECORDED_KEY)), completed)
    // A retry has a new signature.
    assert.deepEqual(read(t, signCallback(RECORDED_KEY)), completed)
    const processing = { kind: 'payment', key: RECORDED_KEY, eventId: `${RECORDED_KEY}:PROCESSING` }
    assert.deepEqual(read(t, signCallback(RECORDED_KEY, 'PROCESSING')), processing)
  })

  it('is ignored if it is signed and about something else', (t) => {
    const bodies = [
      readFixture('callback-refund'),
      { payoutId: RECORDED_KEY, status: 'COMPLETED' },
      { checkoutId: RECORDED_KEY, status: 'COMPLETED', deposit: { depositId: RECORDED_KEY } },
      { depositId: 'not one of our keys', status: 'COMPLETED' },
      { depositId: RECORDED_KEY },
      [],
    ]
    for (const body of bodies) assert.equal(read(t, sign({ body })).kind, 'ignored', JSON.stringify(body))
  })

  it('may be signed in either encoding over either digest', (t) => {
    for (const encoding of ['der', 'ieee-p1363'] as const)
      for (const digest of ['sha-256', 'sha-512'] as const)
        assert.equal(read(t, sign({ encoding, digest })).kind, 'payment')
  })

  it('is forged if it was sent to another host, another path or with another method', (t) => {
    assert.deepEqual(read(t, sign({ publicUrl: 'https://another.example.com' })), FORGED)
    assert.deepEqual(read(t, sign({ path: '/hooks/pawapay/0197a3c2-7d51-7cc3-98c4-dc0c0c07398f' })), FORGED)
    assert.deepEqual(read(t, sign({ method: 'PUT' })), FORGED)
  })

  it('is verified on the path of its account, below any prefix of the public URL', (t) => {
    const webhookPath = '/hooks/pawapay/0197a3c2-7d51-7cc3-98c4-dc0c0c07398f'
    assert.equal(read(t, sign({ path: webhookPath }), { webhookPath }).kind, 'payment')
    const publicUrl = 'https://pay.example.com:8443/cowry'
    const webhook = sign({ publicUrl, path: '/cowry/hooks/pawapay' })
    assert.equal(read(t, webhook, { publicUrl: () => publicUrl }).kind, 'payment')
  })

  it('is forged if the signature does not cover the body, the host, the path or the method', (t) => {
    const all = ['@method', '@authority', '@path', 'signature-date', 'content-digest', 'content-type']
    assert.equal(read(t, sign({ components: all })).kind, 'payment')
    for (const left of ['@method', '@authority', '@path', 'content-digest'])
      assert.deepEqual(read(t, sign({ components: all.filter((name) => name !== left) })), FORGED, left)
    assert.deepEqual(read(t, sign({ components: [...all, '@query'] })), FORGED)
  })

  it('is forged if it is signed in another way than pawaPay documents', (t) => {
    assert.deepEqual(read(t, sign({ algorithm: 'rsa-pss-sha512' })), FORGED)
    assert.deepEqual(read(t, sign({ privateKey: OTHER_KEYS.privateKey })), FORGED)
  })

  it('is forged if it is more than five minutes old or in the future', (t) => {
    const clock = createTestClock()
    const readAfter = (ms: number) => read(t, sign({ at: addMs(clock.now(), -ms) }), { clock })
    for (const ms of [0, 290_000, -290_000]) assert.equal(readAfter(ms).kind, 'payment')
    for (const ms of [302_000, 86_400_000, -302_000]) assert.deepEqual(readAfter(ms), FORGED)
  })

  it('is forged if no key is configured', (t) => {
    const credentials = { apiToken: 'made-up' }
    assert.deepEqual(read(t, signCallback(RECORDED_KEY), { credentials }), FORGED)
  })
})

describe('the public key of pawaPay', () => {
  const validate = (text: string) => PAWAPAY.credentials[1]?.validate(text, 'live')
  const { publicKey } = PAWAPAY_KEYS

  it('may be written on one line, and there may be two during a key rotation', (t) => {
    for (const text of [publicKey.replaceAll('\n', '\\n'), `${OTHER_KEYS.publicKey}${publicKey}`]) {
      assert.equal(validate(text), undefined)
      const credentials = { apiToken: 'made-up', publicKey: text }
      assert.equal(read(t, signCallback(RECORDED_KEY), { credentials }).kind, 'payment')
    }
  })

  it('is rejected if it is not a key', () => {
    const { privateKey } = PAWAPAY_KEYS
    const secret = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    assert.match(validate(secret) ?? '', /private key/)
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 }).publicKey
    const otherCurve = generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey
    for (const key of [rsa, otherCurve])
      assert.match(validate(key.export({ type: 'spki', format: 'pem' }).toString()) ?? '', /P-256/)
    for (const text of ['', 'key', publicKey.slice(0, 80), publicKey.replace('M', '!')])
      assert.match(validate(text) ?? '', /BEGIN PUBLIC KEY/)
  })
})

describe('the published vector of a callback', () => {
  const vector = readFixture('callback-vector')
  const clock = createTestClock(new Date(vector.created * 1_000))
  const open = (t: TestContext) =>
    openOn(t, UNREACHABLE_URL, {
      credentials: { apiToken: 'made-up', publicKey: vector.publicKey },
      clock,
      publicUrl: () => vector.publicUrl,
      webhookPath: vector.path,
    })
  const body = Buffer.from(vector.body)
  const key = '8917c345-4791-4285-a416-62f24b6982db'

  for (const encoding of ['der', 'ieee-p1363']) {
    it(`is verified with its signature in ${encoding}`, (t) => {
      const headers = { ...vector.headers, signature: vector.signatures[encoding] }
      assert.deepEqual(open(t).parseWebhook(requestOf(headers, body)), {
        kind: 'payment',
        key,
        eventId: `${key}:COMPLETED`,
      })
    })

    it(`is forged after any of 5,000 random bit flips of body or signature in ${encoding}`, (t) => {
      const gateway = open(t)
      const headers: Record<string, string> = { ...vector.headers, signature: vector.signatures[encoding] }
      const places = ['body', ...Object.keys(headers)]
      for (let count = 0; count < 5_000; count += 1) {
        // Half of the flips are in the body, the others in any header, including the signature.
        const place = count % 2 === 0 ? 'body' : (places[randomInt(1, places.length)] ?? '')
        const flippedHeaders =
          place === 'body'
            ? headers
            : { ...headers, [place]: flip(Buffer.from(headers[place] ?? '')).toString('latin1') }
        const flippedBody = place === 'body' ? flip(body) : body
        assert.deepEqual(
          gateway.parseWebhook(requestOf(flippedHeaders, flippedBody)),
          FORGED,
          `${place} ${flippedHeaders[place]}`,
        )
      }
    })
  }

  it('is forged for another host, ten minutes later and without its body', (t) => {
    const headers = { ...vector.headers, signature: vector.signatures.der }
    assert.deepEqual(open(t).parseWebhook(requestOf(headers, Buffer.alloc(0))), FORGED)
    const credentials = { apiToken: 'made-up', publicKey: vector.publicKey }
    const later = createTestClock(addMs(clock.now(), 600_000))
    const late = { credentials, clock: later, publicUrl: () => vector.publicUrl, webhookPath: vector.path }
    assert.deepEqual(openOn(t, UNREACHABLE_URL, late).parseWebhook(requestOf(headers, body)), FORGED)
    const elsewhere = { credentials, clock, publicUrl: () => PUBLIC_URL, webhookPath: vector.path }
    assert.deepEqual(openOn(t, UNREACHABLE_URL, elsewhere).parseWebhook(requestOf(headers, body)), FORGED)
  })
})

function flip(bytes: Buffer): Buffer {
  const flipped = Buffer.from(bytes)
  const offset = randomInt(flipped.length)
  flipped.writeUInt8(flipped.readUInt8(offset) ^ (1 << randomInt(8)), offset)
  return flipped
}
