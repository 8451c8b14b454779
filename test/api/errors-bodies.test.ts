import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { after, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { assertApiError, assertNothingStored, UUID_V7 } from '../support/assertions.ts'
import { chargeBody, initiateBody, newReference } from '../support/builders.ts'
import { sendBytes } from '../support/raw-http.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { api } = service
const INITIATE = '/api/v1/checkout/initiate-payment'
const CHARGE = '/api/v1/charges/recurring'
const LIMIT = 65_536

/** A valid body as text, for tests to corrupt. */
const text = (changes: Record<string, unknown> = {}) => JSON.stringify(initiateBody(changes))

/** Nested arrays of that depth. */
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)

const withMetadata = (json: string) => text().replace(/}$/, `,"metadata":{"deep":${json}}}`)

describe('request bodies', () => {
  it('rejects a body that is not JSON as malformed_json, with the position', async () => {
    const broken = [
      '',
      ' ',
      '{',
      '}',
      '{"amount":}',
      '{"amount":1,}',
      "{'amount':1}",
      '{amount:1}',
      'nonsense',
      '{"a":NaN}',
      '{"a":01}',
      '{"a":+1}',
      '{"a":.5}',
      '{"a":1.}',
      '{"a":0x10}',
      '{} {}',
      '{}x',
      '// comment\n{}',
      '{"a":"\t"}',
      '{"a":"\\x"}',
      '{"a":"\\u12"}',
      'undefined',
      '{"a":tru}',
    ]
    await assertNothingStored(service.db, service.demoKey, async () => {
      for (const path of [INITIATE, CHARGE]) {
        for (const body of broken) {
          const answer = await api.postText(path, body)
          assert.deepEqual(assertApiError(answer, 'malformed_json'), ['body: malformed_json'], body)
        }
      }
    })
    const { details } = (await api.postText(INITIATE, '{\n  "amount": ,')).body.error
    assert.equal(details[0].message, 'Unexpected character at line 2, column 13.')
  })

  it('never echoes the body in the error', async () => {
    const answer = await api.postText(INITIATE, '{"secret": 4242424242424242 "oops"}')
    assertApiError(answer, 'malformed_json')
    assert.ok(!answer.text.includes('4242') && !answer.text.includes('oops'))
  })

  it('rejects a JSON body that is not an object', async () => {
    for (const body of ['null', '1', '"text"', 'true', '[]', `[${text()}]`]) {
      assert.deepEqual(assertApiError(await api.postText(INITIATE, body), 'validation_failed'), [
        'body: invalid_type',
      ])
    }
  })

  it('requires the content type of JSON', async () => {
    const types = [
      'text/plain',
      'text/json',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'application/jsonp',
      'application/json-patch+json',
      'application/vnd.api+json',
      'application/json; charset=utf-16',
      'application/json; charset=latin1',
      'nonsense',
    ]
    await assertNothingStored(service.db, service.demoKey, async () => {
      for (const type of types)
        assertApiError(
          await api.postText(INITIATE, text(), { 'content-type': type }),
          'unsupported_media_type',
        )
      const unnamed = await api.send('POST', INITIATE, { body: Buffer.from(text()) })
      assertApiError(unnamed, 'unsupported_media_type')
      const zipped = gzipSync(text())
      const answer = await api.postText(INITIATE, new Uint8Array(zipped), { 'content-encoding': 'gzip' })
      assertApiError(answer, 'unsupported_media_type')
    })
    for (const type of [
      'application/json',
      'application/json; charset=utf-8',
      'Application/JSON;charset="UTF-8"',
      'application/json ; charset=utf8',
    ])
      assert.equal((await api.postText(INITIATE, text(), { 'content-type': type })).http, 201, type)
  })

  it('accepts a body of 64 KB and not a byte more, with and without Content-Length', async () => {
    const fitting = text().padEnd(LIMIT, ' ')
    const tooLarge = text().padEnd(LIMIT + 1, ' ')
    const chunked = (body: string) => ({
      body: Readable.from([body]),
      headers: { 'content-type': 'application/json' },
    })
    assert.equal((await api.postText(INITIATE, fitting)).http, 201)
    assert.equal((await api.send('POST', INITIATE, chunked(text().padEnd(LIMIT, ' ')))).http, 201)
    await assertNothingStored(service.db, service.demoKey, async () => {
      assertApiError(await api.postText(INITIATE, tooLarge), 'payload_too_large')
      assertApiError(await api.send('POST', INITIATE, chunked(tooLarge)), 'payload_too_large')
      assertApiError(await api.postText(CHARGE, tooLarge), 'payload_too_large')
      assertApiError(await api.postText(INITIATE, ' '.repeat(5_000_000)), 'payload_too_large')
    })
  })

  it('rejects a body by its Content-Length before it is sent', async () => {
    const head = [
      `POST ${INITIATE} HTTP/1.1`,
      'host: x',
      `x-api-key: ${service.demoKey}`,
      'connection: close',
    ]
    const lines = [...head, 'content-type: application/json', 'content-length: 99999999', '', '']
    const answer = await sendBytes(service.url, `${lines.join('\r\n')}{`)
    assert.equal(answer.http, 413)
    assert.match(answer.headers['x-request-id'] ?? '', UUID_V7)
  })

  it('accepts a body of 16 levels and no deeper', async () => {
    // The body, metadata and its first value are three levels; thirteen more make sixteen.
    assert.equal((await api.postText(INITIATE, withMetadata(nested(14)))).http, 201)
    await assertNothingStored(service.db, service.demoKey, async () => {
      for (const json of [
        nested(15),
        nested(1_000),
        nested(30_000),
        `${'{"a":'.repeat(15)}1${'}'.repeat(15)}`,
      ]) {
        const answer = await api.postText(INITIATE, withMetadata(json))
        assert.deepEqual(assertApiError(answer, 'validation_failed'), ['body: too_deep'])
      }
    })
    assert.equal(
      (await api.postText(INITIATE, withMetadata(`${'{"a":'.repeat(14)}1${'}'.repeat(14)}`))).http,
      201,
    )
  })

  it('rejects a body with a duplicate key', async () => {
    const body = text()
    const twice = [body.replace('{', '{"amount":1,'), body.replace('{', '{"\\u0061mount":1,')]
    for (const broken of twice)
      assert.deepEqual(assertApiError(await api.postText(INITIATE, broken), 'validation_failed'), [
        'amount: duplicate_key',
      ])
    const inner = body.replace('"customer":{', '"customer":{"email":"other@example.com",')
    assert.deepEqual(assertApiError(await api.postText(INITIATE, inner), 'validation_failed'), [
      'customer.email: duplicate_key',
    ])
    const metadata = withMetadata('{"a":1,"a":1}')
    assert.deepEqual(assertApiError(await api.postText(INITIATE, metadata), 'validation_failed'), [
      'metadata.deep.a: duplicate_key',
    ])
  })

  it('accepts a byte order mark', async () => {
    const answer = await api.postText(INITIATE, `\uFEFF${text()}`)
    assert.equal(answer.http, 201, answer.text)
    assertApiError(await api.postText(INITIATE, `\uFEFF\uFEFF${text()}`), 'malformed_json')
  })

  it('rejects a body that is not UTF-8', async () => {
    const utf16 = Buffer.from(`\uFEFF${text()}`, 'utf16le')
    const latin1 = Buffer.from(text({ description: 'café' }), 'latin1')
    const overlong = Buffer.from(text({ description: '??' }), 'latin1')
    overlong.set([0xc0, 0xaf], overlong.indexOf('??'))
    const surrogate = Buffer.from(text({ description: '???' }), 'latin1')
    surrogate.set([0xed, 0xa0, 0x80], surrogate.indexOf('???'))
    await assertNothingStored(service.db, service.demoKey, async () => {
      for (const bytes of [utf16, latin1, overlong, surrogate])
        assertApiError(await api.postText(INITIATE, new Uint8Array(bytes)), 'malformed_json')
    })
  })

  it('protects prototypes from a body', async () => {
    const reference = newReference()
    const hostile = `"__proto__":{"polluted":true,"amount":1,"reference":"x"},"constructor":{"prototype":{"polluted":true}}`
    const body = text({ reference }).replace(/}$/, `,"metadata":{${hostile},"toString":"x","kept":1}}`)
    const outside = body.replace('{', `{${hostile},`).replace('"customer":{', `"customer":{${hostile},`)
    assert.deepEqual(assertApiError(await api.postText(INITIATE, outside), 'unknown_field'), [
      '__proto__: unknown_field',
      'constructor: unknown_field',
      'customer.__proto__: unknown_field',
      'customer.constructor: unknown_field',
    ])
    const answer = await api.postText(INITIATE, body)
    assert.equal(answer.http, 201, answer.text)
    assert.equal(answer.body.data.reference, reference)
    assert.equal(answer.body.data.sourceAmount, '1250.50')
    assert.ok(!('polluted' in {}), 'no prototype of the serving process is polluted')
    const kept = answer.body.data.metadata
    assert.deepEqual(Object.keys(kept).sort(), ['__proto__', 'constructor', 'kept', 'toString'])
    const only = await api.postText(INITIATE, '{"__proto__":{"amount":5}}')
    assert.ok(assertApiError(only, 'unknown_field').includes('amount: required'))
  })

  it('reports all validation issues of a body at once', async () => {
    const answer = await api.post(CHARGE, {
      ...chargeBody('x'),
      reference: ' ',
      amount: -1,
      description: 7,
      customer: {},
    })
    assert.deepEqual(assertApiError(answer, 'validation_failed').sort(), [
      'amount: amount_out_of_range',
      'customer.email: required',
      'customer.firstname: required',
      'customer.lastname: required',
      'description: invalid_type',
      'reference: invalid_format',
    ])
  })
})
