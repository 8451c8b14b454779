import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { ApiResponse } from '../support/api.ts'
import { assertApiError, assertNothingStored } from '../support/assertions.ts'
import { CUSTOMER, chargeBody, initiateBody, saveMethod } from '../support/builders.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after }, { env: { COWRY_RATE_LIMIT: '0' } })
const { api } = service
const INITIATE = '/api/v1/checkout/initiate-payment'
const CHARGE = '/api/v1/charges/recurring'

type Path = (string | number)[]
type Json = Record<string | number, unknown>

/** The paths of all strings in the body. */
function stringPaths(value: unknown, path: Path = []): Path[] {
  if (typeof value === 'string') return [path]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    stringPaths(inner, [...path, Array.isArray(value) ? Number(key) : key]),
  )
}

function withText(body: object, path: Path, change: (text: string) => string): object {
  const copy = structuredClone(body) as Json
  let holder = copy
  for (const step of path.slice(0, -1)) holder = holder[step] as Json
  const last = path.at(-1) ?? ''
  holder[last] = change(String(holder[last]))
  return copy
}

const FULL_CUSTOMER = { ...CUSTOMER, country: 'KE' }
const METADATA = { note: 'text', deep: { list: ['one', { key: 'two' }] } }

const fullInitiateBody = () =>
  initiateBody({
    customer: FULL_CUSTOMER,
    description: 'For shoes',
    metadata: METADATA,
    country: 'KE',
    redirectUrl: 'https://shop.example/thanks',
  })

const token = await saveMethod(api, 'card_success')
const fullChargeBody = () => chargeBody(token, { customer: FULL_CUSTOMER, metadata: METADATA })

/** Asserts that only this field is rejected for its character; currency and country have their own codes. */
function assertNames(answer: ApiResponse, field: Path, what: string): void {
  assert.equal(answer.http, 400, answer.text)
  const details = assertApiError(answer, answer.body.error.code)
  assert.deepEqual(
    details.map((detail) => detail.split(':')[0]),
    [field.join('.')],
    what,
  )
  assert.match(answer.body.error.details[0].message, /control character|surrogate/, what)
}

const BAD = {
  NUL: '\u0000',
  'a bell': '\u0007',
  'a carriage return': '\r',
  'a unit separator': '\u001f',
  'a delete': '\u007f',
  'a C1 control': '\u0085',
  'half of a surrogate pair': '\ud83d',
  'the other half': '\ude00',
}

describe('forbidden characters (F-64)', () => {
  for (const [name, path, body] of [
    ['initiate', INITIATE, fullInitiateBody],
    ['charge', CHARGE, fullChargeBody],
  ] as const) {
    it(`rejects forbidden characters in every string field of ${name}, names the field and stores nothing`, async () => {
      const fields = stringPaths(body())
      assert.ok(fields.length >= 10, `${fields.length} fields hold a string`)
      await assertNothingStored(service.db, service.demoKey, async () => {
        for (const [what, character] of Object.entries(BAD)) {
          for (const field of fields) {
            // In the middle, because white space at an end has its own rule.
            const wrong = withText(body(), field, (text) => text.slice(0, 1) + character + text.slice(1))
            assertNames(await api.post(path, wrong), field, `${what} in ${field}`)
          }
        }
      })
    })

    it(`rejects forbidden characters in the metadata keys of ${name}`, async () => {
      await assertNothingStored(service.db, service.demoKey, async () => {
        for (const [what, character] of Object.entries(BAD)) {
          const metadata = { [`k${character}`]: 1 }
          const answer = await api.post(path, { ...body(), metadata })
          assert.equal(assertApiError(answer, 'validation_failed').length, 1, what)
          assert.match(
            answer.body.error.details[0].field,
            /^metadata\.k[ \ufffd]$/,
            'in text that every client can read',
          )
        }
      })
    })

    it(`accepts tab and newline in description and metadata of ${name}`, async () => {
      const lines = 'one\n\ttwo\nthree'
      const answer = await api.post(path, { ...body(), description: lines, metadata: { note: lines } })
      assert.equal(answer.http, 201, answer.text)
      assert.equal(answer.body.data.description, lines)
      assert.deepEqual(answer.body.data.metadata, { note: lines })
    })

    it(`rejects tab and newline in every other field of ${name}`, async () => {
      const others = stringPaths(body()).filter(([first]) => first !== 'description' && first !== 'metadata')
      await assertNothingStored(service.db, service.demoKey, async () => {
        for (const field of others) {
          for (const character of ['\t', '\n']) {
            const wrong = withText(body(), field, (text) => text.slice(0, 1) + character + text.slice(1))
            assertNames(await api.post(path, wrong), field, JSON.stringify(character))
          }
        }
      })
    })
  }

  it('rejects forbidden characters in paths and queries', async () => {
    for (const path of [
      '/api/v1/checkout/verify-payment?reference=a%00b',
      '/api/v1/checkout/verify-payment?reference=a%07b',
      '/api/v1/sandbox/executions?reference=a%00b',
    ]) {
      assert.deepEqual(assertApiError(await api.get(path), 'validation_failed'), [
        'reference: invalid_characters',
      ])
    }
    const complete = await api.post('/api/v1/sandbox/payments/a%00b/complete', { instrument: 'card_success' })
    assert.deepEqual(assertApiError(complete, 'validation_failed'), ['reference: invalid_characters'])
    const halved = await api.get('/api/v1/checkout/verify-payment?reference=%ED%A0%BD')
    assert.equal(halved.http, 400, halved.text)
  })

  it('rejects raw control characters in JSON', async () => {
    const raw = JSON.stringify(fullInitiateBody()).replace('For shoes', 'For\u0000shoes')
    assertApiError(await api.postText(INITIATE, raw), 'malformed_json')
    const bytes = Buffer.from(JSON.stringify(fullInitiateBody()).replace('For shoes', 'For #shoes'))
    bytes[bytes.indexOf('#')] = 0xff
    assertApiError(await api.postText(INITIATE, new Uint8Array(bytes)), 'malformed_json')
  })

  it('accepts letters of all languages, symbols and emoji', async () => {
    const text = 'Ὀδυσσεύς 奥德修斯 أوديسيوس 👩‍👩‍👧 \u2028 \ufffd \u{10ffff}'
    const answer = await api.post(
      INITIATE,
      initiateBody({ description: text, metadata: { [text.slice(0, 8)]: text } }),
    )
    assert.equal(answer.http, 201, answer.text)
    assert.equal(answer.body.data.description, text)
  })
})

describe('names of customers (F-64)', () => {
  const names = ['firstname', 'lastname'] as const
  const send = (field: string, name: string) =>
    api.post(INITIATE, initiateBody({ customer: { ...FULL_CUSTOMER, [field]: name } }))

  it('requires a visible character in a name, and rejects characters that reverse the direction of text', async () => {
    const invisible = [' ', '\u200b', '\u2060\ufeff', '\u3164', '\u2800', '\u00ad \u180e', '\ufe0f']
    await assertNothingStored(service.db, service.demoKey, async () => {
      for (const name of [...invisible, '\u202egnp', 'A\u2066B', 'A\u202c'])
        for (const field of names)
          assert.deepEqual(
            assertApiError(await send(field, name), 'validation_failed'),
            [`customer.${field}: invalid_format`],
            JSON.stringify(name),
          )
    })
  })

  it('stores a name with its joiners and marks unchanged', async () => {
    for (const name of ['می\u200cخواهم', 'ক্\u200dষ', '李', 'O’Brien', '\u200fمريم', '🦁'])
      assert.equal((await send('firstname', name)).http, 201, name)
  })
})
