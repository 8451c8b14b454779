// The API reference for developers: the OpenAPI documents and the page that renders it, which loads nothing from other
// servers. The guides beside it are in src/docs-site.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { PAGE_COLOURS } from '../../kit/http/page-colours.ts'
import type { Random } from '../../kit/random.ts'
import { chooseEncoding, type EncodedBodies, encodeOnce } from '../pages/compression.ts'
import { etagOf, isUnchanged } from '../pages/etag.ts'
import { createNonce, HTML } from '../pages/page-response.ts'
import type { SecurityHeaders } from '../security/headers.ts'
import { OPERATOR_DOCUMENT_PATH } from './operator-document.ts'

interface Needs {
  headers: SecurityHeaders
  random: Random
  openApi(): object
  operatorOpenApi(): object
  authorization: { authorizeOperator(request: FastifyRequest): void }
}

export function registerReference(app: FastifyInstance, needs: Needs): void {
  registerDocument(app, '/openapi.json', { read: needs.openApi, cacheControl: 'public, no-cache' })
  registerDocument(app, OPERATOR_DOCUMENT_PATH, {
    read: needs.operatorOpenApi,
    cacheControl: 'private, no-cache',
    authorize: needs.authorization.authorizeOperator,
  })
  app.get('/docs/api', async (_request, reply) => {
    const nonce = createNonce(needs.random)
    return reply.headers(needs.headers.reference(nonce)).type(HTML).send(referencePage(nonce))
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
<link rel="icon" href="data:,">
<title>API reference · Cowry docs</title>
<style>${PAGE_COLOURS}
:root { --scalar-custom-header-height: 3.25rem }
body { margin: 0 }
.back { position: sticky; top: 0; z-index: 10; display: flex; gap: 1.25rem; align-items: center; height: 3.25rem;
  padding: 0 1.25rem; background: var(--card); color: var(--ink); border-bottom: 1px solid var(--line);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif }
.back a { color: var(--accent) }
</style>
</head>
<body>
<nav class="back" aria-label="Documentation"><a href="/docs">Cowry docs</a><a href="/docs/errors">Errors</a></nav>
<div id="app"></div>
<noscript><p>The API reference needs JavaScript. The same as a document: <a href="/openapi.json">openapi.json</a>.</p></noscript>
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
    if (isUnchanged(request.headers['if-none-match'], etag)) return reply.code(304).send()
    const encoding = chooseEncoding(request.headers['accept-encoding'], ['gzip'])
    if (encoding) return reply.header('content-encoding', encoding).send(gzipped)
    plain ??= promisify(gunzip)(gzipped)
    return reply.send(await plain)
  })
}

interface ServedDocument {
  read(): object
  cacheControl: string
  /** Absent: anyone may read it. */
  authorize?(request: FastifyRequest): void
}

/** A document has up to 355 KB. It is written and compressed once, until the public URL changes. */
function registerDocument(app: FastifyInstance, path: string, served: ServedDocument): void {
  let written: { document: object; text: Buffer; etag: string; encoded: EncodedBodies } | undefined
  app.get(path, {
    onRequest: async (request) => served.authorize?.(request),
    handler: async (request, reply) => {
      const document = served.read()
      if (written?.document !== document) {
        const text = Buffer.from(JSON.stringify(document))
        written = { document, text, etag: etagOf(text), encoded: encodeOnce(text) }
      }
      const { text, etag, encoded } = written
      reply.type('application/json; charset=utf-8').header('cache-control', served.cacheControl)
      reply.header('vary', 'accept-encoding').header('etag', etag)
      if (isUnchanged(request.headers['if-none-match'], etag)) return reply.code(304).send()
      const encoding = chooseEncoding(request.headers['accept-encoding'])
      if (!encoding) return reply.send(text)
      return reply.header('content-encoding', encoding).send(await encoded[encoding]())
    },
  })
}

interface Bundle {
  gzipped: Buffer
  etag: string
}

/** npm run reference writes the file. */
async function readBundle(): Promise<Bundle> {
  const gzipped = await readFile(BUNDLE_FILE)
  return { gzipped, etag: etagOf(gzipped) }
}
