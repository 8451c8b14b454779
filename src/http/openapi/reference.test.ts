import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fakeShell } from '../../../test/support/fake-shell.ts'

describe('the API reference pages of the HTTP shell', () => {
  it('load nothing from other servers, and their content security policy allows none', async () => {
    const { shell } = fakeShell()
    const response = await shell.inject({ url: '/docs/api' })
    assert.equal(response.http, 200)
    assert.doesNotMatch(response.body, /https?:\/\//)
    const policy = String(response.headers['content-security-policy'])
    assert.match(policy, /^default-src 'none'; script-src 'nonce-[^']+'; /)
    assert.doesNotMatch(policy, /https?:|\*|unsafe-eval/)
    const nonce = /nonce-([^']+)'/.exec(policy)?.[1] ?? ''
    assert.ok(response.body.includes(`<script nonce="${nonce}" src="/docs/reference.js">`))
  })

  it('switch off fonts, proxy, telemetry and assistant of the API reference', async () => {
    const { body } = await fakeShell().shell.inject({ url: '/docs/api' })
    for (const setting of [
      '"withDefaultFonts":false',
      '"telemetry":false',
      '"proxyUrl":""',
      '"agent":{"disabled":true',
    ])
      assert.ok(body.includes(setting), setting)
  })

  it('serve the script of the API reference, with gzip for clients that accept it', async () => {
    const { shell } = fakeShell()
    const plain = await shell.inject({ url: '/docs/reference.js' })
    assert.equal(plain.http, 200)
    assert.match(String(plain.headers['content-type']), /^text\/javascript/)
    assert.ok(plain.body.includes('createApiReference'))
    const zipped = await shell.inject({
      url: '/docs/reference.js',
      headers: { 'accept-encoding': 'gzip, br' },
    })
    assert.equal(zipped.headers['content-encoding'], 'gzip')
    assert.ok(Number(zipped.headers['content-length']) < plain.body.length / 3)
    const refused = { 'accept-encoding': 'gzip;q=0' }
    const unzipped = await shell.inject({ url: '/docs/reference.js', headers: refused })
    assert.equal(unzipped.headers['content-encoding'], undefined)
  })

  it('answer 304 without a body when the client has the script of the API reference already', async () => {
    const { shell } = fakeShell()
    const url = '/docs/reference.js'
    const { etag } = (await shell.inject({ method: 'HEAD', url })).headers
    const again = await shell.inject({ url, headers: { 'if-none-match': String(etag) } })
    assert.deepEqual([again.http, again.body, again.headers.etag], [304, '', etag])
    assert.equal((await shell.inject({ url, headers: { 'if-none-match': '"other"' } })).http, 200)
  })

  for (const url of ['/openapi.json', '/admin/v1/openapi.json'])
    it(`serve ${url} compressed, and 304 to a client that has it already`, async () => {
      const { shell } = fakeShell()
      const inject = (more: Record<string, string> = {}) =>
        shell.inject({ url, headers: { authorization: 'Bearer admin-token', ...more } })
      const plain = await inject()
      for (const encoding of ['br', 'gzip']) {
        const { headers } = await inject({ 'accept-encoding': encoding })
        assert.equal(headers['content-encoding'], encoding)
        assert.equal(headers.etag, plain.headers.etag)
        assert.ok(Number(headers['content-length']) < plain.body.length / 2, `${headers['content-length']}`)
      }
      const again = await inject({ 'if-none-match': String(plain.headers.etag) })
      assert.deepEqual([again.http, again.body], [304, ''])
    })
})
