// The open checkout: choose a way to pay and give what it needs. Only the fields of the chosen way are shown, by CSS alone.

import type { Currency } from '../../core/currency.ts'
import { networksOf } from '../../core/networks.ts'
import type { Channel } from '../../gateways/gateway.ts'
import { type Html, html } from '../../kit/html.ts'
import { examplePhone } from '../../kit/phone.ts'
import type { CheckoutFacts } from './facts.ts'
import { FAILURE_WORDS } from './failures.ts'
import { instrumentField, type Problem } from './form.ts'
import { amountOf, CHANNEL_WORDS, cancelForm, icon, type Screen } from './pieces.ts'

export function openScreen(facts: CheckoutFacts): Screen {
  const { merchant, path, speech } = facts
  const amount = amountOf(facts)
  const ways = orderedChannels(facts)
  const checked = facts.form.channel ?? facts.attempt?.choice?.channel ?? ways[0]
  return {
    title: speech.say('payTitle', { amount, merchant: merchant.name }),
    body: html`${problemSummary(facts)}${declineNotice(facts)}
<form method="post" action="${path}/attempts" data-network="${path}/network" novalidate>
<fieldset><legend>${speech.say('howToPay')}</legend>${ways.map((channel) => way(facts, channel, channel === checked))}</fieldset>
<button class="main">${speech.say('payButton', { amount })}</button>
</form>
${cancelForm(facts)}
${timeLimit(facts)}`,
  }
}

// Where a transfer is what most people pay with, and where most have no wallet on the phone. Everywhere else the phone.
const TRANSFER_FIRST: ReadonlySet<Currency> = new Set(['NGN'])
const CARD_FIRST: ReadonlySet<Currency> = new Set(['BWP', 'CAD', 'EGP', 'EUR', 'GBP', 'MUR', 'USD', 'ZAR'])

const ORDERS: Readonly<Record<'transfer' | 'card' | 'phone', readonly Channel[]>> = {
  transfer: ['bank_transfer', 'card', 'mobile_money'],
  card: ['card', 'bank_transfer', 'mobile_money'],
  phone: ['mobile_money', 'card', 'bank_transfer'],
}

function orderedChannels({ channels, payment: { currency } }: CheckoutFacts): Channel[] {
  const first = TRANSFER_FIRST.has(currency) ? 'transfer' : CARD_FIRST.has(currency) ? 'card' : 'phone'
  return ORDERS[first].filter((channel) => channels.includes(channel))
}

function way(facts: CheckoutFacts, channel: Channel, isChecked: boolean): Html {
  const { speech } = facts
  const { name, hint } = CHANNEL_WORDS[channel]
  const id = `way-${channel}`
  return html`<div class="way"><input type="radio" name="channel" id="${id}" value="${channel}" aria-describedby="${id}-hint"${isChecked && html` checked`}>
<label for="${id}">${icon(channel)}<span>${speech.say(name)}</span></label>
<div class="fields"><p class="dim" id="${id}-hint">${speech.say(hint)}</p>${channel === 'mobile_money' && facts.asksPhone && phoneFields(facts)}${testOutcome(facts, channel)}</div></div>`
}

function phoneFields(facts: CheckoutFacts): Html {
  const { speech, form, payment } = facts
  const example = examplePhone(payment.country)
  const isWrong = form.problem?.kind === 'phone' || form.problem?.kind === 'wait'
  const describedBy = isWrong ? 'phone-hint phone-problem' : 'phone-hint'
  return html`<label for="phone">${speech.say('phone')}</label>
<p class="dim" id="phone-hint">${example === null ? speech.say('phoneInternational') : speech.say('phoneExample', { example })}</p>
${isWrong && html`<p class="wrong" id="phone-problem">${problemWords(facts, form.problem)}</p>`}
<input type="tel" id="phone" name="phone" value="${form.phone}" autocomplete="tel" dir="ltr" maxlength="40" aria-describedby="${describedBy}"${isWrong && html` aria-invalid="true"`}>
${networkField(facts)}
<p class="dim">${speech.say('neverSharePin')}</p>`
}

function networkField(facts: CheckoutFacts): Html | null {
  const { speech, form, payment } = facts
  const networks = networksOf(payment.country)
  if (networks.length < 2) return null
  const isWrong = form.problem?.kind === 'network'
  return html`<label for="network">${speech.say('network')}</label>
${isWrong && html`<p class="wrong" id="network-problem">${problemWords(facts, form.problem)}</p>`}
<select id="network" name="network"${isWrong && html` aria-invalid="true" aria-describedby="network-problem"`}>
<option value="">${speech.say('networkFromNumber')}</option>
${networks.map(({ code, name }) => html`<option value="${code}"${code === form.network && html` selected`}>${name}</option>`)}
</select>`
}

/** Sandbox only. The names of the test instruments are the provider's own, in English. */
function testOutcome({ speech, instruments }: CheckoutFacts, channel: Channel): Html | null {
  const offered = channel === 'card' ? [] : instruments.filter((one) => one.channel === channel)
  if (offered.length === 0) return null
  const field = instrumentField(channel)
  return html`<div class="test-choice"><label for="${field}">${speech.say('testOutcome')}</label>
<select id="${field}" name="${field}" lang="en" dir="ltr">${offered.map(({ name, label }) => html`<option value="${name}">${label}</option>`)}</select></div>`
}

/** First on the page and in focus, with links to the fields. */
function problemSummary(facts: CheckoutFacts): Html | null {
  const { problem } = facts.form
  if (problem === null) return null
  const target = problem.kind === 'network' ? 'network' : problem.kind === 'choice' ? 'main' : 'phone'
  return html`<div class="notice wrong" role="alert" tabindex="-1" autofocus><h2>${facts.speech.say('problemTitle')}</h2>
<p><a href="#${target}">${problemWords(facts, problem)}</a></p></div>`
}

function problemWords({ speech }: CheckoutFacts, problem: Problem | null): string {
  switch (problem?.kind) {
    case 'phone':
      return speech.say('problemPhone')
    case 'network':
      return speech.say('problemNetwork')
    case 'wait':
      return problem.seconds < 60
        ? speech.say('problemWaitSeconds', { seconds: problem.seconds })
        : speech.say('problemWaitMinutes', { minutes: Math.ceil(problem.seconds / 60) })
    default:
      return speech.say('problemChoice')
  }
}

/** What became of the last try. A decline is the provider's word that no money moved. */
function declineNotice(facts: CheckoutFacts): Html | null {
  const { attempt, speech, form } = facts
  if (!attempt?.failureCode || form.problem) return null
  const { happened, advice } = FAILURE_WORDS[attempt.failureCode]
  const words = [
    speech.say(happened, { amount: amountOf(facts) }),
    speech.say('notCharged'),
    speech.say(advice),
  ]
  return html`<div class="notice" role="alert"><p>${words.join(' ')}</p></div>`
}

const LITTLE_TIME_MS = 600_000

/** The limit is ours, so one tap gives more of it. */
function timeLimit(facts: CheckoutFacts): Html | null {
  const { payment, now, speech, path } = facts
  if (payment.expiresAt === null) return null
  const leftMs = payment.expiresAt.getTime() - now.getTime()
  if (leftMs > LITTLE_TIME_MS) {
    return html`<p class="dim foot">${speech.say('openUntil', { time: speech.clock(payment.expiresAt) })}</p>`
  }
  const minutes = Math.floor(leftMs / 60_000)
  return html`<div class="notice"><p>${speech.say('closesSoon', { minutes })}</p>
<form method="post" action="${path}/extend"><button class="plain">${speech.say('moreTime')}</button></form></div>`
}
