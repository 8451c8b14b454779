// The payer's page as a pure function of the server's state, so that a reload, the back button and a second tab show the
// right screen.

import { isCurrency } from '../core/currency.ts'
import { formatAmount, type Money, money } from '../core/money.ts'
import type { Channel, Instrument, NextStep } from '../gateways/gateway.ts'
import { type Html, html } from '../kit/html.ts'
import type { AttemptRow, PaymentRow } from '../payments/service.ts'
import { FAILURE_WORDS } from './failure-words.ts'

export interface Screen {
  title: string
  head?: Html
  body: Html
}

export interface CheckoutFacts {
  payment: PaymentRow
  attempt: AttemptRow | undefined
  merchantName: string
  channels: readonly Channel[]
  instruments: readonly Instrument[]
  /** The payer's own address, without a slash at the end. */
  path: string
  /** Where the merchant wants the payer back, with reference and status; null without redirectUrl. */
  returnUrl: string | null
}

/** "KES 1,250.00": the code, not a symbol that three countries share, and no line break after it. */
export function displayAmount(amount: Money): string {
  const { currency } = amount
  const number = new Intl.NumberFormat('en', { style: 'currency', currency, currencyDisplay: 'code' })
  // A boundary: formatAmount writes exactly the decimal text that Intl takes without going through a float.
  return number.format(formatAmount(amount) as `${number}`)
}

/** Comfort only: it asks for the result by itself and sends a form once. */
const SCRIPT = html`<script src="/assets/checkout.js" defer></script>`

export function checkoutScreen(facts: CheckoutFacts): Screen {
  switch (facts.payment.status) {
    case 'pending':
      return openScreen(facts)
    case 'processing':
      return waitingScreen(facts)
    case 'failed':
      return endScreen(facts, 'Payment did not go through', failureWords(facts))
    case 'abandoned':
      return endScreen(facts, 'Payment cancelled', 'You cancelled this payment.')
    case 'expired':
      return endScreen(
        facts,
        'This payment has expired',
        'If you already sent money, it will be matched or returned. Please ask the merchant before you pay again.',
      )
    default:
      return paidScreen(facts)
  }
}

function openScreen(facts: CheckoutFacts): Screen {
  const { payment, merchantName, path, attempt } = facts
  const amount = amountOf(payment)
  const declined = attempt?.failureCode ? FAILURE_WORDS[attempt.failureCode] : null
  return {
    title: `Pay ${amount} to ${merchantName}`,
    head: SCRIPT,
    body: html`<section class="sheet">
<h1>Pay ${amount} to ${merchantName}</h1>
${declined !== null && html`<p class="problem" role="alert">${declined.happened} ${declined.advice}</p>`}
${summary(facts)}
<form method="post" action="${path}/attempts">
<fieldset><legend>How would you like to pay?</legend>${choices(facts)}</fieldset>
<button>Pay ${amount}</button>
</form>
<form method="post" action="${path}/cancel"><button class="plain">Cancel and return</button></form>
</section>`,
  }
}

const CHANNEL_NAMES: Record<Channel, string> = {
  card: 'Card',
  mobile_money: 'Mobile money',
  bank_transfer: 'Bank transfer',
}

/** Cards are chosen on the gateway's own page; for the others a sandbox offers its test instruments here. */
function choices({ channels, instruments }: CheckoutFacts): Html[] {
  const options = channels.flatMap((channel) => {
    const offered = channel === 'card' ? [] : instruments.filter((one) => one.channel === channel)
    if (offered.length === 0) return [{ value: channel, label: CHANNEL_NAMES[channel] }]
    return offered.map(({ name, label }) => ({ value: `${channel}:${name}`, label }))
  })
  return options.map(
    ({ value, label }, index) =>
      html`<label><input type="radio" name="choice" value="${value}" required${index === 0 && html` checked`}>${label}</label>`,
  )
}

/**
 * Changes whenever a waiting screen would look different: the payment may stay where it is while its attempt gets a next
 * step or turns out to be underpaid.
 */
export function shownState({ payment, attempt }: Pick<CheckoutFacts, 'payment' | 'attempt'>): string {
  return [payment.version, payment.statusReason ?? '', attempt?.status ?? ''].join('.')
}

function waitingScreen(facts: CheckoutFacts): Screen {
  const { payment, attempt, path } = facts
  if (payment.statusReason === 'amount_mismatch') return mismatchScreen(facts)
  const step = attempt?.nextStep ?? null
  return {
    title: 'Waiting for your payment',
    // Those without JavaScript come back by themselves; with it the script asks more often and more quietly.
    head: html`<noscript><meta http-equiv="refresh" content="10"></noscript>${SCRIPT}`,
    body: html`<section class="sheet" data-status="${path}/status" data-shown="${shownState(facts)}">
${stepDetails(step, facts)}
<p class="dim" role="status">We are waiting for the result. This page shows it by itself.</p>
<form method="post" action="${path}/check"><button${step?.kind === 'redirect' && html` class="plain"`}>Check status now</button></form>
<form method="post" action="${path}/other"><button class="plain">Pay another way</button></form>
<form method="post" action="${path}/cancel"><button class="plain">Cancel and return</button></form>
</section>`,
  }
}

function stepDetails(step: NextStep | null, facts: CheckoutFacts): Html {
  const amount = amountOf(facts.payment)
  if (step === null) {
    return html`<h1>One moment</h1>
<p>We do not know yet whether your payment of ${amount} went through. Please wait; do not pay again.</p>`
  }
  if (step.kind === 'redirect') {
    return html`<h1>Continue on the payment page</h1>
<p>Your payment of ${amount} to ${facts.merchantName} is not finished yet.</p>
<a class="button" href="${step.url}">Continue to the payment page</a>`
  }
  if (step.kind === 'prompt') {
    return html`<h1>Check your phone</h1>
<p>Open the request from ${step.network} on ${step.phone}, enter your PIN there, and wait here. Never share your PIN.</p>
<dl><dt>Amount</dt><dd>${amount}</dd><dt>To</dt><dd>${facts.merchantName}</dd></dl>`
  }
  return html`<h1>Send exactly ${amount}</h1>
<dl><dt>Bank</dt><dd>${step.bankName}</dd><dt>Account number</dt><dd>${step.accountNumber}</dd>
<dt>Account name</dt><dd>${step.accountName}</dd><dt>Reference</dt><dd>${step.narration}</dd></dl>`
}

function mismatchScreen(facts: CheckoutFacts): Screen {
  const { payment, attempt, merchantName } = facts
  const { paidMinor, paidCurrency } = attempt ?? {}
  const isReadable = paidMinor != null && isCurrency(paidCurrency)
  const what = isReadable
    ? `It was ${displayAmount(money(paidMinor, paidCurrency))} of ${amountOf(payment)}.`
    : 'The amount was not the one asked for.'
  return endScreen(
    facts,
    'We received a different amount',
    `${what} Please ask ${merchantName} what to do; do not pay again.`,
  )
}

function paidScreen(facts: CheckoutFacts): Screen {
  const { payment, merchantName, returnUrl } = facts
  const when = payment.paidAt?.toISOString().slice(0, 16).replace('T', ' ')
  return {
    title: 'Paid',
    head: returnUrl === null ? undefined : html`<meta http-equiv="refresh" content="5;url=${returnUrl}">`,
    body: html`<section class="sheet">
<h1>Paid</h1>
<dl><dt>Amount</dt><dd>${amountOf(payment)}</dd><dt>To</dt><dd>${merchantName}</dd>
<dt>Reference</dt><dd>${payment.reference}</dd><dt>Receipt</dt><dd>${payment.id}</dd>
${when && html`<dt>Time</dt><dd>${when} UTC</dd>`}</dl>
${returnLink(facts)}
</section>`,
  }
}

function endScreen(facts: CheckoutFacts, title: string, words: string): Screen {
  return {
    title,
    body: html`<section class="sheet"><h1>${title}</h1><p>${words}</p>${summary(facts)}${returnLink(facts)}</section>`,
  }
}

/** For the moment between our page and the gateway's: a form may not lead to another origin, a link may. */
export function continueScreen(url: string): Screen {
  return {
    title: 'Continue on the payment page',
    head: html`<meta http-equiv="refresh" content="0;url=${url}">`,
    body: html`<section class="sheet"><h1>Continue on the payment page</h1>
<a class="button" href="${url}">Continue to the payment page</a></section>`,
  }
}

function summary({ payment }: CheckoutFacts): Html {
  return html`<dl>${payment.description !== null && html`<dt>For</dt><dd>${payment.description}</dd>`}
<dt>Reference</dt><dd>${payment.reference}</dd></dl>`
}

function returnLink({ returnUrl, merchantName }: CheckoutFacts): Html | null {
  return returnUrl === null ? null : html`<a class="button" href="${returnUrl}">Return to ${merchantName}</a>`
}

function failureWords({ payment }: CheckoutFacts): string {
  const { happened } = FAILURE_WORDS[payment.failureCode ?? 'unknown']
  return `${happened} You have not been charged.`
}

function amountOf(payment: PaymentRow): string {
  return displayAmount(money(payment.amountMinor, payment.currency))
}
