// Small components that several screens share.

import { money } from '../../core/money.ts'
import { withoutControls } from '../../core/text/direction.ts'
import { type Html, html, trustedHtml } from '../../kit/http/html.ts'
import type { AttemptRow } from '../../payments/attempt.ts'
import type { MessageId } from '../locales/en.ts'
import type { CheckoutFacts } from './facts.ts'

export interface Screen {
  title: string
  head?: Html
  /** The card in the middle of the page. */
  body: Html
}

export function amountOf({ payment, translator }: CheckoutFacts): string {
  return translator.amount(money(payment.amountMinor, payment.currency))
}

export type Fact = readonly [label: string, value: string | Html | null | false]

/** Names and values; unknown values are omitted. */
export function factList(facts: readonly Fact[], extraClass = ''): Html {
  const rows = facts.map(
    ([label, value]) =>
      value &&
      html`<div><dt>${label}</dt><dd>${typeof value === 'string' ? html`<bdi>${withoutControls(value)}</bdi>` : value}</dd></div>`,
  )
  return html`<dl class="facts ${extraClass}">${rows}</dl>`
}

/** Digits, codes and numbers keep their order in every language. */
export function ltr(text: string): Html {
  return html`<bdi dir="ltr">${text}</bdi>`
}

/** Marks what only the sandbox has, so that no integrator plans with it. */
export function testOnlyMark({ translator }: CheckoutFacts): Html {
  return html` <small class="test-only">${translator.t('testOnly')}</small>`
}

/** Names such as M-Pesa are not broken at their hyphen. */
export function unbroken(names: readonly string[]): Html[] {
  return names.map((name, index) => html`${index > 0 && ', '}<bdi>${name.split(' ').map(unbrokenWord)}</bdi>`)
}

function unbrokenWord(word: string, index: number): Html {
  const shown = word.includes('-') ? html`<span class="word">${word}</span>` : word
  return html`${index > 0 && ' '}${shown}`
}

export function postButton(
  action: string,
  label: string,
  variant: 'main' | 'plain' | 'link' = 'main',
  fields: Html | null = null,
): Html {
  return html`<form method="post" action="${action}">${fields}<button class="${variant}">${label}</button></form>`
}

/** The attempt that a form belongs to, so that a form in an old tab cannot change a newer attempt. */
export function attemptField({ payment }: CheckoutFacts): Html {
  return html`<input type="hidden" name="attempt" value="${payment.attemptsUsed}">`
}

export function returnLink(
  { returnUrl, merchant, translator }: CheckoutFacts,
  variant: 'main' | 'plain' = 'main',
): Html | null {
  if (returnUrl === null) return null
  return html`<a class="button ${variant}" href="${returnUrl}" rel="noreferrer">${translator.t('returnTo', { merchant: merchant.name })}</a>`
}

/** The link that leaves the checkout: to the merchant, if there is a return URL. */
export function cancelForm(facts: CheckoutFacts): Html {
  const { path, returnUrl, translator } = facts
  const label = translator.t(returnUrl === null ? 'cancelPayment' : 'cancelAndReturn')
  return postButton(`${path}/cancel`, label, 'link', attemptField(facts))
}

const PHONE = '<rect x="7" y="2.5" width="10" height="19" rx="2.5"/><path d="M11 18.5h2"/>'
const BANK = '<path d="M3 9.5 12 4l9 5.5zM5 10v8m4.7-8v8m4.6-8v8M19 10v8M3 20h18"/>'

const ICONS = {
  card: '<rect x="2.5" y="5" width="19" height="14" rx="2.5"/><path d="M2.5 10h19M6 15h4"/>',
  mobile_money: PHONE,
  bank_transfer: BANK,
  direct_mobile_money: PHONE,
  direct_bank_transfer: BANK,
  paid: '<path d="m5 12.5 4.5 4.5L19 7.5"/>',
  stopped: '<path d="m7 7 10 10M17 7 7 17"/>',
  waiting: '<path d="M12 6.5V12l3.5 2"/><circle cx="12" cy="12" r="9"/>',
  attention: '<path d="M12 6v7m0 4.2v.3"/>',
} as const

export type IconName = keyof typeof ICONS

export function icon(name: IconName): Html {
  return html`<svg viewBox="0 0 24 24" aria-hidden="true">${trustedHtml(ICONS[name])}</svg>`
}

/** A round icon above the heading of a result or waiting screen. */
export function statusIcon(name: 'paid' | 'stopped' | 'waiting' | 'attention' | 'mobile_money'): Html {
  return html`<div class="sign ${name}">${icon(name)}</div>`
}

/** A deadline as a time and as a visual countdown; the script announces the last minute to screen readers. */
export function deadline({ translator, now }: CheckoutFacts, text: string, expiresAt: Date): Html {
  const leftMs = Math.max(0, expiresAt.getTime() - now.getTime())
  return html`<div class="deadline"><p>${text}</p>
<p class="left">${translator.t('timeLeft')} <b data-left="${leftMs}" data-minute="${translator.t('minuteLeft')}" data-seconds="${translator.t('secondsLeft')}"><bdi dir="ltr">${minutesAndSeconds(leftMs)}</bdi></b></p></div>`
}

function minutesAndSeconds(ms: number): string {
  const seconds = Math.floor(ms / 1_000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

/** Shown from this age of the attempt on: by the script to the second, without it at the next reload. */
export function revealedAfter(
  { now }: Pick<CheckoutFacts, 'now'>,
  attempt: Pick<AttemptRow, 'startedAt'>,
  afterMs: number,
  content: Html,
): Html {
  const leftMs = attempt.startedAt.getTime() + afterMs - now.getTime()
  return leftMs <= 0 ? content : html`<div hidden data-reveal="${leftMs}">${content}</div>`
}

export const CHANNEL_MESSAGES = {
  card: { name: 'card', hint: 'cardHint' },
  mobile_money: { name: 'mobileMoney', hint: 'mobileMoneyHint' },
  bank_transfer: { name: 'bankTransfer', hint: 'bankTransferHint' },
  direct_mobile_money: { name: 'directMobileMoney', hint: 'directHint' },
  direct_bank_transfer: { name: 'directBankTransfer', hint: 'directHint' },
} as const satisfies Record<string, { name: MessageId; hint: MessageId }>
