// How one page speaks: its texts, amounts and times in one language, as the payer's country writes them.

import type { Language } from '../core/languages.ts'
import { formatAmount, type Money } from '../core/money.ts'
import { timeZoneOf } from '../core/time-zones.ts'
import { type Html, html } from '../kit/html.ts'
import type { MessageId } from './locales/en.ts'
import { isolated, LANGUAGES, latinDigits, type MessageValues, translate } from './locales.ts'

export interface Translator {
  language: Language
  direction: 'ltr' | 'rtl'
  t(id: MessageId, values?: MessageValues): string
  /** The sentence with one of its values as markup, such as the amount in a heading. */
  withMarkup(id: MessageId, values: MessageValues, name: string, markup: Html): Html
  amount(money: Money): string
  /** "14 Nov 2026, 13:32 GMT+3" */
  time(date: Date): string
  /** "13:32 GMT+3", for what ends within hours. */
  timeOfDay(date: Date): string
}

// A character of no alphabet, which no text of ours holds: where the markup goes.
const PLACEHOLDER = '\ue000'
// The marks around it would be torn apart by the markup, which isolates what it holds by itself.
const ISOLATED_PLACEHOLDER = /\u2068?\ue000\u2069?/

export function translatorFor(language: Language, country: string | null): Translator {
  const { direction, locale } = LANGUAGES[language]
  const timeZone = timeZoneOf(country)
  const times = timeFormat(locale, {
    timeZone,
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    ...TIME_OF_DAY,
  })
  const timesOfDay = timeFormat(locale, { timeZone, ...TIME_OF_DAY })
  return {
    language,
    direction,
    t: (id, values) => translate(language, id, values),
    withMarkup(id, values, name, markup) {
      const others = Object.entries(values).map(([one, value]) => [one, withoutPlaceholder(value)])
      const text = translate(language, id, { ...Object.fromEntries(others), [name]: PLACEHOLDER })
      const [before = '', after = ''] = text.split(ISOLATED_PLACEHOLDER)
      return html`${before}${markup}${after}`
    },
    amount: (money) => displayAmount(money, language),
    time: (date) => times.format(date),
    timeOfDay: (date) => timesOfDay.format(date),
  }
}

/** A merchant may call itself anything. */
function withoutPlaceholder(value: string | number): string | number {
  return typeof value === 'string' ? value.replaceAll(PLACEHOLDER, '') : value
}

const TIME_OF_DAY: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit', timeZoneName: 'short' }

/** The Gregorian calendar and 24 hours everywhere: what the merchant, the bank and the operator write. */
function timeFormat(locale: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat(latinDigits(locale), { ...options, hourCycle: 'h23', calendar: 'gregory' })
}

/** "KES 1,250.00": the code, not a symbol that three countries share, and no line break inside. */
function displayAmount(amount: Money, language: Language): string {
  const { currency } = amount
  const { locale, direction } = LANGUAGES[language]
  // Arabic takes the form that the operators' prompts have, so that the payer compares the same characters.
  const format = new Intl.NumberFormat(latinDigits(direction === 'rtl' ? 'en' : locale), {
    style: 'currency',
    currency,
    currencyDisplay: 'code',
  })
  // A boundary: formatAmount writes exactly the decimal text that Intl takes without going through a float.
  const text = format.format(formatAmount(amount) as `${number}`).replaceAll(' ', '\u00a0')
  return direction === 'rtl' ? isolated(text, direction) : text
}
