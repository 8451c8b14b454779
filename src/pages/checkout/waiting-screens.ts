// The screens while an attempt is at the gateway. They explain the wait, and never lead a payer into paying twice.

import { money } from '../../core/money.ts'
import { findNetwork } from '../../core/networks.ts'
import type { NextStep } from '../../gateways/gateway.ts'
import { type Html, html } from '../../kit/http/html.ts'
import { maskPhone } from '../../kit/phone.ts'
import type { AttemptRow } from '../../payments/attempt.ts'
import {
  amountOf,
  attemptField,
  deadline,
  ltr,
  postButton,
  returnLink,
  revealedAfter,
  type Screen,
  statusIcon,
} from './components.ts'
import { directTransferContent } from './direct-screens.ts'
import { type CheckoutFacts, isDirectScreen, screenFingerprint, screenOf } from './facts.ts'
import {
  accountFacts,
  type Content,
  copyButton,
  switchMethodForm,
  type Transfer,
} from './waiting-components.ts'

type Prompt = Extract<NextStep, { kind: 'prompt' }>

export function waitingScreen(facts: CheckoutFacts): Screen {
  const { translator, path } = facts
  const content = contentOf(facts)
  return {
    title: content.title,
    // Browsers without JavaScript reload; the script polls more often and without a reload.
    head: html`<noscript><meta http-equiv="refresh" content="10"></noscript>`,
    body: html`<div data-status="${path}/status" data-shown="${screenFingerprint(facts)}">
${content.body}
<p class="dim" role="status">${translator.t('waiting')}</p>
${postButton(`${path}/check`, translator.t('checkNow'), content.isCheckPrimary ? 'main' : 'plain')}
${screenOf(facts) === 'slow' && returnLink(facts, 'plain')}
${content.switchMethodForm}
</div>`,
  }
}

function contentOf(facts: CheckoutFacts): Content {
  const { attempt } = facts
  const step = attempt?.nextStep
  if (!attempt || !step) return outcomeUnknownContent(facts)
  if (isDirectScreen(screenOf(facts))) return directTransferContent(facts, attempt, step)
  switch (step.kind) {
    case 'redirect':
      return attempt.returnedAt
        ? outcomeUnknownContent(facts, step.url)
        : redirectContent(facts, attempt, step.url)
    case 'prompt':
      return promptContent(facts, attempt, step)
    case 'transfer':
    case 'wallet_transfer':
      return transferContent(facts, step)
  }
}

/** The gateway has not responded: the payer can only wait, and the page says so. */
function outcomeUnknownContent(facts: CheckoutFacts, pageUrl?: string): Content {
  const { translator, merchant, attempt } = facts
  const isSlow = screenOf(facts) === 'slow'
  const title = translator.t(isSlow ? 'slowTitle' : 'momentTitle')
  return {
    title,
    isCheckPrimary: true,
    // The gateway waits for the payer, but gave no URL: the payer can only switch the method.
    switchMethodForm:
      attempt?.status === 'awaiting_customer'
        ? switchMethodForm(facts, attempt, translator.t('anotherWay'), translator.t('onlyIfNotPaid'))
        : null,
    body: html`${statusIcon('waiting')}<h1>${title}</h1><p>${translator.t('momentText')}</p>
${isSlow && html`<p>${translator.t('slowText', { merchant: merchant.name })}</p>`}
${pageUrl !== undefined && html`<p><a href="${pageUrl}">${translator.t('continueButton', { site: new URL(pageUrl).host })}</a></p>`}`,
  }
}

function redirectContent(facts: CheckoutFacts, attempt: AttemptRow, url: string): Content {
  const { translator } = facts
  const title = translator.t('continueTitle')
  return {
    title,
    isCheckPrimary: false,
    switchMethodForm: switchMethodForm(
      facts,
      attempt,
      translator.t('anotherWay'),
      translator.t('onlyIfNotPaid'),
    ),
    body: html`${statusIcon('waiting')}<h1>${title}</h1>${continueParts(facts, url)}`,
  }
}

/** The step between our page and the gateway's: a form must not lead to another origin, a link may. */
export function continueScreen(facts: CheckoutFacts, url: string): Screen {
  const title = facts.translator.t('continueTitle')
  return {
    title,
    head: html`<meta http-equiv="refresh" content="0;url=${url}">`,
    body: html`${statusIcon('waiting')}<h1>${title}</h1>${continueParts(facts, url)}`,
  }
}

function continueParts(facts: CheckoutFacts, url: string): Html {
  const { translator, merchant } = facts
  const site = new URL(url).host
  const values = { amount: amountOf(facts), merchant: merchant.name, site }
  return html`<p>${translator.t('continueText', values)}</p>
<a class="button" href="${url}">${translator.t('continueButton', { site })}</a>`
}

// By then a prompt has reached every phone that is on.
const PROMPT_HELP_AFTER_MS = 20_000

function promptContent(facts: CheckoutFacts, attempt: AttemptRow, step: Prompt): Content {
  const { translator, merchant, now } = facts
  const isSlow = screenOf(facts) === 'slow'
  const title = translator.t(isSlow ? 'slowTitle' : 'promptTitle')
  const endsAt = new Date(step.expiresAt)
  const steps = [
    translator.t('promptOpen', { name: step.promptName ?? step.network }),
    translator.t('promptPin'),
    translator.t('promptWait'),
  ]
  return {
    title,
    isCheckPrimary: true,
    switchMethodForm: switchMethodForm(
      facts,
      attempt,
      translator.t('changeNumber'),
      translator.t('onlyWithoutPin'),
    ),
    body: html`${statusIcon(isSlow ? 'waiting' : 'mobile_money')}<h1>${title}</h1>
${isSlow ? html`<p>${translator.t('slowText', { merchant: merchant.name })}</p>` : html`<ol class="steps">${steps.map((one) => html`<li>${one}</li>`)}</ol>`}
<p class="dim">${translator.withMarkup('promptSentTo', { network: step.network }, 'phone', ltr(maskPhone(step.phone)))}</p>
${endsAt > now && deadline(facts, translator.t('promptDeadline', { time: translator.timeOfDay(endsAt), network: step.network }), endsAt)}
${revealedAfter(facts, attempt, PROMPT_HELP_AFTER_MS, missingPromptHelp(facts, attempt))}
<p class="dim">${translator.t('neverSharePin')}</p>`,
  }
}

function missingPromptHelp({ translator }: CheckoutFacts, attempt: AttemptRow): Html {
  const ussd = findNetwork(attempt.choice?.network ?? '')?.ussd ?? null
  return html`<details><summary>${translator.t('promptMissing')}</summary><p>${translator.t('promptSignal')}</p>
${
  ussd !== null &&
  html`<p>${translator.withMarkup('promptDial', {}, 'code', ltr(ussd))}</p>
<p class="copyable"><a class="button plain" href="tel:${encodeURIComponent(ussd)}">${translator.withMarkup('dial', {}, 'code', ltr(ussd))}</a>${copyButton(translator, ussd, ussd)}</p>`
}</details>`
}

function transferContent(facts: CheckoutFacts, step: Transfer): Content {
  const { translator, attempt, path } = facts
  const isMarkedSent = attempt?.sentAt != null
  const amount = amountOf(facts)
  const isSlow = screenOf(facts) === 'slow'
  const sendTitle = translator.t('transferTitle', { amount })
  const account = html`${accountFacts(facts, step, amountOfPayment(facts))}${transferLimit(facts, step)}`
  const switchForm = attempt
    ? switchMethodForm(facts, attempt, translator.t('anotherWay'), translator.t('onlyIfNotSent'))
    : null
  if (!isMarkedSent && !isSlow) {
    return {
      title: sendTitle,
      isCheckPrimary: false,
      switchMethodForm: switchForm,
      body: html`<h1>${sendTitle}</h1>${account}${postButton(`${path}/sent`, translator.t('haveSent'), 'main', attemptField(facts))}`,
    }
  }
  const title = translator.t(isSlow ? 'slowTitle' : 'lookingTitle')
  const text = isSlow
    ? translator.t('slowText', { merchant: facts.merchant.name })
    : translator.t('lookingText')
  return {
    title,
    isCheckPrimary: true,
    switchMethodForm: switchForm,
    body: html`${statusIcon('waiting')}<h1>${title}</h1><p>${text}</p>
<details><summary>${translator.t('showAccount')}</summary>${account}</details>`,
  }
}

function transferLimit(facts: CheckoutFacts, step: Transfer): Html | null {
  const { translator, now } = facts
  const endsAt = new Date(step.expiresAt)
  if (endsAt <= now) return html`<p class="dim">${translator.t('transferLate')}</p>`
  const text = `${translator.t('transferDeadline', { time: translator.timeOfDay(endsAt) })} ${translator.t('transferLate')}`
  return deadline(facts, text, endsAt)
}

const amountOfPayment = ({ payment }: CheckoutFacts) => money(payment.amountMinor, payment.currency)
