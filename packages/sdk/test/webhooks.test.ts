// Signatures, against the library of the Standard Webhooks project.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { Cowry, CowrySignatureError, unwrap } from '../src/index.ts'

const SECRET = 'whsec_aMut5vYucFjduQsLOoNxY+lMtcdH6nbDVlTalM1gC+8='
const OTHER_SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const EVENT = { id: 'e-1', type: 'payment.successful', data: { note: 'é ✓' } }
const BODY = JSON.stringify(EVENT)
const NOW = new Date('2026-11-17T09:00:00Z')

function signed(secret = SECRET, at = NOW, body = BODY) {
  const seconds = Math.floor(at.getTime() / 1000)
  return {
    'webhook-id': EVENT.id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': new Webhook(secret).sign(EVENT.id, new Date(seconds * 1000), body),
  }
}

const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1000)

describe('unwrap', () => {
  it('returns the event of a signed body, as text or bytes, with headers of any kind', async () => {
    const { webhooks } = new Cowry({ apiKey: 'key', baseUrl: 'https://pay.example' })
    const bytes = new TextEncoder().encode(BODY)
    for (const body of [BODY, bytes, bytes.buffer, Buffer.from(BODY)])
      assert.deepEqual(await webhooks.unwrap(body, signed(), SECRET, { now: NOW }), EVENT)
    const headers = Object.entries(signed())
    const upper = Object.fromEntries(headers.map(([name, value]) => [name.toUpperCase(), [value]]))
    for (const one of [new Headers(headers), upper])
      assert.deepEqual(await unwrap(BODY, one, SECRET, { now: NOW }), EVENT)
  })

  it('takes any of several signatures, and any of several secrets', async () => {
    const { 'webhook-signature': own } = signed()
    const { 'webhook-signature': other } = signed(OTHER_SECRET)
    const rotated = { ...signed(), 'webhook-signature': `v1a,xxx ${other} v1,%% ${own}` }
    assert.deepEqual(await unwrap(BODY, rotated, SECRET, { now: NOW }), EVENT)
    assert.deepEqual(await unwrap(BODY, signed(), [OTHER_SECRET, SECRET], { now: NOW }), EVENT)
  })

  it('refuses a changed body, id or timestamp, another secret and another version of signatures', async () => {
    const headers = signed()
    const cases: [string, Record<string, string>, string][] = [
      [BODY.replace('✓', '✗'), headers, SECRET],
      [BODY, { ...headers, 'webhook-id': 'e-2' }, SECRET],
      [BODY, { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) }, SECRET],
      [BODY, headers, OTHER_SECRET],
      [BODY, { ...headers, 'webhook-signature': headers['webhook-signature'].replace('v1,', 'v2,') }, SECRET],
      [BODY, { ...headers, 'webhook-signature': '' }, SECRET],
      [BODY, {}, SECRET],
    ]
    for (const [body, given, secret] of cases)
      await assert.rejects(unwrap(body, given, secret, { now: NOW }), CowrySignatureError)
  })

  it('refuses a timestamp that is more than five minutes off, or no number', async () => {
    for (const seconds of [-300, 300])
      assert.ok(await unwrap(BODY, signed(), SECRET, { now: later(seconds) }))
    for (const seconds of [-301, 301])
      await assert.rejects(unwrap(BODY, signed(), SECRET, { now: later(seconds) }), CowrySignatureError)
    assert.ok(await unwrap(BODY, signed(), SECRET, { now: later(301), toleranceSeconds: 400 }))
    const odd = { ...signed(), 'webhook-timestamp': 'soon' }
    await assert.rejects(unwrap(BODY, odd, SECRET, { now: NOW }), CowrySignatureError)
  })

  it('reports a secret that is not base64 as a mistake of the program', async () => {
    await assert.rejects(unwrap(BODY, signed(), 'whsec_%%%', { now: NOW }), TypeError)
  })
})
