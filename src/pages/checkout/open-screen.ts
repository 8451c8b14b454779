// The open checkout: the payer chooses a channel and enters what it needs. CSS alone shows the fields of the chosen
// channel.

import type { ConsentForm } from '../../consents/consent.ts'
import type { Currency } from '../../core/currency.ts'
import type { Channel } from '../../gateways/gateway.ts'
import { type Html, html } from '../../kit/http/html.ts'
import {
  amountOf,
  CHANNEL_MESSAGES,
  cancelForm,
  icon,
  postButton,
  type Screen,
  statusIcon,
  testOnlyMark,
  unbroken,
} from './components.ts'
import { adviceAfterDecline, declineText } from './decline-messages.ts'
import type { CheckoutFacts } from './facts.ts'
import { instrumentField } from './form.ts'
import { savedOptions } from './saved-options.ts'
import { contactFields, problemText, walletFields, wrongPhoneField } from './wallet-fields.ts'

export function openScreen(facts: CheckoutFacts): Screen {
  const { merchant, path, translator } = facts
  const channels = orderedChannels(facts)
  if (channels.length === 0) return closedScreen(facts)
  const checked = checkedChannel(facts, channels)
  const options = channels.map((channel) => channelOption(facts, channel, channel === checked))
  return {
    title: translator.t('payTitle', { amount: amountOf(facts), merchant: merchant.name }),
    body: html`${problemSummary(facts)}${declineNotice(facts)}
<form method="post" action="${path}/attempts" data-network="${path}/network" novalidate>
<fieldset><legend>${translator.t('howToPay')}</legend>${facts.savedMethods.length === 0 ? options : savedOptions(facts, options, checked === null)}</fieldset>
</form>
${cancelForm(facts)}
${timeLimit(facts)}`,
  }
}

/** Null: the first saved method is chosen. After its decline the payer sees the other ways. */
function checkedChannel(facts: CheckoutFacts, channels: readonly Channel[]): Channel | null {
  const { form, attempt, savedMethods } = facts
  const isSaved = attempt?.paymentMethodId != null
  const last = [form.channel, isSaved ? undefined : attempt?.choice?.channel].find(
    (one) => one && channels.includes(one),
  )
  if (last) return last
  const isFirst = form.problem === null && !attempt?.failureCode
  return savedMethods.length > 0 && isFirst ? null : (channels[0] ?? null)
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

/** Each option has its own button, so that the button is on the first screen of a small phone. All submit the same form. */
function channelOption(facts: CheckoutFacts, channel: Channel, isChecked: boolean): Html {
  const { translator } = facts
  const id = `way-${channel}`
  return html`<div class="way"><input type="radio" name="channel" id="${id}" value="${channel}" aria-describedby="${id}-hint"${isChecked && html` checked`}>
<label for="${id}">${icon(channel)}<span>${channelName(facts, channel)}${isMarked(facts, channel) && testOnlyMark(facts)}</span></label>
<div class="fields">${channel === 'mobile_money' && walletFields(facts)}${contactFields(facts, channel)}${consentField(facts, channel)}
<button class="main">${translator.t('payButton', { amount: amountOf(facts) })}</button>
<p class="dim" id="${id}-hint">${channelHint(facts, channel)}${channel === 'mobile_money' && facts.asksPhone && html` ${translator.t('neverSharePin')}`}</p>${testOutcome(facts, channel)}</div></div>`
}

/** Payers know the name of their network better than "mobile money". */
function channelName({ translator, merchant, networks }: CheckoutFacts, channel: Channel): Html | string {
  const name = translator.t(CHANNEL_MESSAGES[channel].name, { merchant: merchant.name })
  if (channel !== 'mobile_money' || networks.length === 0) return name
  const names = networks.map((network) => network.name)
  if (names.length === 1) return html`${unbroken(names)}`
  return html`${name}<small class="names">${unbroken(names.slice(0, NAMES_SHOWN))}</small>`
}

function isMarked({ testOnlyChannels, networks }: CheckoutFacts, channel: Channel): boolean {
  // The name of a single network stands for the channel, and has no button with a mark of its own.
  const isOnlyNetwork =
    channel === 'mobile_money' && networks.length === 1 && networks[0]?.isTestOnly === true
  return isOnlyNetwork || testOnlyChannels.includes(channel)
}

// More would not fit into two lines of a small phone.
const NAMES_SHOWN = 4

/** What really happens next. */
function channelHint(facts: CheckoutFacts, channel: Channel): string {
  const { translator, merchant, networks, asksPhone, showsAccount } = facts
  if (channel === 'mobile_money' && !asksPhone) {
    const [only] = networks.length === 1 ? networks : []
    return only
      ? translator.t('networkPageHint', { network: only.name })
      : translator.t('mobileMoneyPageHint')
  }
  if (channel === 'bank_transfer' && !showsAccount) return translator.t('bankTransferPageHint')
  return translator.t(CHANNEL_MESSAGES[channel].hint, { merchant: merchant.name })
}

/**
 * Says before the payment that the card or the number is saved and who may charge it again, or asks. The form reports what
 * it showed.
 */
function consentField(facts: CheckoutFacts, channel: Channel): Html | null {
  const { translator, merchant } = facts
  const to = { merchant: merchant.name }
  if (channel === 'card')
    return consentInput(facts.consentForm, translator, {
      ...{ shown: 'consent', ticked: 'save' },
      ...{ notice: translator.t('saveNotice', to), choice: translator.t('saveChoice', to) },
    })
  if (channel !== 'mobile_money' || !facts.asksPhone) return null
  return consentInput(facts.numberConsentForm, translator, {
    ...{ shown: 'numberConsent', ticked: 'saveNumber' },
    notice: html`${savedNetworks(facts)}${translator.t('saveNumberNotice', to)}`,
    choice: html`${savedNetworks(facts)}${translator.t('saveNumberChoice', to)}`,
  })
}

/** Which numbers the text is about, if not those of all networks are saved. */
function savedNetworks({ networks }: CheckoutFacts): Html | null {
  const saved = networks.filter(({ isSaved }) => isSaved)
  if (saved.length === networks.length) return null
  return html`<b>${saved.map(({ name }) => name).join(', ')}:</b> `
}

/** The names of the form's fields, and the texts. */
interface ConsentTexts {
  shown: string
  ticked: string
  notice: string | Html
  choice: string | Html
}

function consentInput(
  form: ConsentForm | null,
  { language }: CheckoutFacts['translator'],
  { shown, ticked, notice, choice }: ConsentTexts,
): Html | null {
  if (form === null) return null
  const report = html`<input type="hidden" name="${shown}" value="${form}"><input type="hidden" name="language" value="${language}">`
  if (form === 'notice') return html`<p class="dim">${notice}</p>${report}`
  return html`<label class="tick"><input type="checkbox" name="${ticked}" value="yes"> <span>${choice}</span></label>${report}`
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
  const targets = {
    network: 'networks',
    choice: `way-${first}`,
    phone: wrongPhoneField(facts),
    wait: 'phone',
    busy: 'phone',
    visitor: 'phone',
  }
  return html`<div class="notice wrong" role="alert" tabindex="-1" autofocus><h2>${facts.translator.t('problemTitle')}</h2>
<p><a href="#${targets[problem.kind]}">${problemText(facts, problem)}</a></p></div>`
}

/** The result of the last attempt, and what to do. */
function declineNotice(facts: CheckoutFacts): Html | null {
  const { attempt, translator, merchant, form } = facts
  if (!attempt?.failureCode) return null
  const id = adviceAfterDecline(facts, attempt.failureCode)
  const advice = translator.t(id, { merchant: merchant.name })
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
