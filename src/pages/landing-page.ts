import { html } from '../kit/html.ts'
import type { PaymentsApp } from '../payments/service.ts'
import type { Screen } from './checkout-page.ts'

/** For whoever opens the address in a browser: what this is, and where to go on. */
export function landingScreen(app: PaymentsApp): Screen {
  const isTest = app.settings.mode === 'test'
  return {
    title: 'Cowry',
    body: html`<section class="sheet">
<h1>Cowry collects payments</h1>
<p>One JSON API for merchants: hosted checkout, saved methods that can be charged again, customers and a wallet, over
the gateway that serves each currency and country.</p>
<p><a class="button" href="/docs">Read the API reference</a></p>
<p class="dim"><a href="/openapi.json">OpenAPI document</a> · <a href="/docs/errors">Error codes</a> ·
<a href="/healthz">Health</a> · <a href="/readyz">Readiness</a></p>
${isTest && html`<p class="dim">This is a staging environment. The first start printed a demo key and a curl to try.</p>`}
</section>`,
  }
}
