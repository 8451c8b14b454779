// How a checkout ends: paid, or not, and what the payer can hold in their hand.

import { isCurrency } from '../../core/currency.ts'
import { money } from '../../core/money.ts'
import { findNetwork } from '../../core/networks.ts'
import { type Html, html } from '../../kit/html.ts'
import { maskPhone } from '../../kit/phone.ts'
import { differenceOf } from '../../p2p/difference.ts'
import { type CheckoutFacts, mayHaveSentMoney, screenOf, shownState } from './facts.ts'
import { declineWords } from './failures.ts'
import {
  amountOf,
  CHANNEL_WORDS,
  cancelForm,
  factList,
  leftToRight,
  returnLink,
  type Screen,
  sign,
} from './pieces.ts'

const RETURN_SECONDS = 5

export function paidScreen(facts: CheckoutFacts): Screen {
  const { speech } = facts
  const { title, words } = paidWords(facts)
  return {
    title,
    head: returnByItself(facts),
    body: html`${sign(moneyBack(facts) === null ? 'paid' : 'attention')}<h1>${title}</h1>${returnNotice(facts)}<p>${words}</p>
${excessNotice(facts)}${receiptFacts(facts)}
${returnLink(facts)}
<p class="foot"><a href="${facts.path}/receipt">${speech.say('showReceipt')}</a></p>`,
  }
}

/** Who sent the merchant too much hears it from us: no provider gives it back by itself. */
function excessNotice({ speech, transfer, payment, merchant }: CheckoutFacts): Html | null {
  const { excessMinor } = transfer ? differenceOf(transfer, payment.gateway) : { excessMinor: 0n }
  if (!transfer || excessMinor === 0n) return null
  const excess = speech.amount(money(excessMinor, transfer.currency))
  return html`<p class="notice">${speech.say('directExcessText', { excess, merchant: merchant.name })}</p>`
}

function paidWords(facts: CheckoutFacts): { title: string; words: string } {
  const { speech, payment, merchant } = facts
  const values = { amount: amountOf(facts), merchant: merchant.name }
  const back = moneyBack(facts)
  if (back !== null) return { title: back, words: speech.say('paidText', values) }
  switch (screenOf(facts)) {
    case 'paid_late':
      return { title: speech.say('paidLateTitle'), words: speech.say('paidLateText', values) }
    case 'already_paid':
      return {
        title: speech.say('alreadyPaidTitle', { time: payment.paidAt ? speech.time(payment.paidAt) : '' }),
        words: speech.say('alreadyPaidText'),
      }
    default:
      return { title: speech.say('paidTitle'), words: speech.say('paidText', values) }
  }
}

/** What happened to the money after it was paid. */
function moneyBack({ payment, speech }: CheckoutFacts): string | null {
  switch (payment.status) {
    case 'refunded':
      return speech.say('refundedText')
    case 'partially_refunded': {
      const amount = speech.amount(money(payment.refundedMinor, payment.currency))
      return speech.say('partlyRefundedText', { amount })
    }
    case 'disputed':
      return speech.say('disputedText')
    case 'reversed':
      return speech.say('reversedText')
    default:
      return null
  }
}

/** Once, after a pause that reading stops: without JavaScript by the head, with it by the script. */
function returnByItself(facts: CheckoutFacts): Html | undefined {
  if (!returnsNow(facts)) return undefined
  return html`<noscript><meta http-equiv="refresh" content="${RETURN_SECONDS};url=${facts.returnUrl}"></noscript>`
}

export function returnsNow(facts: CheckoutFacts): boolean {
  return facts.returnUrl !== null && facts.returnsByItself && screenOf(facts) === 'paid'
}

function returnNotice(facts: CheckoutFacts): Html | null {
  if (!returnsNow(facts)) return null
  const { speech, merchant, path, returnUrl } = facts
  return html`<p class="notice" role="status" data-return="${returnUrl}" data-after="${RETURN_SECONDS}">${speech.say('returnSoon', { merchant: merchant.name, seconds: RETURN_SECONDS })}
<a href="${path}/receipt">${speech.say('stay')}</a></p>`
}

/** The proof of a payment, at an address that stays. */
export function receiptScreen(facts: CheckoutFacts): Screen {
  const { speech, path } = facts
  const title = speech.say('receipt')
  return {
    title,
    body: html`<h1>${title}</h1>
${receiptFacts(facts)}
<div class="screen-only"><button type="button" class="plain" hidden data-print>${speech.say('print')}</button>${returnLink(facts)}
<p class="foot"><a href="${path}">${speech.say('backToPayment')}</a></p></div>`,
  }
}

function receiptFacts(facts: CheckoutFacts): Html {
  const { speech, payment, merchant } = facts
  return factList([
    [speech.say('amount'), amountOf(facts)],
    [speech.say('paidTo'), merchant.name],
    [speech.say('paymentFor'), payment.description],
    [speech.say('method'), methodOf(facts)],
    [speech.say('time'), payment.paidAt && speech.time(payment.paidAt)],
    [speech.say('reference'), leftToRight(payment.reference)],
    [speech.say('receiptNumber'), leftToRight(receiptNumberOf(facts))],
    [speech.say('status'), statusWords(facts)],
  ])
}

function statusWords(facts: CheckoutFacts): string {
  const words = moneyBack(facts) ?? facts.speech.say('paidTitle')
  return facts.isTest ? `${words} · ${facts.speech.say('testMode')}` : words
}

/** The provider's own number where it gave one: it is what their support asks for. */
function receiptNumberOf({ payment, attempts }: CheckoutFacts): string {
  return attempts.find(({ status }) => status === 'succeeded')?.gatewayReference ?? payment.id
}

function methodOf({ attempts, methodLabel, speech, merchant }: CheckoutFacts): Html | string | null {
  if (methodLabel !== null) return leftToRight(methodLabel)
  const paid = attempts.find(({ status }) => status === 'succeeded')
  if (!paid?.choice) return null
  const { phone, network, channel } = paid.choice
  if (phone === undefined) return speech.say(CHANNEL_WORDS[channel].name, { merchant: merchant.name })
  const name = findNetwork(network ?? '')?.name ?? speech.say('mobileMoney')
  return html`${name} ${leftToRight(maskPhone(phone))}`
}

export function failedScreen(facts: CheckoutFacts): Screen {
  const { speech, payment, merchant } = facts
  const title = speech.say('failedTitle')
  return endScreen(facts, 'stopped', title, [
    directWords(facts) ?? declineWords(facts, payment.failureCode ?? 'unknown'),
    speech.say('failedText', { merchant: merchant.name }),
  ])
}

/** The merchant ended it, and the payer may have sent the money all the same. */
function directWords({ transfer, speech, merchant }: CheckoutFacts): string | null {
  switch (transfer?.status) {
    case 'rejected':
      return speech.say('directRejectedText', { merchant: merchant.name, reference: transfer.narration })
    case 'cancelled':
      return speech.say('ifSentMoney', { merchant: merchant.name })
    default:
      return null
  }
}

export function expiredScreen(facts: CheckoutFacts): Screen {
  const { speech, merchant } = facts
  return endScreen(facts, 'stopped', speech.say('expiredTitle'), [
    chargedWords(facts),
    speech.say('expiredText', { merchant: merchant.name }),
  ])
}

export function cancelledScreen(facts: CheckoutFacts): Screen {
  const { speech, merchant } = facts
  return endScreen(facts, 'stopped', speech.say('cancelledTitle'), [
    chargedWords(facts),
    speech.say('cancelledText', { merchant: merchant.name }),
  ])
}

/** Others are at their gateways: the page asks by itself, and opens when one of them has failed. */
export function linkBusyScreen(facts: CheckoutFacts): Screen {
  const { speech, path } = facts
  const title = speech.say('linkBusyTitle')
  return {
    title,
    body: html`<div data-status="${path}/status" data-shown="${shownState(facts)}">${sign('waiting')}<h1>${title}</h1>
<p>${chargedWords(facts)}</p><p>${speech.say('linkBusyText')}</p></div>
<a class="button" href="${path}">${speech.say('checkNow')}</a>
${cancelForm(facts)}`,
  }
}

export function linkEndedScreen(facts: CheckoutFacts): Screen {
  const { speech, merchant } = facts
  return endScreen(facts, 'stopped', speech.say('linkFullTitle'), [
    chargedWords(facts),
    speech.say('linkEndedText', { merchant: merchant.name }),
  ])
}

/** That nothing was charged is said only when every attempt is known to have failed. */
function chargedWords(facts: CheckoutFacts): string {
  const { speech, merchant } = facts
  return mayHaveSentMoney(facts)
    ? speech.say('ifSentMoney', { merchant: merchant.name })
    : speech.say('notCharged')
}

export function mismatchScreen(facts: CheckoutFacts): Screen {
  const { speech, payment, attempts, merchant } = facts
  const { paidMinor, paidCurrency } = attempts.findLast(({ status }) => status === 'amount_mismatch') ?? {}
  const to = { merchant: merchant.name }
  if (paidMinor == null || !isCurrency(paidCurrency) || paidCurrency !== payment.currency) {
    return endScreen(facts, 'attention', speech.say('mismatchTitle'), [speech.say('mismatchText', to)])
  }
  // The amount is right, and something else about it is not.
  if (paidMinor === payment.amountMinor) {
    return endScreen(facts, 'attention', speech.say('checkingTitle'), [speech.say('mismatchText', to)])
  }
  const values = { paid: speech.amount(money(paidMinor, paidCurrency)), amount: amountOf(facts) }
  const isLess = paidMinor < payment.amountMinor
  return endScreen(facts, 'attention', speech.say(isLess ? 'underpaidTitle' : 'overpaidTitle', values), [
    speech.say(isLess ? 'underpaidText' : 'overpaidText', to),
  ])
}

function endScreen(
  facts: CheckoutFacts,
  look: 'stopped' | 'waiting' | 'attention',
  title: string,
  words: readonly string[],
): Screen {
  return {
    title,
    body: html`<div${mayHaveSentMoney(facts) && html` data-status="${facts.path}/status" data-shown="${shownState(facts)}"`}>${sign(look)}<h1>${title}</h1>${words.map((one) => html`<p>${one}</p>`)}${returnLink(facts)}</div>`,
  }
}
