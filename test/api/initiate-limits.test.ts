import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { ApiErrorCode } from '../../src/core/errors.ts'
import { assertApiError, assertNothingStored } from '../support/assertions.ts'
import { CUSTOMER, chargeBody, initiateBody, newReference, saveMethod } from '../support/builders.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { api } = service
const INITIATE = '/api/v1/checkout/initiate-payment'
const CHARGE = '/api/v1/charges/recurring'
const token = await saveMethod(api, 'card_success')

/** Both operations with this field apply the same limit. */
async function initiateAndChargeWith(changes: Record<string, unknown>) {
  return [await api.post(INITIATE, initiateBody(changes)), await api.post(CHARGE, chargeBody(token, changes))]
}

async function assertAccepted(changes: Record<string, unknown>) {
  for (const answer of await initiateAndChargeWith(changes)) {
    // A duplicate reference with another body shows that the field itself was accepted.
    const isTaken = answer.http === 201 || answer.body?.error?.code === 'duplicate_reference'
    assert.ok(isTaken, answer.text)
  }
}

async function refused(
  changes: Record<string, unknown>,
  wanted: string[],
  code: ApiErrorCode = 'validation_failed',
) {
  await assertNothingStored(service.db, service.demoKey, async () => {
    for (const answer of await initiateAndChargeWith(changes))
      assert.deepEqual(assertApiError(answer, code), wanted)
  })
}

describe('references of payments', () => {
  const padded = (length: number) => newReference().padEnd(length, 'x')

  it('accepts a reference of 1 to 100 characters', async () => {
    await assertAccepted({ reference: padded(100) })
    await assertAccepted({ reference: 'r' })
    await refused({ reference: padded(101) }, ['reference: too_long'])
    await refused({ reference: '' }, ['reference: too_short'])
  })

  it('counts a reference in characters, not in bytes or code units', async () => {
    await assertAccepted({ reference: '🧾'.repeat(100) })
    await refused({ reference: '🧾'.repeat(101) }, ['reference: too_long'])
  })

  it('rejects white space at the ends of a reference, and accepts it inside', async () => {
    await assertAccepted({ reference: 'order 7 of\u00a0March' })
    for (const reference of [' r', 'r ', '\u00a0r', 'r\u2003', ' ']) {
      await refused({ reference }, ['reference: invalid_format'])
    }
  })

  it('accepts a reference in any alphabet, because connectors encode it for the provider', async () => {
    for (const reference of ['заказ-7', 'طلب-7', '訂單/7?a=b&c#d', 'a\'b"c<d>', '%00', '..', 'null']) {
      await assertAccepted({ reference })
    }
  })

  it('accepts a reference that looks like a card number', async () => {
    await assertAccepted({ reference: '4242424242424242', metadata: { card: '4242 4242 4242 4242' } })
  })
})

describe('texts of payments', () => {
  it('accepts a description of at most 255 characters', async () => {
    await assertAccepted({ description: '' })
    await assertAccepted({ description: 'd'.repeat(255) })
    await refused({ description: 'd'.repeat(256) }, ['description: too_long'])
  })

  it('accepts names of 1 to 100 characters that are not blank', async () => {
    for (const field of ['firstname', 'lastname']) {
      const withName = (name: string) => ({ customer: { ...CUSTOMER, [field]: name } })
      await assertAccepted(withName('n'.repeat(100)))
      await refused(withName('n'.repeat(101)), [`customer.${field}: too_long`])
      await refused(withName(''), [`customer.${field}: too_short`])
      await refused(withName(' \u00a0'), [`customer.${field}: invalid_format`])
    }
  })

  it('rejects a card number in a description, name or e-mail address, and never echoes it', async () => {
    const card = '5555 5555 5555 4444'
    const places: [string, Record<string, unknown>][] = [
      ['description', { description: `call me, ${card}` }],
      ['customer.firstname', { customer: { ...CUSTOMER, firstname: card } }],
      ['customer.lastname', { customer: { ...CUSTOMER, lastname: '5555555555554444' } }],
      ['customer.email', { customer: { ...CUSTOMER, email: '5555555555554444@example.com' } }],
    ]
    for (const [field, changes] of places) {
      await refused(changes, [`${field}: card_data_not_allowed`], 'card_data_not_allowed')
      const [answer] = await initiateAndChargeWith(changes)
      assert.doesNotMatch(answer?.text ?? '', /5555/)
    }
  })
})

describe('e-mail addresses', () => {
  const withEmail = (email: string) => ({ customer: { ...CUSTOMER, email } })

  it('accepts an e-mail of at most 254 characters', async () => {
    const longest = `${'a'.repeat(242)}@example.com`
    assert.equal(longest.length, 254)
    const answer = await api.post(INITIATE, initiateBody(withEmail(longest)))
    assert.equal(answer.http, 201, answer.text)
    await refused(withEmail(`a${longest}`), ['customer.email: too_long'])
  })

  it('accepts every usual form of an e-mail address, and rejects others', async () => {
    for (const email of ['a@b.co', "o'neil+tag@sub.example.co.ke", 'josé@exämple.com']) {
      const answer = await api.post(INITIATE, initiateBody(withEmail(email)))
      assert.equal(answer.http, 201, answer.text)
    }
    for (const email of ['', 'a', 'a@b', '@b.co', 'a@', 'a b@c.de', 'a@b.co,d@e.fr', '<a@b.co>', 'a@@b.co']) {
      await refused(withEmail(email), ['customer.email: invalid_format'])
    }
  })
})

describe('metadata of payments', () => {
  const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n]))

  it('accepts at most 50 metadata keys', async () => {
    await assertAccepted({ metadata: keys(50) })
    await refused({ metadata: keys(51) }, ['metadata: too_long'])
  })

  it('accepts metadata keys of at most 40 and texts of at most 500 characters, on every level', async () => {
    await assertAccepted({ metadata: { ['k'.repeat(40)]: 'v'.repeat(500), list: ['😀'.repeat(500)] } })
    await refused({ metadata: { ['k'.repeat(41)]: 1 } }, ['metadata: too_long'])
    await refused({ metadata: { a: { ['k'.repeat(41)]: 1 } } }, ['metadata.a: too_long'])
    await refused({ metadata: { a: 'v'.repeat(501) } }, ['metadata.a: too_long'])
    await refused({ metadata: { a: { b: ['v'.repeat(501)] } } }, ['metadata.a.b.0: too_long'])
  })

  it('accepts at most 16 KB of metadata', async () => {
    const text = 'v'.repeat(490)
    await assertAccepted({
      metadata: Object.fromEntries(Array.from({ length: 32 }, (_, n) => [`key${n}`, text])),
    })
    await refused({ metadata: Object.fromEntries(Array.from({ length: 34 }, (_, n) => [`key${n}`, text])) }, [
      'metadata: too_long',
    ])
  })

  it('returns metadata unchanged: strings, numbers, booleans, null, lists and objects', async () => {
    const metadata = {
      text: 'Ünïcode 😀 \u2028 <b>',
      number: -12.75,
      large: 9007199254740991,
      yes: true,
      no: false,
      none: null,
      list: [1, [2, { three: 3 }], 'four'],
      object: { inner: { empty: {}, nothing: [] } },
    }
    const answer = await api.post(INITIATE, initiateBody({ metadata }))
    assert.deepEqual(answer.body.data.metadata, metadata)
    const read = await api.get(`/api/v1/checkout/payments/${answer.body.data.uuid}`)
    assert.deepEqual(read.body.data.metadata, metadata)
  })

  it('rejects a metadata number that would lose precision', async () => {
    for (const literal of ['1e400', '12345678901234567890', '0.10000000000000000001']) {
      const text = JSON.stringify(initiateBody({ metadata: { n: 0 } })).replace('"n":0', `"n":${literal}`)
      const answer = await api.postText(INITIATE, text)
      assert.deepEqual(assertApiError(answer, 'validation_failed'), ['metadata.n: out_of_range'], literal)
    }
  })
})

describe('redirectUrl', () => {
  const wrong = async (redirectUrl: string, detail = 'redirectUrl: invalid_format') => {
    await assertNothingStored(service.db, service.demoKey, async () => {
      const answer = await api.post(INITIATE, initiateBody({ redirectUrl }))
      assert.deepEqual(assertApiError(answer, 'validation_failed'), [detail], redirectUrl)
    })
  }

  it('accepts an https redirectUrl, or http in staging, and returns it unchanged', async () => {
    for (const redirectUrl of [
      'https://shop.example',
      'HTTPS://Shop.Example/A%20b?c=d&e=%F0%9F%98%80#f',
      'http://localhost:3000/back',
      'https://[::1]:8443/',
      'https://xn--bcher-kva.example/',
      'https://bücher.example/ü',
    ]) {
      const answer = await api.post(INITIATE, initiateBody({ redirectUrl }))
      assert.equal(answer.http, 201, answer.text)
      assert.equal(answer.body.data.redirectUrl, redirectUrl)
    }
  })

  it('accepts a redirectUrl of at most 2048 characters', async () => {
    const base = 'https://shop.example/'
    const answer = await api.post(INITIATE, initiateBody({ redirectUrl: base.padEnd(2048, 'x') }))
    assert.equal(answer.http, 201, answer.text)
    await wrong(base.padEnd(2049, 'x'), 'redirectUrl: too_long')
  })

  it('rejects a redirectUrl that runs a script or hides its host', async () => {
    for (const redirectUrl of [
      'javascript:alert(1)',
      'JaVaScRiPt:alert(1)',
      'data:text/html,<script>alert(1)</script>',
      'vbscript:x',
      'file:///etc/passwd',
      'ftp://shop.example/',
      '//evil.example/',
      '/relative',
      'shop.example',
      '',
      'https:\\\\evil.example',
      'https://shop.example\\@evil.example/',
      'https:/shop.example',
      'https:shop.example',
      'https:///shop.example',
      'https://user@shop.example/',
      'https://user:secret@shop.example/',
      'https://@shop.example/',
      'https://shop.example/a b',
      ' https://shop.example/',
      'https://shop.example/ ',
      'https://shop.example:99999/',
      'https://',
      'https://sh op.example/',
    ]) {
      await wrong(redirectUrl)
    }
  })

  it('rejects a control character in redirectUrl, which browsers drop silently', async () => {
    for (const redirectUrl of [
      'java\tscript:alert(1)',
      'https://shop.example/\r\nSet-Cookie: a=b',
      'https://a\n.b/',
    ]) {
      await wrong(redirectUrl, 'redirectUrl: invalid_characters')
    }
  })
})
