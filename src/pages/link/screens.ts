// What somebody sees at a link: who is paid and for what, the form, or why nothing can be paid any more and what to do.

import { decimalsOf } from '../../core/currency.ts'
import { type Money, money } from '../../core/money.ts'
import { type Html, html } from '../../kit/html.ts'
import type { LinkVisit } from '../../links/pay.ts'
import type { LinkRow } from '../../links/queries.ts'
import type { MerchantProfile } from '../../merchants/profiles.ts'
import { factList, sign } from '../checkout/pieces.ts'
import type { Speech } from '../speech.ts'
import type { WordId } from '../words/en.ts'
import { withoutControls } from '../words.ts'
import { type Field, type LinkForm, PROBLEMS, type Problem } from './form.ts'

export interface LinkFacts extends LinkVisit {
  merchant: MerchantProfile
  speech: Speech
  /** The payer's own address, without a slash at the end. */
  path: string
  form: LinkForm
  /** Of this form: sent twice, it is one payment. */
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
  const { speech, path, formToken, link, merchant } = facts
  const amount = fixedAmount(link)
  const title = amount
    ? speech.say('payTitle', { amount: speech.amount(amount), merchant: merchant.name })
    : speech.say('linkPayTo', { merchant: merchant.name })
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
${field(facts, 'email', html`type="email" autocomplete="email" dir="ltr" maxlength="254"`)}
<button class="main">${speech.say('linkContinue')}</button>
</form>
<p class="dim foot">${speech.say('linkNext')}</p></section></div>`,
  }
}

function fixedAmount({ amountMinor, currency }: LinkRow): Money | null {
  return amountMinor === null ? null : money(amountMinor, currency)
}

function heading({ link, speech, merchant }: LinkFacts): Html {
  const amount = fixedAmount(link)
  if (!amount) return html`<h1 class="big">${speech.say('linkPayTo', { merchant: merchant.name })}</h1>`
  const shown = html`<span class="amount">${speech.amount(amount)}</span>`
  return html`<h1>${speech.sayAround('payTitle', { merchant: merchant.name }, 'amount', shown)}</h1>`
}

/** The merchant's own words, which stay as they are in every language. */
function about({ link, speech }: LinkFacts): Html {
  const { title, description } = link
  return html`${factList([[speech.say('paymentFor'), title]])}
${description !== null && html`<p class="dim lines"><bdi>${withoutControls(description)}</bdi></p>`}`
}

const LABELS: Readonly<Record<Exclude<Field, 'amount'>, WordId>> = {
  firstname: 'firstname',
  lastname: 'lastname',
  email: 'email',
}

function field(facts: LinkFacts, name: Exclude<Field, 'amount'>, attributes: Html): Html {
  return labelled(facts, name, facts.speech.say(LABELS[name]), attributes)
}

function amountField(facts: LinkFacts): Html {
  const { speech, link } = facts
  const label = speech.say('linkAmount', { currency: link.currency })
  const attributes = html`type="text" inputmode="decimal" autocomplete="off" dir="ltr" maxlength="30"`
  return labelled(facts, 'amount', label, attributes, boundWords(facts))
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
${problem && html`<p class="wrong" id="${name}-problem">${problemWords(facts, problem)}</p>`}
<input id="${name}" name="${name}" value="${facts.form.typed[name]}" required ${attributes}${described !== '' && html` aria-describedby="${described}"`}${problem && html` aria-invalid="true"`}>`
}

/** Between what the payer may choose. */
function boundWords(facts: LinkFacts): string | null {
  const { speech } = facts
  const { least, most } = boundsOf(facts)
  if (least !== null && most !== null) return speech.say('linkAmountBetween', { least, most })
  if (least !== null) return speech.say('linkAmountFrom', { least })
  return most === null ? null : speech.say('linkAmountUpTo', { most })
}

function boundsOf({ link, speech }: LinkFacts): { least: string | null; most: string | null } {
  const { currency, minAmountMinor, maxAmountMinor } = link
  const amount = (minor: bigint | null) => (minor === null ? null : speech.amount(money(minor, currency)))
  return { least: amount(minAmountMinor), most: amount(maxAmountMinor) }
}

/** First on the page and in focus, with links to the fields. */
function problemSummary(facts: LinkFacts): Html | null {
  const { problems } = facts.form
  if (problems.length === 0) return null
  const lines = problems.map((problem) => {
    const target = PROBLEMS[problem]
    const words = problemWords(facts, problem)
    return target === null ? html`<p>${words}</p>` : html`<p><a href="#${target}">${words}</a></p>`
  })
  return html`<div class="notice wrong" role="alert" tabindex="-1" autofocus><h2>${facts.speech.say('problemTitle')}</h2>${lines}</div>`
}

function problemWords(facts: LinkFacts, problem: Problem): string {
  const { speech, merchant, link } = facts
  const { least, most } = boundsOf(facts)
  const values = { merchant: merchant.name, least: least ?? '', most: most ?? '', example: exampleOf(link) }
  return speech.say(PROBLEM_WORDS[problem], values)
}

const PROBLEM_WORDS: Readonly<Record<Problem, WordId>> = {
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

/** As many decimals as the currency has, so that nobody writes cents where there are none. */
function exampleOf({ currency }: LinkRow): string {
  return decimalsOf(currency) === 0 ? '1500' : '1500.50'
}

interface Ending {
  http: number
  look: 'stopped' | 'waiting' | 'attention' | 'paid'
  title: WordId
  text: WordId
}

// Gone for good, or only for now: a machine reads it in the status, a person in the words.
const ENDINGS: Readonly<Record<Exclude<LinkVisit['state'], 'active'>, Ending>> = {
  completed: { http: 410, look: 'stopped', title: 'linkFullTitle', text: 'linkEndedText' },
  inactive: { http: 410, look: 'stopped', title: 'linkInactiveTitle', text: 'linkEndedText' },
  expired: { http: 410, look: 'stopped', title: 'expiredTitle', text: 'linkEndedText' },
  busy: { http: 409, look: 'waiting', title: 'linkBusyTitle', text: 'linkBusyText' },
  closed: { http: 503, look: 'attention', title: 'linkClosedTitle', text: 'linkClosedText' },
}

/** One payment was asked for, and somebody has made it: that is what the payer wants to know. */
const PAID: Ending = { http: 410, look: 'paid', title: 'linkPaidTitle', text: 'linkEndedText' }

function endingOf({ state, link }: LinkFacts): Ending {
  if (state === 'completed' && link.maxPayments === 1) return PAID
  return ENDINGS[state === 'active' ? 'closed' : state]
}

function endedScreen(facts: LinkFacts): LinkScreen {
  const { state, speech, merchant, link, path } = facts
  const ending = endingOf(facts)
  const title = speech.say(ending.title)
  const isPassing = state === 'busy' || state === 'closed'
  return {
    http: ending.http,
    title,
    body: html`<section class="sheet narrow">${sign(ending.look)}<h1>${title}</h1>
<p>${speech.say(ending.text, { merchant: merchant.name })}</p>
${factList([[speech.say('paymentFor'), link.title]])}
${isPassing && html`<a class="button" href="${path}">${speech.say('checkNow')}</a>`}</section>`,
  }
}
