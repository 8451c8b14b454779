// The landing page: what this service is, a test payment in staging, and links to the documentation.

import { paletteOf } from '../../kit/http/accent.ts'
import { type Html, html } from '../../kit/http/html.ts'
import { TEST_AMOUNT } from '../../sandbox-api/test-payment.ts'
import { renderPage } from '../layout.ts'
import { type Translator, translatorFor } from '../translator.ts'
import { copyableCode } from './copyable-code.ts'

/** English only: the page is for developers and operators, and the documentation is in English. */
export const ENGLISH: Translator = translatorFor('en', null)

/** The path of the form, and of the pages of test payments. */
export const TEST_PAYMENTS = '/test-payments'

interface TestPaymentForm {
  /** Must equal the visitor's cookie. */
  visitor: string
  /** Identifies the payment: submitting the form twice makes one payment. */
  token: string
  /** The form was submitted without the cookie. */
  isRejected: boolean
}

interface Landing {
  publicUrl: string
  styleNonce: string
  /** Null in production. */
  form: TestPaymentForm | null
}

/** Stand for what differs between two responses. No other text of the page contains them. */
const HOLES = { styleNonce: 'hole-nonce', visitor: 'hole-visitor', token: 'hole-token' }

/** Renders the page once for each of its forms: only nonce, visitor and token differ between responses. */
export function createLandingPage(): (landing: Landing) => string {
  const rendered = new Map<string, string[]>()
  return ({ publicUrl, styleNonce, form }) => {
    const key = `${form ? form.isRejected : 'none'} ${publicUrl}`
    const pieces = rendered.get(key) ?? splitAtHoles(publicUrl, form)
    rendered.set(key, pieces)
    const values = new Map([
      [HOLES.styleNonce, styleNonce],
      [HOLES.visitor, form?.visitor ?? ''],
      [HOLES.token, form?.token ?? ''],
    ])
    return pieces.map((piece) => values.get(piece) ?? piece).join('')
  }
}

/** The pieces between the holes, and the holes themselves. */
function splitAtHoles(publicUrl: string, form: TestPaymentForm | null): string[] {
  const { styleNonce, visitor, token } = HOLES
  const text = renderLanding({ publicUrl, styleNonce, form: form && { ...form, visitor, token } })
  return text.split(new RegExp(`(${Object.values(HOLES).join('|')})`))
}

function renderLanding({ publicUrl, styleNonce, form }: Landing): string {
  return renderPage({
    title: 'Cowry: payment collection service',
    translator: ENGLISH,
    styleNonce,
    isTest: form !== null,
    palette: paletteOf(null),
    merchant: null,
    languageLinks: null,
    hasScript: true,
    body: html`<div class="columns"><section class="summary"><h1 class="big">One API for payments across Africa and beyond</h1>
<p>Cowry takes each payment to the gateway that serves its currency and country, shows the payer a checkout that works on
every phone, and keeps customers, saved methods and a wallet.</p>
<a class="button ${form && 'plain'}" href="/docs/quickstart">Read the quickstart</a></section>
<section class="sheet">${form && testPaymentForm(form)}
<div${form && html` class="other"`}><h2>Start a payment with the API</h2>
${copyableCode(exampleFor(publicUrl))}
<p>The response has a <code>checkoutUrl</code>: open it and pay.</p>
${
  form &&
  html`<p class="dim">The first start printed a demo key for <code>YOUR_KEY</code>; it also stands in the file
<code>demo-key</code> of the data folder.</p>`
}
<ul class="links"><li><a href="/docs">Documentation</a></li><li><a href="/docs/api">API reference</a></li><li><a href="/openapi.json">OpenAPI document</a></li>
<li><a href="/docs/errors">Error codes</a></li><li><a href="/healthz">Health</a></li><li><a href="/readyz">Readiness</a></li></ul></div></section></div>`,
  })
}

function testPaymentForm({ visitor, token, isRejected }: TestPaymentForm): Html {
  return html`<h2>Try it now</h2>
${
  isRejected &&
  html`<div class="notice wrong" role="alert"><p>Your browser did not send the cookie of this page, so no payment was
started. Please press again; if this text returns, allow cookies for this site.</p></div>`
}
<p>This is a staging environment: a sandbox takes the payments and no money moves. Pay a test payment of
${ENGLISH.amount(TEST_AMOUNT)}, and see the events that your server would receive.</p>
<form method="post" action="${TEST_PAYMENTS}"><input type="hidden" name="visitor" value="${visitor}"><input type="hidden" name="token" value="${token}">
<button name="pay" value="card">Pay a test payment</button>
<button class="plain" name="pay" value="checkout">Choose how to pay it</button></form>`
}

function exampleFor(publicUrl: string): string {
  return `curl ${publicUrl}/api/v1/checkout/initiate-payment \\
  -H 'x-api-key: YOUR_KEY' \\
  -H 'content-type: application/json' \\
  -d '{
    "amount": 1250.5, "currency": "KES",
    "reference": "order-1042",
    "customer": {
      "email": "amina@example.com",
      "firstname": "Amina",
      "lastname": "Odhiambo"
    }
  }'`
}
