// The reference for developers: the OpenAPI document, the page that shows it, and a page with every error. All of it
// comes from here; the page asks no other server for anything.

import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { type FastifyInstance, fastify } from 'fastify'
import { API_ERRORS } from '../../core/errors.ts'
import type { Random } from '../../kit/random.ts'
import { escapeHtml, htmlPage } from '../pages/html.ts'
import { createNonce } from '../pages/page-response.ts'
import type { SecurityHeaders } from '../security/headers.ts'

interface Needs {
  headers: SecurityHeaders
  random: Random
  openApi(): object
}

const HTML = 'text/html; charset=utf-8'

export function registerReference(app: FastifyInstance, needs: Needs): void {
  app.get('/openapi.json', async (_request, reply) => {
    return reply.type('application/json; charset=utf-8').send(JSON.stringify(needs.openApi()))
  })
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

// Everything that would leave for somebody else's server is off: fonts, the request proxy, telemetry, the assistant.
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
// Requests from this page go to where it was opened: the policy allows no other address.
const servers = [{ url: location.origin }]
Scalar.createApiReference('#app', { ...${JSON.stringify(REFERENCE_SETTINGS)}, servers })
</script>
</body>
</html>
`
}

/** The bundle is four megabytes and takes a moment to load, so it is loaded when somebody first asks for it. */
function registerBundle(app: FastifyInstance): void {
  let bundle: Promise<Bundle> | undefined
  app.get('/docs/reference.js', async (request, reply) => {
    bundle ??= loadBundle()
    const { plain, zipped } = await bundle
    reply.type('text/javascript; charset=utf-8').header('cache-control', 'public, max-age=86400')
    reply.header('vary', 'accept-encoding')
    if (!/\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))) return reply.send(plain)
    return reply.header('content-encoding', 'gzip').send(zipped)
  })
}

interface Bundle {
  plain: Buffer
  zipped: Buffer
}

/** The package keeps its bundle inside a plugin; a scratch server, which never listens, hands it out. */
async function loadBundle(): Promise<Bundle> {
  const { default: plugin } = await import('@scalar/fastify-api-reference')
  const scratch = fastify()
  scratch.register(plugin, { routePrefix: '/docs', configuration: { url: '/openapi.json' } })
  const { statusCode, rawPayload: plain } = await scratch.inject('/docs/js/scalar.js')
  await scratch.close()
  if (statusCode !== 200) throw new Error(`the API reference has no bundle: ${statusCode}`)
  return { plain, zipped: await promisify(gzip)(plain) }
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
<p>Every refusal has a code, which never changes, and a message for people, which may. <code>error.details</code> names
each field that was not acceptable. Quote <code>error.requestId</code> when you ask for help.</p>
${sections.join('\n')}
<p><a href="/docs">API reference</a></p>`
  return htmlPage('Cowry errors', body, nonce)
}
