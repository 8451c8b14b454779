// The open checkout: the payer chooses a channel and enters what it needs. CSS alone shows the fields of the chosen
// channel.

import type { Currency } from '../../core/currency.ts'
import type { Channel } from '../../gateways/gateway.ts'
import { type Html, html } from '../../kit/http/html.ts'
import { examplePhone } from '../../kit/phone.ts'
import {
  amountOf,
  CHANNEL_MESSAGES,
  cancelForm,
  icon,
  postButton,
  type Screen,
  statusIcon,
} from './components.ts'
import { DECLINE_MESSAGES, declineText } from './decline-messages.ts'
import type { CheckoutFacts } from './facts.ts'
import { instrumentField, type Problem } from './form.ts'

export function openScreen(facts: CheckoutFacts): Screen {
  const { merchant, path, translator } = facts
  const amount = amountOf(facts)
  const channels = orderedChannels(facts)
  if (channels.length === 0) return closedScreen(facts)
  const last = [facts.form.channel, facts.attempt?.choice?.channel].find(
    (one) => one && channels.includes(one),
  )
  const checked = last ?? channels[0]
  return {
    title: translator.t('payTitle', { amount, merchant: merchant.name }),
    body: html`${problemSummary(facts)}${declineNotice(facts)}
<form method="post" action="${path}/attempts" data-network="${path}/network" novalidate>
<fieldset><legend>${translator.t('howToPay')}</legend>${channels.map((channel) => channelOption(facts, channel, channel === checked))}</fieldset>
<button class="main">${translator.t('payButton', { amount })}</button>
</form>
${cancelForm(facts)}
${timeLimit(facts)}`,
  }
}

/** No gateway serves the payment now, so there is nothing to choose or submit. */
function closedScreen(facts: CheckoutFacts): Screen {
  const { translator, merchant } = facts
  return {
    title: translator.t('payTitle', { amount: amountOf(facts), merchant: merchant.name }),
    body: html`${statusIcon('attention')}<p role="alert">${translator.t('failureProviderUnavailable')}</p><p>${translator.t('busyText')}</p>
${cancelForm(facts)}`,
  }
}

// Countries where most people pay by bank transfer and few have mobile money. Elsewhere mobile money is first.
const TRANSFER_FIRST: ReadonlySet<Currency> = new Set(['NGN'])
const CARD_FIRST: ReadonlySet<Currency> = new Set(['BWP', 'CAD', 'EGP', 'EUR', 'GBP', 'MUR', 'USD', 'ZAR'])

const CHANNEL_ORDERS: Readonly<Record<'transfer' | 'card' | 'phone', readonly Channel[]>> = {
  transfer: ['bank_transfer', 'card', 'mobile_money'],
  card: ['card', 'bank_transfer', 'mobile_money'],
  phone: ['mobile_money', 'card', 'bank_transfer'],
}

// Last, because the merchant confirms it by hand, which takes longer than a gateway.
const DIRECT: readonly Channel[] = ['direct_mobile_money', 'direct_bank_transfer']

function orderedChannels({ channels, payment: { currency } }: CheckoutFacts): Channel[] {
  const first = TRANSFER_FIRST.has(currency) ? 'transfer' : CARD_FIRST.has(currency) ? 'card' : 'phone'
  return [...CHANNEL_ORDERS[first], ...DIRECT].filter((channel) => channels.includes(channel))
}

function channelOption(facts: CheckoutFacts, channel: Channel, isChecked: boolean): Html {
  const { translator } = facts
  const { name, hint } = CHANNEL_MESSAGES[channel]
  const to = { merchant: facts.merchant.name }
  const id = `way-${channel}`
  return html`<div class="way"><input type="radio" name="channel" id="${id}" value="${channel}" aria-describedby="${id}-hint"${isChecked && html` checked`}>
<label for="${id}">${icon(channel)}<span>${translator.t(name, to)}</span></label>
<div class="fields"><p class="dim" id="${id}-hint">${translator.t(hint, to)}</p>${channel === 'mobile_money' && facts.asksPhone && phoneFields(facts)}${channel === 'card' && consentField(facts)}${testOutcome(facts, channel)}</div></div>`
}

/** Says before the payment that the card is saved and who may charge it again, or asks. The form reports what it showed. */
function consentField({ consentForm, merchant, translator }: CheckoutFacts): Html | null {
  if (consentForm === null) return null
  const shown = html`<input type="hidden" name="consent" value="${consentForm}"><input type="hidden" name="language" value="${translator.language}">`
  const to = { merchant: merchant.name }
  if (consentForm === 'notice') return html`<p class="dim">${translator.t('saveNotice', to)}</p>${shown}`
  return html`<label class="tick"><input type="checkbox" name="save" value="yes"> <span>${translator.t('saveChoice', to)}</span></label>${shown}`
}

function phoneFields(facts: CheckoutFacts): Html {
  const { translator, form, payment } = facts
  const example = examplePhone(payment.country)
  const isWrong = form.problem?.kind === 'phone' || form.problem?.kind === 'wait'
  const describedBy = isWrong ? 'phone-hint phone-problem' : 'phone-hint'
  return html`<label for="phone">${translator.t('phone')}</label>
<p class="dim" id="phone-hint">${example === null ? translator.t('phoneInternational') : translator.t('phoneExample', { example })}</p>
${isWrong && html`<p class="wrong" id="phone-problem">${problemText(facts, form.problem)}</p>`}
<input type="tel" id="phone" name="phone" value="${form.phone}" autocomplete="tel" dir="ltr" maxlength="40" aria-describedby="${describedBy}"${isWrong && html` aria-invalid="true"`}>
${networkField(facts)}
<p class="dim">${translator.t('neverSharePin')}</p>`
}

function networkField(facts: CheckoutFacts): Html | null {
  const { translator, form, networks } = facts
  if (networks.length < 2) return null
  const isWrong = form.problem?.kind === 'network'
  return html`<label for="network">${translator.t('network')}</label>
${isWrong && html`<p class="wrong" id="network-problem">${problemText(facts, form.problem)}</p>`}
<select id="network" name="network"${isWrong && html` aria-invalid="true" aria-describedby="network-problem"`}>
<option value="">${translator.t('networkFromNumber')}</option>
${networks.map(({ code, name }) => html`<option value="${code}"${code === form.network && html` selected`}>${name}</option>`)}
</select>`
}

/** Sandbox only. The names of the test instruments are the provider's own, in English. */
function testOutcome({ translator, instruments }: CheckoutFacts, channel: Channel): Html | null {
  const offered = channel === 'card' ? [] : instruments.filter((one) => one.channel === channel)
  if (offered.length === 0) return null
  const field = instrumentField(channel)
  return html`<div class="test-choice"><label for="${field}">${translator.t('testOutcome')}</label>
<select id="${field}" name="${field}" lang="en" dir="ltr">${offered.map(({ name, label }) => html`<option value="${name}">${label}</option>`)}</select></div>`
}

/** First on the page and focused, with links to the fields. */
function problemSummary(facts: CheckoutFacts): Html | null {
  const { problem } = facts.form
  if (problem === null) return null
  if (problem.kind === 'refused') {
    return html`<div class="notice bad" role="alert" tabindex="-1" autofocus><p>${problemText(facts, problem)}</p></div>`
  }
  const [first = 'card'] = orderedChannels(facts)
  const targets = { network: 'network', choice: `way-${first}`, phone: 'phone', wait: 'phone' }
  return html`<div class="notice wrong" role="alert" tabindex="-1" autofocus><h2>${facts.translator.t('problemTitle')}</h2>
<p><a href="#${targets[problem.kind]}">${problemText(facts, problem)}</a></p></div>`
}

function problemText({ translator, now, merchant }: CheckoutFacts, problem: Problem | null): string {
  switch (problem?.kind) {
    case 'refused':
      return translator.t('problemRefused', { merchant: merchant.name })
    case 'phone':
      return translator.t('problemPhone')
    case 'network':
      return translator.t('problemNetwork')
    case 'wait': {
      const seconds = Math.ceil((problem.until.getTime() - now.getTime()) / 1_000)
      return seconds < 60
        ? translator.t('problemWaitSeconds', { seconds })
        : translator.t('problemWaitMinutes', { minutes: Math.round(seconds / 60) })
    }
    default:
      return translator.t('problemChoice')
  }
}

/** The result of the last attempt, and what to do. */
function declineNotice(facts: CheckoutFacts): Html | null {
  const { attempt, translator, merchant, form } = facts
  if (!attempt?.failureCode) return null
  const advice = translator.t(DECLINE_MESSAGES[attempt.failureCode].advice, { merchant: merchant.name })
  return html`<div class="notice bad"${form.problem === null && html` role="alert"`}><p>${declineText(facts, attempt.failureCode)} ${advice}</p></div>`
}

const LITTLE_TIME_MS = 600_000

/** The deadline is ours, so one tap extends it: offered shortly before the end, and always without a script. */
function timeLimit(facts: CheckoutFacts): Html | null {
  const { payment, now, translator } = facts
  if (payment.expiresAt === null) return null
  const leftMs = payment.expiresAt.getTime() - now.getTime()
  if (leftMs <= LITTLE_TIME_MS) return moreTime(facts, Math.floor(leftMs / 60_000))
  return html`<p class="dim foot">${translator.t('openUntil', { time: translator.timeOfDay(payment.expiresAt) })}</p>
<div hidden role="status" data-reveal="${leftMs - LITTLE_TIME_MS}">${moreTime(facts, LITTLE_TIME_MS / 60_000)}</div>
<noscript>${moreTimeForm(facts)}</noscript>`
}

function moreTime(facts: CheckoutFacts, minutes: number): Html {
  return html`<div class="notice"><p>${facts.translator.t('closesSoon', { minutes })}</p>${moreTimeForm(facts)}</div>`
}

function moreTimeForm({ path, translator }: CheckoutFacts): Html {
  return postButton(`${path}/extend`, translator.t('moreTime'), 'plain')
}
