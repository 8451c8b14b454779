// The page of a visitor's test payment: its state, and its events as webhook endpoints receive them. The script reloads it
// when there is something new.

import { money } from '../../core/money.ts'
import type { EventRow } from '../../events/event.ts'
import { paletteOf } from '../../kit/http/accent.ts'
import { type Html, html } from '../../kit/http/html.ts'
import { isOpen, type PaymentStatus } from '../../payments/states.ts'
import type { TestPayment } from '../../sandbox-api/test-payment.ts'
import { factList, ltr, statusIcon } from '../checkout/components.ts'
import { renderPage } from '../layout.ts'
import { ENGLISH } from './page.ts'

interface TestPaymentView extends TestPayment {
  styleNonce: string
  path: string
  /** Null once the payment has ended. */
  checkoutPath: string | null
}

/** Differs from that of the page in the browser if there is something new to show. */
export function fingerprintOf({ payment, events }: TestPayment): string {
  return `${payment.status}.${events.length}`
}

const TEXTS: Readonly<Partial<Record<PaymentStatus, readonly [title: string, text: string]>>> = {
  pending: [
    'The test payment is not paid yet',
    'Its checkout page is open. Pay there, and the events appear here.',
  ],
  processing: [
    'The test payment is in progress',
    'The sandbox has it. This page shows the outcome when it arrives.',
  ],
  successful: [
    'The test payment is paid',
    'The sandbox has confirmed it. In production your customer would have paid now.',
  ],
}

function textsOf(status: PaymentStatus): readonly [title: string, text: string] {
  const name = status.replaceAll('_', ' ')
  return TEXTS[status] ?? [`The test payment is ${name}`, 'The last event says why.']
}

export function testPaymentPage(view: TestPaymentView): string {
  const { payment, events, styleNonce, path, checkoutPath } = view
  const [title, text] = textsOf(payment.status)
  return renderPage({
    title,
    translator: ENGLISH,
    styleNonce,
    isTest: true,
    palette: paletteOf(null),
    merchant: null,
    languageLinks: null,
    hasScript: true,
    // Browsers without JavaScript reload; the script polls without a reload.
    head: isOpen(payment.status)
      ? html`<noscript><meta http-equiv="refresh" content="10"></noscript>`
      : html``,
    body: html`<div class="columns" data-status="${path}/status" data-shown="${fingerprintOf(view)}">
<section class="summary">${statusIcon(iconOf(payment.status))}<h1 class="big">${title}</h1>
<p>${text}</p>
${factList([
  ['Amount', ENGLISH.amount(money(payment.amountMinor, payment.currency))],
  ['Status', html`<code>${payment.status}</code>`],
  ['Reference', ltr(payment.reference)],
])}
${checkoutPath !== null && html`<a class="button" href="${checkoutPath}">Open the checkout page</a>`}
<a class="button plain" href="/">Pay another test payment</a></section>
<section class="sheet"><h2>Events</h2>
<p>Each change of the payment is an event. Cowry sends it to your webhook endpoints, with this body and a signature.</p>
${events.map((event, index) => eventDetails(event, index === events.length - 1))}
<div class="other"><h2>Start a payment of your own</h2>
<p>This payment belongs to the test shop of this page: no API key lists it. The quickstart starts one with your key, and receives
its events in your own program.</p>
<ul class="links"><li><a href="/docs/quickstart">Quickstart</a></li><li><a href="/docs/webhooks">Webhooks</a></li><li><a href="/docs/api">API reference</a></li></ul></div></section></div>`,
  })
}

function iconOf(status: PaymentStatus): 'paid' | 'waiting' | 'attention' {
  if (status === 'successful') return 'paid'
  return isOpen(status) ? 'waiting' : 'attention'
}

function eventDetails({ createdAt, body }: EventRow, isLast: boolean): Html {
  return html`<details${isLast && html` open`}><summary><code>${String(body.type)}</code> <small class="dim">${clockTime(createdAt)}</small></summary>
<pre tabindex="0"><code>${bodyText(body)}</code></pre></details>`
}

/** The database keeps no order of fields: here they have that of the documentation. Lists of codes take one line. */
function bodyText({ id, type, apiVersion, mode, createdAt, resource, ...rest }: EventRow['body']): string {
  const text = JSON.stringify({ id, type, apiVersion, mode, createdAt, resource, ...rest }, null, 2)
  return text.replaceAll(/\[\s+(?:"\w+",?\s+)+\]/g, (list) => list.replaceAll(/\s+/g, ' '))
}

/** To the second, in UTC as in the event itself. */
function clockTime(at: Date): string {
  return `${at.toISOString().slice(11, 19)} UTC`
}
