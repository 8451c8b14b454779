// The provider's hosted pages as HTML. They take no card number: the payer chooses a test instrument.

import { formatAmount, money } from '../../../core/money.ts'
import { type Html, html, trustedHtml } from '../../../kit/http/html.ts'
import { DEFAULT_INSTRUMENTS, factsOf, INSTRUMENT_NAMES, type InstrumentName } from '../instruments.ts'
import { STYLE, STYLE_HASH } from './page-style.ts'
import type { SandboxRecord } from './record.ts'
import type { Reply } from './router.ts'

/** A page with a form: where the form is sent, and whether the last submission was invalid. */
export interface FormPage {
  action: string
  hasError: boolean
}

export const CARD_NAMES = INSTRUMENT_NAMES.filter((name) => factsOf(name).channel === 'card')

export function payPage(record: SandboxRecord, { action, hasError }: FormPage): Reply {
  const { merchantName, description } = record.checkout ?? {}
  const amount = amountOf(record)
  // After an error nothing is preselected, so that the payer sees what to choose.
  const chosen = hasError ? null : (record.instrument ?? DEFAULT_INSTRUMENTS.card)
  return renderFormPage(record, {
    title: `Pay ${amount} to ${merchantName}`,
    hasError,
    layout: 'split',
    main: html`<section class="summary">
<h1>Pay ${merchantName}</h1>
<p class="amount${amount.length > LONG_AMOUNT && ' long'}">${amount}</p>
${description && html`<p class="for">${description}</p>`}
</section>
<section class="choose">
<form method="post" action="${action}">
${hasError && errorMessage('Choose a card, then press Pay.')}
<fieldset aria-describedby="hint"><legend>Choose a test card</legend>
<p class="hint" id="hint">Test cards only. No card number is needed.</p>
${CARD_NAMES.map((name) => choice(name, name === chosen))}
</fieldset>
<div class="pay"><button name="action" value="pay">Pay ${amount}</button></div>
<button class="quiet" name="action" value="cancel" formnovalidate>Cancel and return</button>
</form>
</section>`,
  })
}

// "KES 999,999.99" is the longest amount that fits a phone of 320 px in large type.
const LONG_AMOUNT = 14

/** The label in two lines; its text stays the accessible name. */
function choice(name: InstrumentName, isChosen: boolean): Html {
  const { label, ending } = factsOf(name)
  const [card, does] = linesOf(label)
  return html`<label class="card${'declines' in ending && ' refused'}"><input type="radio" name="instrument" value="${name}" aria-label="${label}" required${
    isChosen && trustedHtml(' checked')
  }><span class="glyph"></span><span><strong>${card}</strong><span class="does">${does}</span></span></label>
`
}

function linesOf(label: string): [card: string, does: string] {
  const [card = '', ...does] = label.split(': ')
  return [card, does.join(': ')]
}

/** The bank's approval step, like 3-D Secure: a whole page, never a frame. */
export function approvalPage(record: SandboxRecord, { action, hasError }: FormPage): Reply {
  const [card] = linesOf(record.instrument ? factsOf(record.instrument).label : '')
  return renderFormPage(record, {
    title: "Your bank is checking it's you",
    hasError,
    main: html`<section class="sheet issuer">
<p class="bank">Sandbox Bank <span>Identity check</span></p>
${hasError && errorMessage('Choose Approve or Refuse.')}
<h1>Your bank is checking it's you</h1>
<p>Your bank asks whether it is you who pays.</p>
<dl>
<dt>Merchant</dt><dd>${record.checkout?.merchantName}</dd>
<dt>Amount</dt><dd>${amountOf(record)}</dd>
<dt>Card</dt><dd>${card}</dd>
</dl>
<p class="note">Approve only what you are buying yourself. If you refuse, nothing is paid.</p>
<form method="post" action="${action}">
<button name="action" value="approve">Approve</button>
<button class="quiet" name="action" value="refuse">Refuse</button>
</form>
</section>`,
  })
}

/** For a payer who arrives after the payment has expired. */
export function expiredPage(record: SandboxRecord): Reply {
  const { merchantName, returnUrl } = record.checkout ?? {}
  return htmlReply(410, {
    title: 'This session is over',
    main: html`<section class="sheet">
<h1>This session is over</h1>
<p>The time to pay ${amountOf(record)} to ${merchantName} has passed. You have not been charged.</p>
<a class="button" href="${returnUrl}">Return and see what to do</a>
</section>`,
  })
}

export function notFoundPage(): Reply {
  return htmlReply(404, {
    title: "We can't find this payment",
    main: html`<section class="sheet">
<h1>We can't find this payment</h1>
<p>Check that the whole link was opened, or go back to the shop and start the payment again there.</p>
</section>`,
  })
}

/** Takes the focus, so that a screen reader reads it first; the page has no script that could move the focus. */
function errorMessage(message: string): Html {
  return html`<p class="problem" role="alert" tabindex="-1" autofocus>${message}</p>`
}

/** "KES 1,250.50": the code, not a symbol that three countries share, with a no-break space. */
function amountOf({ amount, currency }: SandboxRecord): string {
  const number = new Intl.NumberFormat('en', { style: 'currency', currency, currencyDisplay: 'code' })
  // A boundary: formatAmount returns the decimal text that Intl formats without a float.
  return number.format(formatAmount(money(BigInt(amount), currency)) as `${number}`)
}

interface Document {
  title: string
  main: Html
  layout?: 'split'
  /** Where its forms may be sent; absent: it has no form. */
  formAction?: string
}

function renderFormPage(record: SandboxRecord, document: Document & { hasError: boolean }): Reply {
  const title = document.hasError ? `Problem: ${document.title}` : document.title
  // Browsers also apply this list to the redirects after a form, so it must contain the return URL.
  const returnOrigin = record.checkout ? new URL(record.checkout.returnUrl).origin : ''
  return htmlReply(200, { ...document, title, formAction: `'self' ${returnOrigin}`.trim() })
}

function htmlReply(http: number, { title, main, layout, formAction = "'none'" }: Document): Reply {
  const document = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="theme-color" content="#ffc53d">
<link rel="icon" href="data:,">
<title>${title} · Sandbox Pay</title>
<style>${trustedHtml(STYLE)}</style>
</head>
<body class="${layout}">
<header>
<p class="bar">Test mode: no real money moves</p>
<p class="brand">Sandbox Pay</p>
</header>
<main>${main}</main>
<footer><p>Sandbox Pay plays a payment provider for tests. It takes no card numbers and moves no money.</p></footer>
</body>
</html>
`
  return { kind: 'text', http, type: 'text/html', text: String(document), headers: pageHeaders(formAction) }
}

function pageHeaders(formAction: string): Record<string, string> {
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${STYLE_HASH}'`,
    'img-src data:',
    `form-action ${formAction}`,
    "base-uri 'none'",
    "object-src 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ]
  return {
    'content-security-policy': policy.join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy':
      'accelerometer=(), camera=(), geolocation=(), gyroscope=(), microphone=(), payment=(), usb=()',
  }
}
