// While an attempt is with the gateway. A wait is explained, never a bare spinner, and nobody is led into paying twice.

import { money } from '../../core/money.ts'
import { findNetwork } from '../../core/networks.ts'
import type { NextStep } from '../../gateways/gateway.ts'
import { type Html, html } from '../../kit/html.ts'
import { maskPhone } from '../../kit/phone.ts'
import type { AttemptRow } from '../../payments/attempt.ts'
import { straightToMerchant } from './direct-screens.ts'
import { type CheckoutFacts, isDirectScreen, screenOf, shownState } from './facts.ts'
import {
  amountOf,
  attemptField,
  deadline,
  leftToRight,
  postButton,
  returnLink,
  revealedAfter,
  type Screen,
  sign,
} from './pieces.ts'
import { accountFacts, type Content, copyButton, otherWay, type Transfer } from './waiting-pieces.ts'

type Prompt = Extract<NextStep, { kind: 'prompt' }>

export function waitingScreen(facts: CheckoutFacts): Screen {
  const { speech, path } = facts
  const content = contentOf(facts)
  return {
    title: content.title,
    // Those without JavaScript come back by themselves; with it the script asks more often and more quietly.
    head: html`<noscript><meta http-equiv="refresh" content="10"></noscript>`,
    body: html`<div data-status="${path}/status" data-shown="${shownState(facts)}">
${content.body}
<p class="dim" role="status">${speech.say('waiting')}</p>
${postButton(`${path}/check`, speech.say('checkNow'), content.isCheckMain ? 'main' : 'plain')}
${screenOf(facts) === 'slow' && returnLink(facts, 'plain')}
${content.otherWay}
</div>`,
  }
}

function contentOf(facts: CheckoutFacts): Content {
  const { attempt } = facts
  const step = attempt?.nextStep
  if (!attempt || !step) return notKnown(facts)
  if (isDirectScreen(screenOf(facts))) return straightToMerchant(facts, attempt, step)
  switch (step.kind) {
    case 'redirect':
      return attempt.returnedAt ? notKnown(facts, step.url) : onTheWay(facts, attempt, step.url)
    case 'prompt':
      return onThePhone(facts, attempt, step)
    case 'transfer':
    case 'wallet_transfer':
      return byTransfer(facts, step)
  }
}

/** The gateway has not answered: nothing to do but wait, and to be told so. */
function notKnown(facts: CheckoutFacts, pageUrl?: string): Content {
  const { speech, merchant, attempt } = facts
  const isSlow = screenOf(facts) === 'slow'
  const title = speech.say(isSlow ? 'slowTitle' : 'momentTitle')
  return {
    title,
    isCheckMain: true,
    // The gateway waits for a payer whom nobody could tell where: then another way is all that is left.
    otherWay:
      attempt?.status === 'awaiting_customer'
        ? otherWay(facts, attempt, speech.say('anotherWay'), speech.say('onlyIfNotPaid'))
        : null,
    body: html`${sign('waiting')}<h1>${title}</h1><p>${speech.say('momentText')}</p>
${isSlow && html`<p>${speech.say('slowText', { merchant: merchant.name })}</p>`}
${pageUrl !== undefined && html`<p><a href="${pageUrl}">${speech.say('continueButton', { site: new URL(pageUrl).host })}</a></p>`}`,
  }
}

function onTheWay(facts: CheckoutFacts, attempt: AttemptRow, url: string): Content {
  const { speech } = facts
  const title = speech.say('continueTitle')
  return {
    title,
    isCheckMain: false,
    otherWay: otherWay(facts, attempt, speech.say('anotherWay'), speech.say('onlyIfNotPaid')),
    body: html`${sign('waiting')}<h1>${title}</h1>${continueParts(facts, url)}`,
  }
}

/** For the moment between our page and the gateway's: a form may not lead to another origin, a link may. */
export function continueScreen(facts: CheckoutFacts, url: string): Screen {
  const title = facts.speech.say('continueTitle')
  return {
    title,
    head: html`<meta http-equiv="refresh" content="0;url=${url}">`,
    body: html`${sign('waiting')}<h1>${title}</h1>${continueParts(facts, url)}`,
  }
}

function continueParts(facts: CheckoutFacts, url: string): Html {
  const { speech, merchant } = facts
  const site = new URL(url).host
  const values = { amount: amountOf(facts), merchant: merchant.name, site }
  return html`<p>${speech.say('continueText', values)}</p>
<a class="button" href="${url}">${speech.say('continueButton', { site })}</a>`
}

// By then a prompt has reached every phone that is on.
const MISSING_AFTER_MS = 20_000

function onThePhone(facts: CheckoutFacts, attempt: AttemptRow, step: Prompt): Content {
  const { speech, merchant, now } = facts
  const isSlow = screenOf(facts) === 'slow'
  const title = speech.say(isSlow ? 'slowTitle' : 'promptTitle')
  const endsAt = new Date(step.expiresAt)
  const steps = [
    speech.say('promptOpen', { name: step.promptName ?? step.network }),
    speech.say('promptPin'),
    speech.say('promptWait'),
  ]
  return {
    title,
    isCheckMain: true,
    otherWay: otherWay(facts, attempt, speech.say('changeNumber'), speech.say('onlyWithoutPin')),
    body: html`${sign(isSlow ? 'waiting' : 'mobile_money')}<h1>${title}</h1>
${isSlow ? html`<p>${speech.say('slowText', { merchant: merchant.name })}</p>` : html`<ol class="steps">${steps.map((one) => html`<li>${one}</li>`)}</ol>`}
<p class="dim">${speech.sayAround('promptSentTo', { network: step.network }, 'phone', leftToRight(maskPhone(step.phone)))}</p>
${endsAt > now && deadline(facts, speech.say('promptDeadline', { time: speech.clock(endsAt), network: step.network }), endsAt)}
${revealedAfter(facts, attempt, MISSING_AFTER_MS, missingHelp(facts, attempt))}
<p class="dim">${speech.say('neverSharePin')}</p>`,
  }
}

function missingHelp({ speech }: CheckoutFacts, attempt: AttemptRow): Html {
  const ussd = findNetwork(attempt.choice?.network ?? '')?.ussd ?? null
  return html`<details><summary>${speech.say('promptMissing')}</summary><p>${speech.say('promptSignal')}</p>
${
  ussd !== null &&
  html`<p>${speech.sayAround('promptDial', {}, 'code', leftToRight(ussd))}</p>
<p class="copyable"><a class="button plain" href="tel:${encodeURIComponent(ussd)}">${speech.sayAround('dial', {}, 'code', leftToRight(ussd))}</a>${copyButton(speech, ussd, ussd)}</p>`
}</details>`
}

function byTransfer(facts: CheckoutFacts, step: Transfer): Content {
  const { speech, attempt, path } = facts
  const saysSent = attempt?.sentAt != null
  const amount = amountOf(facts)
  const isSlow = screenOf(facts) === 'slow'
  const sendTitle = speech.say('transferTitle', { amount })
  const account = html`${accountFacts(facts, step, amountOfPayment(facts))}${transferLimit(facts, step)}`
  const other = attempt
    ? otherWay(facts, attempt, speech.say('anotherWay'), speech.say('onlyIfNotSent'))
    : null
  if (!saysSent && !isSlow) {
    return {
      title: sendTitle,
      isCheckMain: false,
      otherWay: other,
      body: html`<h1>${sendTitle}</h1>${account}${postButton(`${path}/sent`, speech.say('haveSent'), 'main', attemptField(facts))}`,
    }
  }
  const title = speech.say(isSlow ? 'slowTitle' : 'lookingTitle')
  const words = isSlow ? speech.say('slowText', { merchant: facts.merchant.name }) : speech.say('lookingText')
  return {
    title,
    isCheckMain: true,
    otherWay: other,
    body: html`${sign('waiting')}<h1>${title}</h1><p>${words}</p>
<details><summary>${speech.say('showAccount')}</summary>${account}</details>`,
  }
}

function transferLimit(facts: CheckoutFacts, step: Transfer): Html | null {
  const { speech, now } = facts
  const endsAt = new Date(step.expiresAt)
  if (endsAt <= now) return html`<p class="dim">${speech.say('transferLate')}</p>`
  const words = `${speech.say('transferDeadline', { time: speech.clock(endsAt) })} ${speech.say('transferLate')}`
  return deadline(facts, words, endsAt)
}

const amountOfPayment = ({ payment }: CheckoutFacts) => money(payment.amountMinor, payment.currency)
