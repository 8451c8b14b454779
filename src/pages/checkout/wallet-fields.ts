// The fields of mobile money: the network as buttons, the number, and what is wrong with either.

import type { Channel } from '../../gateways/gateway.ts'
import { type Html, html } from '../../kit/http/html.ts'
import { examplePhone, type PhoneProblem, readPhone } from '../../kit/phone.ts'
import type { MessageId } from '../locales/en.ts'
import { testOnlyMark, unbroken } from './components.ts'
import type { CheckoutFacts } from './facts.ts'
import { contactField, type Problem } from './form.ts'

export function walletFields(facts: CheckoutFacts): Html {
  return html`${networkButtons(facts)}${facts.asksPhone && phoneField(facts, 'phone')}${facts.asksPhone && pageHint(facts)}`
}

/** Shown instead of the number when the payer chooses a network with a page of its own. */
function pageHint({ networks, translator }: CheckoutFacts): Html | null {
  const names = networks.filter(({ hasPage }) => hasPage).map(({ name }) => name)
  if (names.length === 0) return null
  return html`<p class="dim page-hint">${translator.t('networkPageHint', { network: names.join(' / ') })}</p>`
}

/** The largest network first. A number suggests its network, and the payer can always choose another one. */
function networkButtons(facts: CheckoutFacts): Html | null {
  const { translator, form, networks, attempt } = facts
  if (networks.length < 2) return null
  const isWrong = form.problem?.kind === 'network'
  const chosen = form.network ?? attempt?.choice?.network
  return html`<fieldset class="networks" id="networks" tabindex="-1"${isWrong && html` aria-describedby="network-problem"`}><legend>${translator.t('network')}</legend>
${isWrong && html`<p class="wrong" id="network-problem">${problemText(facts, form.problem)}</p>`}
${networks.map(({ code, name, hasPage, isTestOnly }) => html`<label><input type="radio" name="network" value="${code}"${hasPage && html` class="page"`}${code === chosen && html` checked`}><span>${unbroken([name])}${isTestOnly && !facts.testOnlyChannels.includes('mobile_money') && testOnlyMark(facts)}</span></label>`)}</fieldset>`
}

const PHONE_PROBLEMS: ReadonlySet<Problem['kind'] | undefined> = new Set([
  'phone',
  'wait',
  'busy',
  'visitor',
] as const)

/** The number that the gateway of a channel wants of every payer, if the merchant has not sent it. */
export function contactFields(facts: CheckoutFacts, channel: Channel): Html | null {
  return facts.contactChannels.includes(channel) ? phoneField(facts, contactField(channel)) : null
}

/** The field with the wrong number. */
export function wrongPhoneField({ form, contactChannels }: CheckoutFacts): string {
  const { channel } = form
  return channel !== null && contactChannels.includes(channel) ? contactField(channel) : 'phone'
}

/** `id` is also the name of the field. */
function phoneField(facts: CheckoutFacts, id: string): Html {
  const { translator, form, payment } = facts
  const example = examplePhone(payment.country)
  const isWrong = PHONE_PROBLEMS.has(form.problem?.kind) && wrongPhoneField(facts) === id
  const describedBy = isWrong ? `${id}-hint ${id}-problem` : `${id}-hint`
  return html`<div class="number"><label for="${id}">${translator.t('phone')}</label>
<p class="dim" id="${id}-hint">${example === null ? translator.t('phoneInternational') : translator.t('phoneExample', { example })}</p>
${isWrong && html`<p class="wrong" id="${id}-problem">${problemText(facts, form.problem)}</p>`}
<input type="tel" id="${id}" name="${id}" value="${form.phone || knownPhone(facts)}" autocomplete="tel" dir="ltr" maxlength="40" aria-describedby="${describedBy}"${isWrong && html` aria-invalid="true"`}></div>`
}

/** The number that the merchant sent, as people of its country write it. */
function knownPhone({ payment }: CheckoutFacts): string {
  return payment.customerPhone === null
    ? ''
    : (readPhone(payment.customerPhone, payment.country)?.national ?? payment.customerPhone)
}

const PHONE_MESSAGES: Readonly<Record<PhoneProblem, MessageId>> = {
  missing: 'problemPhoneMissing',
  not_a_number: 'problemPhoneText',
  too_short: 'problemPhoneShort',
  too_long: 'problemPhoneLong',
  not_mobile: 'problemPhoneLandline',
  foreign: 'problemPhoneForeign',
  without_code: 'problemPhoneCode',
}

const ANY_EXAMPLE = '+254 712 345 678'

export function problemText(facts: CheckoutFacts, problem: Problem | null): string {
  const { translator, merchant, payment } = facts
  switch (problem?.kind) {
    case 'refused':
      return translator.t('problemRefused', { merchant: merchant.name })
    case 'phone':
      return translator.t(PHONE_MESSAGES[problem.reason], {
        example: examplePhone(payment.country) ?? ANY_EXAMPLE,
        country: payment.country === null ? '' : translator.country(payment.country),
      })
    case 'network':
      return translator.t('problemNetwork')
    case 'wait':
    case 'busy':
    case 'visitor':
      return waitText(facts, problem)
    default:
      return translator.t('problemChoice')
  }
}

const WAIT_MESSAGES = {
  wait: { seconds: 'problemWaitSeconds', minutes: 'problemWaitMinutes' },
  busy: { seconds: 'problemBusySeconds', minutes: 'problemBusyMinutes' },
  visitor: { minutes: 'problemVisitor' },
} as const

function waitText({ translator, now }: CheckoutFacts, { kind, until }: Extract<Problem, { until: Date }>) {
  const seconds = Math.ceil((until.getTime() - now.getTime()) / 1_000)
  const messages = WAIT_MESSAGES[kind]
  return 'seconds' in messages && seconds < 60
    ? translator.t(messages.seconds, { seconds })
    : translator.t(messages.minutes, { minutes: Math.max(1, Math.round(seconds / 60)) })
}
