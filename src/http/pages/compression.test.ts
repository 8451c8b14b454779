import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { after, describe, it } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { fakeShell } from '../../../test/support/fake-shell.ts'
import type { PageResponse } from '../../kit/http/route.ts'
import { chooseEncoding, createCompress } from './compression.ts'

const LINES = Array.from({ length: 200 }, (_, index) => `<p>line ${index} of the page</p>`).join('\n')
const PAGE: PageResponse = { http: 200, html: LINES }
const scriptOf = (body: string): PageResponse => ({
  http: 200,
  content: { type: 'text/javascript; charset=utf-8', body },
})

let response: PageResponse = PAGE
const { shell } = fakeShell({
  pageRoutes: [{ method: 'GET', path: '/pay/{accessCode}', handle: async () => response }],
})
after(() => shell.stop())
const { port } = await shell.listen('127.0.0.1', 0)

/** The response body as it goes over the wire, not decompressed. */
async function ask(given: PageResponse, acceptEncoding?: string, method = 'GET', path = '/pay/abc') {
  response = given
  const headers = acceptEncoding === undefined ? {} : { 'accept-encoding': acceptEncoding }
  return new Promise<{ headers: Record<string, unknown>; body: Buffer }>((resolve, reject) => {
    const asked = httpRequest({ host: '127.0.0.1', port, path, method, headers }, async (got) => {
      resolve({ headers: got.headers, body: Buffer.concat(await got.toArray()) })
    })
    asked.on('error', reject)
    asked.end()
  })
}

describe('the content encoding of a page', () => {
  it('is the one with the highest weight in Accept-Encoding, and brotli among equals', () => {
    const choices: [string | undefined, string | undefined][] = [
      ['gzip, deflate, br, zstd', 'br'],
      ['gzip, deflate', 'gzip'],
      ['br;q=0.5, gzip;q=0.8', 'gzip'],
      ['br;q=0, gzip', 'gzip'],
      ['br;q=0, gzip;q=0', undefined],
      ['*', 'br'],
      ['br;q=0, *;q=0.1', 'gzip'],
      ['identity, gzip;q=0.5', undefined],
      ['identity;q=0', undefined],
      ['GZIP ; Q=0.3', 'gzip'],
      ['x-gzip', 'gzip'],
      ['deflate', undefined],
      ['', undefined],
      [';;q=,=', undefined],
      [undefined, undefined],
    ]
    for (const [header, encoding] of choices) assert.equal(chooseEncoding(header), encoding, header)
  })
})

describe('a compressed page', () => {
  it('decompresses to the page, has the right length and a Vary header', async () => {
    const unpack = { br: brotliDecompressSync, gzip: gunzipSync }
    for (const encoding of ['br', 'gzip'] as const) {
      const { headers, body } = await ask(PAGE, encoding)
      assert.equal(headers['content-encoding'], encoding)
      assert.equal(headers.vary, 'accept-encoding')
      assert.equal(Number(headers['content-length']), body.length)
      assert.ok(body.length < LINES.length / 5)
      assert.equal(unpack[encoding](body).toString(), LINES)
    }
  })

  it('is sent uncompressed to clients that accept only that, with a Vary header', async () => {
    const { headers, body } = await ask(PAGE)
    assert.equal(headers['content-encoding'], undefined)
    assert.equal(headers.vary, 'accept-encoding')
    assert.equal(body.toString(), LINES)
  })

  it('keeps the Vary header that the page sets itself', async () => {
    const { headers } = await ask({ ...PAGE, headers: { vary: 'accept-language' } }, 'br')
    assert.equal(headers.vary, 'accept-language, accept-encoding')
  })

  it('has the same headers for HEAD, and no body', async () => {
    for (const encoding of ['br', undefined]) {
      const got = await ask(PAGE, encoding)
      const head = await ask(PAGE, encoding, 'HEAD')
      assert.equal(head.body.length, 0)
      for (const name of ['content-encoding', 'content-length', 'content-type', 'vary'])
        assert.equal(head.headers[name], got.headers[name], name)
    }
  })

  it('is text of at least 500 bytes; other bodies are not compressed', async () => {
    const picture = Buffer.alloc(5_000)
    const plain: PageResponse[] = [
      { http: 200, html: '<p>short</p>' },
      { http: 200, content: { type: 'image/png', body: picture } },
      { http: 200, content: { type: 'image/webp', body: picture } },
      { http: 200, content: { type: 'image/jpeg', body: picture } },
      { http: 303, redirectTo: '/pay/abc' },
    ]
    for (const given of plain) {
      const { headers } = await ask(given, 'br, gzip')
      assert.deepEqual([headers['content-encoding'], headers.vary], [undefined, undefined])
    }
    const drawing = Buffer.from(
      `<svg xmlns="http://www.w3.org/2000/svg">${'<path d="M0 0"/>'.repeat(100)}</svg>`,
    )
    for (const [type, body] of [
      ['image/svg+xml', drawing],
      ['application/json; charset=utf-8', JSON.stringify({ words: LINES })],
    ] as const) {
      const packed = await ask({ http: 200, content: { type, body } }, 'br')
      assert.equal(packed.headers['content-encoding'], 'br')
      assert.deepEqual(brotliDecompressSync(packed.body), Buffer.from(body))
    }
  })

  it('may be an error page, and is never a response of the JSON API', async () => {
    const refused = await ask(PAGE, 'gzip', 'GET', '/pay/a%00b')
    assert.match(gunzipSync(refused.body).toString(), /control character/)
    const { headers } = await ask(PAGE, 'gzip, br', 'GET', '/nope')
    assert.equal(headers['content-encoding'], undefined)
  })
})

describe('a page response with an immutable cache header', () => {
  const script = (seed: number) =>
    Array.from({ length: 300 }, (_, n) => `call(${(n * seed) % 977})`).join('\n')

  it('is compressed at the best quality', async () => {
    const text = await readFile(new URL('./compression.ts', import.meta.url), 'utf8')
    const quick = await ask(scriptOf(text), 'br')
    const best = await ask({ ...scriptOf(text), cache: 'immutable' }, 'br')
    assert.ok(best.body.length < quick.body.length)
    assert.equal(brotliDecompressSync(best.body).toString(), text)
  })

  it('is compressed once, while it stays among the most recently used', async () => {
    const compress = createCompress()
    const lasting = async (seed: number) => {
      const content = {
        body: script(seed),
        type: 'text/javascript',
        acceptEncoding: 'gzip',
        isRepeated: true,
      }
      return (await compress(content)).body
    }
    const first = await lasting(1)
    assert.equal(await lasting(1), first, 'the cached bytes')
    assert.notEqual(await lasting(2), first)
    for (let seed = 3; seed < 300; seed += 1) {
      await lasting(seed)
      assert.equal(await lasting(1), first)
    }
    const second = await lasting(2)
    assert.equal(gunzipSync(second).toString(), script(2))
    for (let seed = 3; seed < 300; seed += 1) await lasting(seed)
    assert.notEqual(await lasting(2), second, 'evicted meanwhile, so the cache is bounded')
  })
})
