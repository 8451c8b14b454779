// The API reference for developers: the OpenAPI document, the page that renders it, and a page with every API error.
// The pages load nothing from other servers.

import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { API_ERRORS } from '../../core/errors.ts'
import { escapeHtml } from '../../kit/http/html.ts'
import type { Random } from '../../kit/random.ts'
import { chooseEncoding, type EncodedBodies, encodeOnce } from '../pages/compression.ts'
import { htmlPage } from '../pages/html.ts'
import { createNonce } from '../pages/page-response.ts'
import type { SecurityHeaders } from '../security/headers.ts'

interface Needs {
  headers: SecurityHeaders
  random: Random
  openApi(): object
}

const HTML = 'text/html; charset=utf-8'

export function registerReference(app: FastifyInstance, needs: Needs): void {
  registerDocument(app, needs.openApi)
  for (const url of ['/docs', '/docs/']) {
    app.get(url, async (_request, reply) => {
      const nonce = createNonce(needs.random)
      return reply.headers(needs.headers.reference(nonce)).type(HTML).send(referencePage(nonce))
    })
  }
  app.get('/docs/errors', async (_request, reply) => {
    const nonce = createNonce(needs.random)
    return reply.headers(needs.headers.page(nonce)).type(HTML).send(errorsPage(nonce))
  })
  registerBundle(app)
}

// Everything that would call another server is off: fonts, the request proxy, telemetry, the assistant.
const REFERENCE_SETTINGS = {
  url: '/openapi.json',
  proxyUrl: '',
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true, hideAddApi: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  theme: 'default',
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
}

function referencePage(nonce: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta property="csp-nonce" content="${nonce}">
<title>Cowry API reference</title>
</head>
<body>
<div id="app"></div>
<script nonce="${nonce}" src="/docs/reference.js"></script>
<script nonce="${nonce}">
// Requests from this page go to its own origin: the content security policy allows no other.
const servers = [{ url: location.origin }]
Scalar.createApiReference('#app', { ...${JSON.stringify(REFERENCE_SETTINGS)}, servers })
</script>
</body>
</html>
`
}

const BUNDLE_FILE = join(import.meta.dirname, '../assets/api-reference.js.gz')

/** The file has 1.3 MB, so it is read on the first request. */
function registerBundle(app: FastifyInstance): void {
  let bundle: Promise<Bundle> | undefined
  let plain: Promise<Buffer> | undefined
  app.get('/docs/reference.js', async (request, reply) => {
    bundle ??= readBundle()
    const { gzipped, etag } = await bundle
    reply.type('text/javascript; charset=utf-8').header('cache-control', 'public, max-age=86400')
    reply.header('vary', 'accept-encoding').header('etag', etag)
    if (request.headers['if-none-match']?.includes(etag)) return reply.code(304).send()
    if (acceptsGzip(request)) return reply.header('content-encoding', 'gzip').send(gzipped)
    plain ??= promisify(gunzip)(gzipped)
    return reply.send(await plain)
  })
}

/** The document has 660 KB. It is written and compressed once, until the public URL changes. */
function registerDocument(app: FastifyInstance, openApi: () => object): void {
  let written: { document: object; text: Buffer; etag: string; encoded: EncodedBodies } | undefined
  app.get('/openapi.json', async (request, reply) => {
    const document = openApi()
    if (written?.document !== document) {
      const text = Buffer.from(JSON.stringify(document))
      written = { document, text, etag: etagOf(text), encoded: encodeOnce(text) }
    }
    const { text, etag, encoded } = written
    reply.type('application/json; charset=utf-8').header('cache-control', 'public, no-cache')
    reply.header('vary', 'accept-encoding').header('etag', etag)
    if (request.headers['if-none-match']?.includes(etag)) return reply.code(304).send()
    const encoding = chooseEncoding(request.headers['accept-encoding'])
    if (!encoding) return reply.send(text)
    return reply.header('content-encoding', encoding).send(await encoded[encoding]())
  })
}

/** Weak, because the compressed and the plain response share it. */
const etagOf = (body: Buffer) => `W/"${createHash('sha256').update(body).digest('base64url')}"`

interface Bundle {
  gzipped: Buffer
  etag: string
}

/** npm run reference writes the file. */
async function readBundle(): Promise<Bundle> {
  const gzipped = await readFile(BUNDLE_FILE)
  return { gzipped, etag: etagOf(gzipped) }
}

function acceptsGzip({ headers }: FastifyRequest): boolean {
  return /\bgzip\b/.test(String(headers['accept-encoding'] ?? ''))
}

function errorsPage(nonce: string): string {
  const rows = Object.entries(API_ERRORS).sort(([, a], [, b]) => a.http - b.http)
  const sections = rows.map(([code, { http, type, message, retryable }]) => {
    const retry = retryable
      ? 'The same request may succeed later.'
      : 'The same request will be refused again; change it first.'
    return `<section id="${code}">
<h2><code>${code}</code></h2>
<p>${escapeHtml(message)}</p>
<p><small>HTTP ${http} · <code>${type}</code> · ${retry}</small></p>
</section>`
  })
  const body = `<h1>Errors</h1>
<p>Every error has a code, which never changes, and a message for people, which may. <code>error.details</code> names
each field that was not acceptable. Quote <code>error.requestId</code> when you ask for help.</p>
${sections.join('\n')}
<p><a href="/docs">API reference</a></p>`
  return htmlPage('Cowry errors', body, nonce)
}
