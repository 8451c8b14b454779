import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Type } from 'typebox'
import { fakeShell, issuesIn, read, THING, thingRoutes } from '../../../test/support/fake-shell.ts'
import type { Route } from '../../kit/http/route.ts'

const PATH = '/api/v1/things'

describe('the JSON body of a request', () => {
  it('F-59: is refused with 415 unless it is application/json in UTF-8', async () => {
    const { post } = fakeShell()
    const status = async (contentType: string) =>
      (await post(PATH, '{"name":"a"}', { 'content-type': contentType })).http
    for (const fine of [
      'application/json',
      'Application/JSON; charset=UTF-8',
      'application/json;charset="utf-8"',
    ])
      assert.equal(await status(fine), 201, fine)
    const others = [
      'text/plain',
      'application/json; charset=utf-16',
      'application/x-www-form-urlencoded',
      'nonsense',
    ]
    for (const other of [
      ...others,
      'application/jsonp',
      'application/merge-patch+json',
      'application/json; charset=latin1',
    ])
      assert.equal(await status(other), 415, other)
  })

  it('is refused with 415 without a content type or with a content encoding', async () => {
    const { post, shell } = fakeShell()
    assert.equal((await post(PATH, '{"name":"a"}', { 'content-encoding': 'gzip' })).http, 415)
    const headers = { 'x-api-key': 'right', 'content-length': '12' }
    const response = await shell.inject({
      method: 'POST',
      url: PATH,
      payload: Buffer.from('{"name":"a"}'),
      headers,
    })
    assert.equal(response.http, 415)
    assert.equal(read(response).error.code, 'unsupported_media_type')
  })

  it('F-59: is refused as malformed_json, with line and column, if it is not JSON', async () => {
    const { post } = fakeShell()
    const response = await post(PATH, '{"name": }')
    assert.equal(response.http, 400)
    assert.equal(read(response).error.code, 'malformed_json')
    assert.deepEqual(read(response).error.details, [
      { field: 'body', code: 'malformed_json', message: 'Unexpected character at line 1, column 10.' },
    ])
    for (const text of ['', ' ', 'null garbage', "{'name': 'a'}", '{"name":"a"}}', '{"name":"a"'])
      assert.equal(read(await post(PATH, text)).error.code, 'malformed_json', text)
  })

  it('is refused with 400 if it is empty and the route requires fields', async () => {
    const { shell } = fakeShell()
    const response = await shell.inject({ method: 'POST', url: PATH, headers: { 'x-api-key': 'right' } })
    assert.equal(response.http, 400)
    assert.match(read(response).error.details[0]?.message ?? '', /empty/)
  })

  it('is not required if the route takes no body', async () => {
    const { shell } = fakeShell()
    const url = '/api/v1/things/0197a3c2-7d51-7cc3-98c4-dc0c0c07398f/touch'
    const headers = { 'x-api-key': 'right' }
    assert.equal((await shell.inject({ method: 'POST', url, headers })).http, 200)
    const json = { ...headers, 'content-type': 'application/json' }
    assert.equal((await shell.inject({ method: 'POST', url, headers: json })).http, 200)
    assert.equal((await shell.inject({ method: 'POST', url, headers: json, payload: '{}' })).http, 200)
  })

  it('may be absent with any content type, and is then refused only where it is needed', async () => {
    const { shell } = fakeShell({
      routes: [...thingRoutes({}), ...thingRoutes({}).map(toPatch).slice(0, 1)],
    })
    const headers = { 'x-api-key': 'right', 'content-length': '0' }
    for (const type of ['application/octet-stream', 'application/x-www-form-urlencoded', 'text/plain']) {
      const typed = { ...headers, 'content-type': type }
      const touched = await shell.inject({
        method: 'POST',
        url: `${PATH}/${THING.uuid}/touch`,
        headers: typed,
      })
      assert.equal(touched.http, 200, type)
      for (const method of ['POST', 'PATCH'] as const) {
        const needed = await shell.inject({ method, url: PATH, headers: typed })
        assert.equal(needed.http, 400, `${method} ${type}`)
        assert.equal(read(needed).message, 'The body is empty; send a JSON object.')
      }
    }
  })

  it('F-65: is refused if a number of a field has an exponent; metadata may have such numbers', async () => {
    const { post } = fakeShell()
    assert.deepEqual(issuesIn(await post(PATH, '{"name":"a","amount":1e2}')), ['amount invalid_format'])
    assert.equal((await post(PATH, '{"name":"a","metadata":{"amount":1e2}}')).http, 201)
  })

  it('F-59: may begin with a byte order mark, but must be UTF-8', async () => {
    const { post } = fakeShell()
    assert.equal((await post(PATH, '\ufeff{"name":"a"}')).http, 201)
    for (const bytes of [
      Buffer.from('{"name":"a"}', 'utf16le'),
      Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]),
    ]) {
      const response = await post(PATH, bytes)
      assert.equal(response.http, 400)
      assert.equal(read(response).error.code, 'malformed_json')
    }
  })

  it('must be an object at the top level', async () => {
    const { post } = fakeShell()
    for (const text of ['[]', '"a"', '1', 'null', 'true']) {
      const response = await post(PATH, text)
      assert.equal(response.http, 400)
      assert.equal(read(response).error.code, 'validation_failed')
      assert.deepEqual(issuesIn(response), ['body invalid_type'])
    }
  })

  it('F-60: may have 65,536 bytes and not one more', async () => {
    const { post } = fakeShell()
    const body = (bytes: number) => `{"name":"a"${' '.repeat(bytes - 12)}}`
    assert.equal((await post(PATH, body(65_536))).http, 201)
    const response = await post(PATH, body(65_537))
    assert.equal(response.http, 413)
    assert.equal(read(response).error.code, 'payload_too_large')
    assert.equal(read(response).message, 'The body is larger than 64 KB.')
  })

  it('F-61: is refused if it is nested deeper than 16 levels', async () => {
    const { post } = fakeShell()
    const nested = (levels: number) =>
      `{"name":"a","metadata":${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}}`
    assert.equal((await post(PATH, nested(15))).http, 201)
    const response = await post(PATH, nested(16))
    assert.equal(response.http, 400)
    assert.deepEqual(issuesIn(response), ['body too_deep'])
  })

  it('F-62: is refused if a key occurs twice, and the response names the key', async () => {
    const { post } = fakeShell()
    const response = await post(PATH, '{"name":"a","amount":1,"metadata":{"k":1,"k":2},"amount":1000}')
    assert.equal(response.http, 400)
    assert.equal(read(response).error.code, 'validation_failed')
    assert.deepEqual(issuesIn(response), ['metadata.k duplicate_key', 'amount duplicate_key'])
  })

  it('F-63: may contain __proto__ and constructor as data, without prototype pollution', async () => {
    const { post, seen } = fakeShell()
    const text = '{"name":"a","metadata":{"__proto__":{"polluted":1},"constructor":{"x":1}}}'
    assert.equal((await post(PATH, text)).http, 201)
    assert.equal(Object.hasOwn({}, 'polluted'), false)
    assert.equal(Reflect.get({}, 'polluted'), undefined)
    assert.equal(
      JSON.stringify(seen.input?.body),
      '{"name":"a","currency":"USD","metadata":{"__proto__":{"polluted":1},"constructor":{"x":1}}}',
    )
    const outside = await post(PATH, '{"name":"a","__proto__":{"polluted":1}}')
    assert.deepEqual(issuesIn(outside), ['__proto__ unknown_field'])
    assert.equal(Reflect.get({}, 'polluted'), undefined)
  })

  it('F-65: reports to the route which numbers lost digits', async () => {
    const { post } = fakeShell()
    assert.equal((await post(PATH, '{"name":"a","amount":10.10}')).http, 201)
    const response = await post(PATH, '{"name":"a","amount":10.0000000000000001}')
    assert.equal(response.http, 400)
    assert.equal(read(response).error.code, 'amount_precision')
  })
})

/** A route of the same path that changes a record, with no required field. */
function toPatch(route: Route): Route {
  return { ...route, method: 'PATCH', body: Type.Object({ name: Type.Optional(Type.String()) }) }
}
