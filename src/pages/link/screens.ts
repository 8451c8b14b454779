// The screens of a payment link: the merchant and the purpose, the form, or why the link cannot be paid and what to
// do.

import { decimalsOf } from '../../core/currency.ts'
import { type Money, money } from '../../core/money.ts'
import { withoutControls } from '../../core/text/direction.ts'
import { type Html, html } from '../../kit/http/html.ts'
import type { LinkRow } from '../../links/link.ts'
import type { LinkView } from '../../links/pay.ts'
import type { MerchantProfile } from '../../merchants/profiles.ts'
import { factList, statusIcon } from '../checkout/components.ts'
import type { MessageId } from '../locales/en.ts'
import type { Translator } from '../translator.ts'
import { type Field, type LinkForm, PROBLEMS, type Problem } from './form.ts'

export interface LinkFacts extends LinkView {
  merchant: MerchantProfile
  translator: Translator
  /** The URL of the payer's page, without a trailing slash. */
  path: string
  form: LinkForm
  /** The idempotency key of this form: submitted twice, it is one payment. */
  formToken: string
}

export interface LinkScreen {
  http: number
  title: string
  body: Html
}

export function linkScreen(facts: LinkFacts): LinkScreen {
  return facts.state === 'active' ? openScreen(facts) : endedScreen(facts)
}

function openScreen(facts: LinkFacts): LinkScreen {
  const { translator, path, formToken, link, merchant, asksEmail } = facts
  const amount = fixedAmount(link)
  const title = amount
    ? translator.t('payTitle', { amount: translator.amount(amount), merchant: merchant.name })
    : translator.t('linkPayTo', { merchant: merchant.name })
  return {
    http: 200,
    title,
    body: html`<div class="columns"><section class="summary">${heading(facts)}${about(facts)}</section>
<section class="sheet">${problemSummary(facts)}
<form method="post" action="${path}" class="ask" novalidate>
<input type="hidden" name="token" value="${formToken}">
${link.amountMinor === null && amountField(facts)}
${field(facts, 'firstname', html`type="text" autocomplete="given-name" maxlength="100"`)}
${field(facts, 'lastname', html`type="text" autocomplete="family-name" maxlength="100"`)}
${asksEmail && field(facts, 'email', html`type="email" autocomplete="email" dir="ltr" maxlength="254"`)}
<button class="main">${translator.t('linkContinue')}</button>
</form>
<p class="dim foot">${translator.t('linkNext')}</p></section></div>`,
  }
}

function fixedAmount({ amountMinor, currency }: LinkRow): Money | null {
  return amountMinor === null ? null : money(amountMinor, currency)
}

function heading({ link, translator, merchant }: LinkFacts): Html {
  const amount = fixedAmount(link)
  if (!amount) return html`<h1 class="big">${translator.t('linkPayTo', { merchant: merchant.name })}</h1>`
  const shown = html`<span class="amount">${translator.amount(amount)}</span>`
  return html`<h1>${translator.withMarkup('payTitle', { merchant: merchant.name }, 'amount', shown)}</h1>`
}

/** The merchant's own texts, which are the same in every language. */
function about({ link, translator }: LinkFacts): Html {
  const { title, description } = link
  return html`${factList([[translator.t('paymentFor'), title]])}
${description !== null && html`<p class="dim lines"><bdi>${withoutControls(description)}</bdi></p>`}`
}

const LABELS: Readonly<Record<Exclude<Field, 'amount'>, MessageId>> = {
  firstname: 'firstname',
  lastname: 'lastname',
  email: 'email',
}

function field(facts: LinkFacts, name: Exclude<Field, 'amount'>, attributes: Html): Html {
  return labelled(facts, name, facts.translator.t(LABELS[name]), attributes)
}

function amountField(facts: LinkFacts): Html {
  const { translator, link } = facts
  const label = translator.t('linkAmount', { currency: link.currency })
  const attributes = html`type="text" inputmode="decimal" autocomplete="off" dir="ltr" maxlength="30"`
  return labelled(facts, 'amount', label, attributes, boundsText(facts))
}

function labelled(
  facts: LinkFacts,
  name: Field,
  label: string,
  attributes: Html,
  hint: string | null = null,
): Html {
  const problem = facts.form.problems.find((one) => PROBLEMS[one] === name)
  const described = [hint !== null && `${name}-hint`, problem && `${name}-problem`].filter(Boolean).join(' ')
  return html`<label for="${name}">${label}</label>
${hint !== null && html`<p class="dim" id="${name}-hint">${hint}</p>`}
${problem && html`<p class="wrong" id="${name}-problem">${problemText(facts, problem)}</p>`}
<input id="${name}" name="${name}" value="${facts.form.typed[name]}" required ${attributes}${described !== '' && html` aria-describedby="${described}"`}${problem && html` aria-invalid="true"`}>`
}

/** The range of a free amount. */
function boundsText(facts: LinkFacts): string | null {
  const { translator } = facts
  const { least, most } = boundsOf(facts)
  if (least !== null && most !== null) return translator.t('linkAmountBetween', { least, most })
  if (least !== null) return translator.t('linkAmountFrom', { least })
  return most === null ? null : translator.t('linkAmountUpTo', { most })
}

function boundsOf({ link, translator }: LinkFacts): { least: string | null; most: string | null } {
  const { currency, minAmountMinor, maxAmountMinor } = link
  const amount = (minor: bigint | null) => (minor === null ? null : translator.amount(money(minor, currency)))
  return { least: amount(minAmountMinor), most: amount(maxAmountMinor) }
}

/** First on the page and focused, with links to the fields. */
function problemSummary(facts: LinkFacts): Html | null {
  const { problems } = facts.form
  if (problems.length === 0) return null
  const lines = problems.map((problem) => {
    const target = PROBLEMS[problem]
    const text = problemText(facts, problem)
    return target === null ? html`<p>${text}</p>` : html`<p><a href="#${target}">${text}</a></p>`
  })
  return html`<div class="notice wrong" role="alert" tabindex="-1" autofocus><h2>${facts.translator.t('problemTitle')}</h2>${lines}</div>`
}

function problemText(facts: LinkFacts, problem: Problem): string {
  const { translator, merchant, link } = facts
  const { least, most } = boundsOf(facts)
  const values = { merchant: merchant.name, least: least ?? '', most: most ?? '', example: exampleOf(link) }
  return translator.t(PROBLEM_MESSAGES[problem], values)
}

const PROBLEM_MESSAGES: Readonly<Record<Problem, MessageId>> = {
  amount: 'problemAmount',
  amountLow: 'problemAmountLow',
  amountHigh: 'problemAmountHigh',
  firstname: 'problemFirstname',
  firstnameCard: 'problemCardNumber',
  lastname: 'problemLastname',
  lastnameCard: 'problemCardNumber',
  email: 'problemEmail',
  refused: 'problemRefused',
  closed: 'linkClosedText',
}

/** As many decimals as the currency has, so that payers enter no cents where there are none. */
function exampleOf({ currency }: LinkRow): string {
  return decimalsOf(currency) === 0 ? '1500' : '1500.50'
}

interface EndedScreen {
  http: number
  icon: 'stopped' | 'waiting' | 'attention' | 'paid'
  title: MessageId
  text: MessageId
}

// 410 if the link has ended, 409 if all slots are taken, 503 if the link is closed for now; the text says the same.
const ENDINGS: Readonly<Record<Exclude<LinkView['state'], 'active'>, EndedScreen>> = {
  completed: { http: 410, icon: 'stopped', title: 'linkFullTitle', text: 'linkEndedText' },
  inactive: { http: 410, icon: 'stopped', title: 'linkInactiveTitle', text: 'linkEndedText' },
  expired: { http: 410, icon: 'stopped', title: 'expiredTitle', text: 'linkEndedText' },
  busy: { http: 409, icon: 'waiting', title: 'linkBusyTitle', text: 'linkBusyText' },
  closed: { http: 503, icon: 'attention', title: 'linkClosedTitle', text: 'linkClosedText' },
}

/** The link allows one payment, and it was made: the payer may want to know that. */
const PAID: EndedScreen = { http: 410, icon: 'paid', title: 'linkPaidTitle', text: 'linkEndedText' }

function endingOf({ state, link }: LinkFacts): EndedScreen {
  if (state === 'completed' && link.maxPayments === 1) return PAID
  return ENDINGS[state === 'active' ? 'closed' : state]
}

function endedScreen(facts: LinkFacts): LinkScreen {
  const { state, translator, merchant, link, path } = facts
  const ending = endingOf(facts)
  const title = translator.t(ending.title)
  const isTransient = state === 'busy' || state === 'closed'
  return {
    http: ending.http,
    title,
    body: html`<section class="sheet narrow">${statusIcon(ending.icon)}<h1>${title}</h1>
<p>${translator.t(ending.text, { merchant: merchant.name })}</p>
${factList([[translator.t('paymentFor'), link.title]])}
${isTransient && html`<a class="button" href="${path}">${translator.t('checkNow')}</a>`}</section>`,
  }
}
