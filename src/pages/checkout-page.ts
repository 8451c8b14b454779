// The payer's page as a pure function of the server's state, so that a reload, the back button and a second tab show the
// right screen.

import { FAILURES } from '../core/failures.ts'
import { formatAmount, type Money, money } from '../core/money.ts'
import type { Channel, Instrument, NextStep } from '../gateways/gateway.ts'
import { type Html, html } from '../kit/html.ts'
import type { AttemptRow, PaymentRow } from '../payments/service.ts'

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

/** "KES 1,250.00": the code, not a symbol that three countries share. */
export function displayAmount(amount: Money): string {
  const decimals = amount.currency
  const text = formatAmount(amount)
  // A boundary: formatAmount writes exactly the decimal text that Intl takes without going through a float.
  const number = new Intl.NumberFormat('en', {
    style: 'currency',
    currency: decimals,
    currencyDisplay: 'code',
  })
  return number.format(text as `${number}`).replaceAll('\u00a0', ' ')
}

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
  const declined = attempt?.failureCode ? `${FAILURES[attempt.failureCode].message} You can try again.` : null
  return {
    title: `Pay ${amount} to ${merchantName}`,
    body: html`<section class="sheet">
<h1>Pay ${amount} to ${merchantName}</h1>
${declined !== null && html`<p class="problem" role="alert">${declined}</p>`}
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

function waitingScreen(facts: CheckoutFacts): Screen {
  const { payment, attempt, path } = facts
  if (payment.statusReason === 'amount_mismatch') return mismatchScreen(facts)
  const step = attempt?.nextStep ?? null
  return {
    title: 'Waiting for your payment',
    // Those without JavaScript come back by themselves; with it the script asks more often and more quietly.
    head: html`<noscript><meta http-equiv="refresh" content="10"></noscript><script src="/assets/checkout.js" defer></script>`,
    body: html`<section class="sheet" data-status="${path}/status" data-version="${payment.version}">
${stepDetails(step, payment)}
<p class="dim" role="status">We are waiting for the result. This page shows it by itself.</p>
<form method="post" action="${path}/check"><button${step?.kind === 'redirect' && html` class="plain"`}>Check status now</button></form>
<form method="post" action="${path}/other"><button class="plain">Pay another way</button></form>
<form method="post" action="${path}/cancel"><button class="plain">Cancel and return</button></form>
</section>`,
  }
}

function stepDetails(step: NextStep | null, payment: PaymentRow): Html {
  const amount = amountOf(payment)
  if (step === null) {
    return html`<h1>One moment</h1>
<p>We do not know yet whether this payment went through. Please wait; do not pay again.</p>`
  }
  if (step.kind === 'redirect') {
    return html`<h1>Continue on the payment page</h1>
<p>Your payment of ${amount} is not finished yet.</p>
<a class="button" href="${step.url}">Continue to the payment page</a>`
  }
  if (step.kind === 'prompt') {
    return html`<h1>Check your phone</h1>
<p>Open the request from ${step.network} on ${step.phone}, enter your PIN there, and wait here. Never share your PIN.</p>`
  }
  return html`<h1>Send exactly ${amount}</h1>
<dl><dt>Bank</dt><dd>${step.bankName}</dd><dt>Account number</dt><dd>${step.accountNumber}</dd>
<dt>Account name</dt><dd>${step.accountName}</dd><dt>Reference</dt><dd>${step.narration}</dd></dl>`
}

function mismatchScreen(facts: CheckoutFacts): Screen {
  const { payment, attempt } = facts
  const received =
    attempt?.paidMinor == null ? null : displayAmount(money(attempt.paidMinor, payment.currency))
  const words = received
    ? `We received ${received} of ${amountOf(payment)}. The merchant has been told and will contact you.`
    : 'We received a different amount. The merchant has been told and will contact you.'
  return endScreen(facts, 'We received a different amount', words)
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
  const words = payment.failureCode === null ? '' : FAILURES[payment.failureCode].message
  return `${words} You have not been charged.`
}

function amountOf(payment: PaymentRow): string {
  return displayAmount(money(payment.amountMinor, payment.currency))
}
