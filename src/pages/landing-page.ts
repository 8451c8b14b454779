// The home page: what this service is, and links to its documentation.

import { html } from '../kit/http/html.ts'
import type { PageResponse } from '../kit/http/route.ts'
import type { PaymentsApp } from '../payments/app.ts'
import { paletteOf } from './accent.ts'
import { renderPage } from './layout.ts'
import { translatorFor } from './translator.ts'

export function landingPage(app: PaymentsApp, styleNonce: string): PageResponse {
  const isTest = app.settings.mode === 'test'
  return {
    http: 200,
    html: renderPage({
      title: 'Cowry: payment collection service',
      // English only: it is for developers and operators, and the documentation is in English.
      translator: translatorFor('en', null),
      styleNonce,
      isTest,
      palette: paletteOf(null),
      merchant: null,
      languageLinks: null,
      hasScript: false,
      body: html`<div class="columns"><section class="summary"><h1 class="big">One API for payments across Africa and beyond</h1>
<p>Cowry takes each payment to the gateway that serves its currency and country, shows the payer a checkout that works on
every phone, and keeps customers, saved methods and a wallet.</p>
<a class="button" href="/docs">Read the API reference</a></section>
<section class="sheet"><h2>Start here</h2>
<pre><code>${exampleFor(app.settings.publicUrl())}</code></pre>
<p>The response has a <code>checkoutUrl</code>: open it and pay.</p>
${
  isTest &&
  html`<p class="dim">This is a staging environment: a sandbox gateway takes the payments. The first start printed a demo key; it also
stands in the file <code>demo-key</code> of the data folder.</p>`
}
<ul class="links"><li><a href="/docs">API reference</a></li><li><a href="/openapi.json">OpenAPI document</a></li>
<li><a href="/docs/errors">Error codes</a></li><li><a href="/healthz">Health</a></li><li><a href="/readyz">Readiness</a></li></ul></section></div>`,
    }),
  }
}

function exampleFor(publicUrl: string): string {
  return `curl ${publicUrl}/api/v1/checkout/initiate-payment \\
  -H 'x-api-key: YOUR_KEY' \\
  -H 'content-type: application/json' \\
  -d '{"amount": 1250.5, "currency": "KES",
       "reference": "order-1042",
       "customer": {"email": "amina@example.com",
         "firstname": "Amina", "lastname": "Odhiambo"}}'`
}
