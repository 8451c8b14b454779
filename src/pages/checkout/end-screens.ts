// The final screens of a checkout: paid or not paid, and the receipt.

import { isCurrency } from '../../core/currency.ts'
import { money } from '../../core/money.ts'
import { findNetwork } from '../../core/networks.ts'
import { receiptCodeOf } from '../../core/text/receipt-code.ts'
import { type Html, html } from '../../kit/http/html.ts'
import { maskPhone } from '../../kit/phone.ts'
import { differenceOf } from '../../p2p/transfer.ts'

import {
  amountOf,
  CHANNEL_MESSAGES,
  cancelForm,
  factList,
  ltr,
  postButton,
  returnLink,
  type Screen,
  statusIcon,
} from './components.ts'
import { declineText } from './decline-messages.ts'
import { type CheckoutFacts, mayHaveSentMoney, screenFingerprint, screenOf } from './facts.ts'

const RETURN_SECONDS = 5

export function paidScreen(facts: CheckoutFacts): Screen {
  const { translator } = facts
  const { title, text } = paidMessage(facts)
  return {
    title,
    head: autoReturnHead(facts),
    body: html`${statusIcon(reversalText(facts) === null ? 'paid' : 'attention')}<h1>${title}</h1>${returnNotice(facts)}<p>${text}</p>
${excessNotice(facts)}${receiptFacts(facts)}
${returnLink(facts)}
<p class="foot"><a href="${facts.path}/receipt">${translator.t('showReceipt')}</a></p>`,
  }
}

/** For an overpayment to the merchant: no provider refunds it automatically. */
function excessNotice({ translator, transfer, payment, merchant }: CheckoutFacts): Html | null {
  const { excessMinor } = transfer ? differenceOf(transfer, payment.gateway) : { excessMinor: 0n }
  if (!transfer || excessMinor === 0n) return null
  const excess = translator.amount(money(excessMinor, transfer.currency))
  return html`<p class="notice">${translator.t('directExcessText', { excess, merchant: merchant.name })}</p>`
}

function paidMessage(facts: CheckoutFacts): { title: string; text: string } {
  const { translator, payment, merchant } = facts
  const values = { amount: amountOf(facts), merchant: merchant.name }
  const reversal = reversalText(facts)
  if (reversal !== null) return { title: reversal, text: translator.t('paidText', values) }
  switch (screenOf(facts)) {
    case 'paid_late':
      return { title: translator.t('paidLateTitle'), text: translator.t('paidLateText', values) }
    case 'already_paid':
      return {
        title: translator.t('alreadyPaidTitle', {
          time: payment.paidAt ? translator.time(payment.paidAt) : '',
        }),
        text: translator.t('alreadyPaidText'),
      }
    default:
      return { title: translator.t('paidTitle'), text: translator.t('paidText', values) }
  }
}

/** Changes to the money after the payment, such as refunds. */
function reversalText({ payment, translator }: CheckoutFacts): string | null {
  switch (payment.status) {
    case 'refunded':
      return translator.t('refundedText')
    case 'partially_refunded': {
      const amount = translator.amount(money(payment.refundedMinor, payment.currency))
      return translator.t('partlyRefundedText', { amount })
    }
    case 'disputed':
      return translator.t('disputedText')
    case 'reversed':
      return translator.t('reversedText')
    default:
      return null
  }
}

/** Redirects once after a pause: with JavaScript by the script, without it by the head. */
function autoReturnHead(facts: CheckoutFacts): Html | undefined {
  if (!returnsAutomatically(facts)) return undefined
  return html`<noscript><meta http-equiv="refresh" content="${RETURN_SECONDS};url=${facts.returnUrl}"></noscript>`
}

export function returnsAutomatically(facts: CheckoutFacts): boolean {
  return facts.returnUrl !== null && facts.autoReturns && screenOf(facts) === 'paid'
}

function returnNotice(facts: CheckoutFacts): Html | null {
  if (!returnsAutomatically(facts)) return null
  const { translator, merchant, path, returnUrl } = facts
  return html`<p class="notice" role="status" data-return="${returnUrl}" data-after="${RETURN_SECONDS}">${translator.t('returnSoon', { merchant: merchant.name, seconds: RETURN_SECONDS })}
<a href="${path}/receipt">${translator.t('stay')}</a></p>`
}

/** The receipt, at a permanent address. */
export function receiptScreen(facts: CheckoutFacts): Screen {
  const { translator, path } = facts
  const title = translator.t('receipt')
  return {
    title,
    body: html`<h1>${title}</h1>
${receiptFacts(facts)}
<div class="screen-only"><button type="button" class="plain" hidden data-print>${translator.t('print')}</button>${returnLink(facts)}
<p class="foot"><a href="${path}">${translator.t('backToPayment')}</a></p></div>`,
  }
}

function receiptFacts(facts: CheckoutFacts): Html {
  const { translator, payment, merchant } = facts
  return factList([
    [translator.t('amount'), amountOf(facts)],
    [translator.t('paidTo'), merchant.name],
    [translator.t('paymentFor'), payment.description],
    [translator.t('method'), methodOf(facts)],
    [translator.t('time'), payment.paidAt && translator.timeWithZone(payment.paidAt)],
    [translator.t('reference'), ltr(payment.reference)],
    [translator.t('receiptNumber'), ltr(receiptCodeOf(payment.id))],
    [translator.t('providerCode'), providerCodeOf(facts)],
    [translator.t('status'), statusText(facts)],
  ])
}

function statusText(facts: CheckoutFacts): string {
  const text = reversalText(facts) ?? facts.translator.t('paidTitle')
  return facts.isTest ? `${text} · ${facts.translator.t('testMode')}` : text
}

/** The code that the payer finds in the provider's message, or its own reference, because its support asks for it. */
function providerCodeOf({ attempts }: CheckoutFacts): Html | null {
  const paid = attempts.find(({ status }) => status === 'succeeded')
  const code = paid?.receiptNumber ?? paid?.gatewayReference ?? null
  return code === null ? null : ltr(code)
}

function methodOf({ attempts, methodLabel, translator, merchant }: CheckoutFacts): Html | string | null {
  if (methodLabel !== null) return ltr(methodLabel)
  const paid = attempts.find(({ status }) => status === 'succeeded')
  if (!paid?.choice) return null
  const { phone, network, channel } = paid.choice
  const wallet = findNetwork(network ?? '')?.name
  const name = wallet ?? translator.t(CHANNEL_MESSAGES[channel].name, { merchant: merchant.name })
  if (phone === undefined) return name
  return html`${name} ${ltr(maskPhone(phone))}`
}

export function failedScreen(facts: CheckoutFacts): Screen {
  const { translator, payment, merchant } = facts
  const title = translator.t('failedTitle')
  return endScreen(facts, 'stopped', title, [
    directOutcomeText(facts) ?? declineText(facts, payment.failureCode ?? 'unknown'),
    translator.t('failedText', { merchant: merchant.name }),
  ])
}

/** The merchant cancelled the payment, and the payer may have sent the money anyway. */
function directOutcomeText({ transfer, translator, merchant }: CheckoutFacts): string | null {
  switch (transfer?.status) {
    case 'rejected':
      return translator.t('directRejectedText', { merchant: merchant.name, reference: transfer.narration })
    case 'cancelled':
      return translator.t('ifSentMoney', { merchant: merchant.name })
    default:
      return null
  }
}

export function expiredScreen(facts: CheckoutFacts): Screen {
  const { translator, merchant } = facts
  return endScreen(facts, 'stopped', translator.t('expiredTitle'), [
    chargeText(facts),
    translator.t('expiredText', { merchant: merchant.name }),
  ])
}

export function cancelledScreen(facts: CheckoutFacts): Screen {
  const { translator, merchant } = facts
  return endScreen(facts, 'stopped', translator.t('cancelledTitle'), [
    chargeText(facts),
    translator.t('cancelledText', { merchant: merchant.name }),
  ])
}

/** The payer has cancelled, and can still pay. */
export function cancelledOpenScreen(facts: CheckoutFacts): Screen {
  const { translator, payment, path } = facts
  const title = translator.t('cancelledTitle')
  const until =
    payment.expiresAt && translator.t('openUntil', { time: translator.timeOfDay(payment.expiresAt) })
  return {
    title,
    body: html`<div data-status="${path}/status" data-shown="${screenFingerprint(facts)}">${statusIcon('stopped')}<h1>${title}</h1>
<p>${chargeText(facts)}</p>${until && html`<p>${until}</p>`}</div>
${postButton(`${path}/resume`, translator.t('payAfterAll'), 'plain')}
${returnLink(facts)}`,
  }
}

/** The merchant is suspended: nothing can be paid now. */
export function suspendedScreen(facts: CheckoutFacts): Screen {
  const { translator, merchant } = facts
  return endScreen(facts, 'attention', translator.t('suspendedTitle'), [
    chargeText(facts),
    translator.t('suspendedText', { merchant: merchant.name }),
  ])
}

/** All slots are taken: the page polls, and opens when another payment fails. */
export function linkBusyScreen(facts: CheckoutFacts): Screen {
  const { translator, path } = facts
  const title = translator.t('linkBusyTitle')
  return {
    title,
    body: html`<div data-status="${path}/status" data-shown="${screenFingerprint(facts)}">${statusIcon('waiting')}<h1>${title}</h1>
<p>${chargeText(facts)}</p><p>${translator.t('linkBusyText')}</p></div>
<a class="button" href="${path}">${translator.t('checkNow')}</a>
${cancelForm(facts)}`,
  }
}

export function linkEndedScreen(facts: CheckoutFacts): Screen {
  const { translator, merchant } = facts
  return endScreen(facts, 'stopped', translator.t('linkFullTitle'), [
    chargeText(facts),
    translator.t('linkEndedText', { merchant: merchant.name }),
  ])
}

/** Says that nothing was charged only if every attempt is known to have failed. */
function chargeText(facts: CheckoutFacts): string {
  const { translator, merchant } = facts
  return mayHaveSentMoney(facts)
    ? translator.t('ifSentMoney', { merchant: merchant.name })
    : translator.t('notCharged')
}

export function mismatchScreen(facts: CheckoutFacts): Screen {
  const { translator, payment, attempts, merchant } = facts
  const { paidMinor, paidCurrency } = attempts.findLast(({ status }) => status === 'amount_mismatch') ?? {}
  const to = { merchant: merchant.name }
  if (paidMinor == null || !isCurrency(paidCurrency) || paidCurrency !== payment.currency) {
    return endScreen(facts, 'attention', translator.t('mismatchTitle'), [translator.t('mismatchText', to)])
  }
  // The amount is right, but another fact of the payment is not.
  if (paidMinor === payment.amountMinor) {
    return endScreen(facts, 'attention', translator.t('checkingTitle'), [translator.t('mismatchText', to)])
  }
  const values = { paid: translator.amount(money(paidMinor, paidCurrency)), amount: amountOf(facts) }
  const isLess = paidMinor < payment.amountMinor
  return endScreen(facts, 'attention', translator.t(isLess ? 'underpaidTitle' : 'overpaidTitle', values), [
    translator.t(isLess ? 'underpaidText' : 'overpaidText', to),
  ])
}

function endScreen(
  facts: CheckoutFacts,
  icon: 'stopped' | 'waiting' | 'attention',
  title: string,
  paragraphs: readonly string[],
): Screen {
  return {
    title,
    body: html`<div${mayHaveSentMoney(facts) && html` data-status="${facts.path}/status" data-shown="${screenFingerprint(facts)}"`}>${statusIcon(icon)}<h1>${title}</h1>${paragraphs.map((one) => html`<p>${one}</p>`)}${returnLink(facts)}</div>`,
  }
}
