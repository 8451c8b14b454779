import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fakeShell } from '../../test/support/fake-shell.ts'
import { API_ERRORS } from '../core/errors.ts'
import type { RateLimit } from '../core/rate-limit.ts'
import { DOCUMENTATION_LIMIT } from '../http/security/documentation-limit.ts'
import { SCRIPT, STYLE } from './assets.ts'
import { createLibrary } from './library.ts'
import { renderMarkdown } from './markdown.ts'
import { DOCS_PAGES } from './pages.ts'
import { docsErrorPage, docsRoutes } from './routes.ts'
import { createSearch } from './search.ts'
import { guideView } from './views.ts'

const publicUrl = () => 'https://pay.example'

function siteShell(isTest = true, rateLimit: RateLimit | null = { perSecond: 100, burst: 500 }) {
  const pageRoutes = docsRoutes({ isTest, publicUrl })
  const errorPage = docsErrorPage(({ http }) => ({ http, html: 'the page of payers' }))
  return fakeShell({ pageRoutes, errorPage, rateLimit })
}

/** Requests of a reader who stays below the rate limit. */
function readerOf({ shell, advance }: ReturnType<typeof siteShell>) {
  return (url: string, headers: Record<string, string> = {}) => {
    advance(1_000)
    return shell.inject({ url, headers })
  }
}

const get = readerOf(siteShell())
const pages = await createLibrary(publicUrl).loadAll()

/** The bytes that a browser receives, without the headers. */
async function compressedSize(url: string): Promise<number> {
  const { http, headers } = await get(url, { 'accept-encoding': 'br' })
  assert.equal(http, 200, url)
  assert.equal(headers['content-encoding'], 'br', url)
  return Number(headers['content-length'])
}

// A first view on a bad network: about ten seconds at 50 kbit/s.
const MAX_FIRST_VIEW = 60 * 1_024
const MAX_INDEX = 20 * 1_024

describe('the documentation site', () => {
  it('shows the home page with every page, also after a trailing slash', async () => {
    const { http, body, headers } = await get('/docs')
    assert.equal(http, 200)
    assert.equal(headers['content-type'], 'text/html; charset=utf-8')
    for (const { slug } of DOCS_PAGES) assert.ok(body.includes(`href="/docs/${slug}"`), slug)
    assert.equal((await get('/docs/')).headers.location, '/docs')
  })

  it('redirects the address of a page with a trailing slash, and serves the list of pages at /docs.md', async () => {
    for (const page of ['quickstart', 'api']) {
      const { http, headers } = await get(`/docs/${page}/`)
      assert.deepEqual([http, headers.location], [303, `/docs/${page}`])
    }
    assert.equal((await get('/docs/nowhere/')).http, 404)
    const { headers, body } = await get('/docs.md')
    assert.equal(headers['content-type'], 'text/markdown; charset=utf-8')
    assert.equal(body, (await get('/llms.txt')).body)
  })

  it('serves each page as HTML and as markdown', async () => {
    // In production, where nothing is added to the text.
    const production = readerOf(siteShell(false))
    for (const { slug, rendered, markdown } of pages) {
      const { http, body } = await production(`/docs/${slug}`)
      assert.equal(http, 200, slug)
      assert.ok(body.includes(rendered.html), slug)
      assert.ok(body.includes('aria-current="page"'), slug)
      const source = await get(`/docs/${slug}.md`)
      assert.equal(source.headers['content-type'], 'text/markdown; charset=utf-8')
      assert.equal(source.body, markdown)
    }
  })

  it('has no inline script or style, and a policy that allows none', async () => {
    for (const url of ['/docs', '/docs/webhooks', '/docs/search?q=webhook', '/docs/nowhere']) {
      const { body, headers } = await get(url)
      assert.doesNotMatch(body, /<style|\sstyle=|\son\w+=|<script(?! src=)/, url)
      const policy = String(headers['content-security-policy'])
      assert.match(policy, /script-src 'self'; style-src 'self' 'nonce-/)
      assert.doesNotMatch(policy, /unsafe/)
    }
  })

  it('answers 304 without a body to a browser that has the page already', async () => {
    const first = await get('/docs/webhooks')
    assert.equal(first.headers['cache-control'], 'public, no-cache')
    const again = await get('/docs/webhooks', { 'if-none-match': String(first.headers.etag) })
    assert.deepEqual([again.http, again.body], [304, ''])
    assert.equal((await get('/docs/webhooks', { 'if-none-match': '*' })).http, 304)
    assert.equal((await get('/docs/webhooks', { 'if-none-match': 'W/"other"' })).http, 200)
  })

  it('serves style and script under an address with their digest, for a year', async () => {
    for (const { path, body } of [STYLE, SCRIPT]) {
      const response = await get(path)
      assert.equal(response.body, body)
      assert.match(String(response.headers['cache-control']), /immutable/)
    }
  })

  it('needs at most 60 KB for the first view of the home page and of the largest page', async () => {
    const largest = pages.toSorted((one, other) => other.rendered.html.length - one.rendered.html.length)[0]
    const assets = (await compressedSize(STYLE.path)) + (await compressedSize(SCRIPT.path))
    for (const url of ['/docs', `/docs/${largest?.slug}`]) {
      const bytes = assets + (await compressedSize(url))
      assert.ok(bytes <= MAX_FIRST_VIEW, `${url}: ${bytes} bytes`)
    }
  })

  it('shows an error page with a link home inside /docs, and the other error page elsewhere', async () => {
    for (const url of [
      '/docs/nowhere',
      '/docs/nowhere.md',
      '/docs/a/b',
      '/docs/files/secrets',
      '/docs/%zz',
    ]) {
      const { http, body } = await get(url)
      assert.ok(http === 404 || http === 400, `${url}: ${http}`)
      assert.match(body, /<a class="first" href="\/docs">/, url)
    }
    assert.equal((await get('/llms.txt/x')).body, 'the page of payers')
  })

  it('lists every page in llms.txt, as markdown', async () => {
    const { body, headers } = await get('/llms.txt')
    assert.match(String(headers['content-type']), /^text\/plain/)
    assert.match(body, /^# Cowry\n\n> /)
    for (const { slug } of DOCS_PAGES)
      assert.ok(body.includes(`(https://pay.example/docs/${slug}.md): `), slug)
  })

  it('explains every API error at the docUrl of the error', () => {
    const errors = pages.find(({ slug }) => slug === 'errors')
    for (const code of Object.keys(API_ERRORS))
      assert.ok(errors?.rendered.html.includes(`id="${code}"`), code)
  })

  it('offers the field for a test key in staging only, on pages with samples that use it', () => {
    const [page] = pages
    assert.ok(page)
    const show = (text: string, isTest: boolean) =>
      guideView({ ...page, rendered: renderMarkdown(page.file, text, { url: publicUrl() }) }, { isTest })
    const sample = '# T\n\n```bash\ncurl -H "x-api-key: $COWRY_API_KEY"\n```\n'
    assert.match(show(sample, true), /<input id="key-value"/)
    assert.doesNotMatch(show(sample, false), /key-value/)
    assert.doesNotMatch(show('# T', true), /key-value/)
    // No form and no name: a browser cannot send the key to the server.
    assert.doesNotMatch(
      show(sample, true),
      /<form[^>]*>(?:(?!<\/form>)[\s\S])*key-value|key-value"[^>]*\sname=/,
    )
  })
})

describe('the rate limit of the documentation', () => {
  it('answers 429 to an address that asks too often, and serves other addresses and the API', async () => {
    const { shell, advance, lines } = siteShell()
    const ask = (url: string, remoteAddress = '192.0.2.1', accept = 'text/html') =>
      shell.inject({ url, remoteAddress, headers: { accept } })
    for (let n = 0; n < DOCUMENTATION_LIMIT.burst; n += 1) assert.equal((await ask('/docs')).http, 200)
    for (const url of [
      '/docs',
      '/docs/search?q=a',
      '/docs/webhooks.md',
      '/docs/api',
      '//docs',
      '/docs/nowhere',
      '/docs/%zz',
    ])
      assert.equal((await ask(url)).http, 429, url)
    for (const url of ['/', '/?a=b', '/docs.md', '/openapi.json', '/llms.txt', '/nowhere'])
      assert.equal((await ask(url)).http, 429, url)
    const { headers, body } = await ask('/docs')
    assert.equal(headers['retry-after'], '1')
    assert.match(String(headers['x-request-id']), /^[0-9a-f-]{36}$/)
    assert.match(body, /<h1>Too many requests<\/h1>/)
    const forProgram = await ask('/openapi.json', '192.0.2.1', 'application/json')
    assert.match(forProgram.body, /"code":"rate_limited"/)
    const logged = () => lines.filter(({ http, key }) => http === 429 || key === 'http.address_rate_limited')
    assert.deepEqual(
      logged().map(({ address, count }) => [address, count]),
      [['192.0.2.1', 1]],
    )
    assert.equal((await ask('/docs', '192.0.2.2')).http, 200)
    assert.equal((await ask('/healthz')).http, 200)
    assert.equal((await ask('/api/v1/nowhere')).http, 404)
    advance(1_000)
    assert.equal((await ask('/docs')).http, 200)
    advance(20_000)
    for (let n = 0; n <= DOCUMENTATION_LIMIT.burst; n += 1) await ask('/docs')
    assert.deepEqual(
      logged().map(({ count }) => count),
      [1, 15],
    )
  })

  it('is off where the operator has turned off the rate limit', async () => {
    const { shell } = siteShell(true, null)
    for (let n = 0; n <= DOCUMENTATION_LIMIT.burst; n += 1)
      assert.equal((await shell.inject({ url: '/docs' })).http, 200)
  })
})

describe('the search of the documentation', () => {
  it('finds pages without JavaScript, the page about the word first', async () => {
    const { body } = await get('/docs/search?q=webhook+secret')
    assert.match(body, /\d+ results? for “webhook secret”/)
    assert.match(body, /<ol class="results"><li><a href="\/docs\/[\w-]*webhooks/)
    const [first] = createSearch(pages)('duplicate_reference')
    assert.equal(first?.path, '/docs/errors#duplicate_reference')
    assert.match(first?.excerpt ?? '', /^This reference was used with another body\./)
  })

  it('ignores words after the eighth', () => {
    const search = createSearch(pages)
    const eight = 'a e i o n r s t'
    assert.ok(search(eight).length > 0)
    assert.deepEqual(search(`${eight} xyzzy`), search(eight))
    assert.deepEqual(search('a e i o n r s xyzzy'), [])
  })

  it('shows the results of a repeated query again, also when many others came between', async () => {
    const first = (await get('/docs/search?q=refund')).body
    for (let n = 0; n < 250; n += 1) await get(`/docs/search?q=xyzzy${n}`)
    assert.equal((await get('/docs/search?q=refund')).body, first)
  })

  it('shows the query as text, and says when nothing was found', async () => {
    const { body } = await get(`/docs/search?q=${encodeURIComponent('<script>"xyzzy"')}`)
    assert.match(body, /No page contains “&lt;script&gt;&quot;xyzzy&quot;”/)
    assert.doesNotMatch(body, /<script>/)
    assert.match((await get('/docs/search')).body, /Type a word/)
  })

  it('has a small index of titles and headings for the script', async () => {
    const { body, headers } = await get('/docs/search.json', { 'accept-encoding': 'identity' })
    assert.match(String(headers['content-type']), /^application\/json/)
    // A boundary: the index is ours.
    const index = JSON.parse(body) as [string, string, [string, string][]][]
    assert.deepEqual(
      index.map(([slug]) => slug),
      DOCS_PAGES.map(({ slug }) => slug),
    )
    assert.ok((await compressedSize('/docs/search.json')) <= MAX_INDEX)
  })
})
