// How one page speaks: its texts, amounts and times in one language, as the payer's country writes them.

import type { Language } from '../core/languages.ts'
import { formatAmount, type Money } from '../core/money.ts'
import { timeZoneOf } from '../core/time-zones.ts'
import { type Html, html } from '../kit/html.ts'
import type { WordId } from './words/en.ts'
import { isolated, LANGUAGES, latinDigits, say, type WordValues } from './words.ts'

export interface Speech {
  language: Language
  direction: 'ltr' | 'rtl'
  say(id: WordId, values?: WordValues): string
  /** The sentence with one of its values as markup, such as the amount in a heading. */
  sayAround(id: WordId, values: WordValues, name: string, markup: Html): Html
  amount(money: Money): string
  /** "14 Nov 2026, 13:32 GMT+3" */
  time(date: Date): string
  /** "13:32 GMT+3", for what ends within hours. */
  clock(date: Date): string
}

// A character of no alphabet, which no text of ours holds: where the markup goes.
const PLACE = '\ue000'
// The marks around it would be torn apart by the markup, which isolates what it holds by itself.
const ISOLATED_PLACE = /\u2068?\ue000\u2069?/

export function speechOf(language: Language, country: string | null): Speech {
  const { direction, locale } = LANGUAGES[language]
  const timeZone = timeZoneOf(country)
  const times = timeFormat(locale, { timeZone, day: 'numeric', month: 'short', year: 'numeric', ...CLOCK })
  const clocks = timeFormat(locale, { timeZone, ...CLOCK })
  return {
    language,
    direction,
    say: (id, values) => say(language, id, values),
    sayAround(id, values, name, markup) {
      const others = Object.entries(values).map(([one, value]) => [one, withoutPlace(value)])
      const text = say(language, id, { ...Object.fromEntries(others), [name]: PLACE })
      const [before = '', after = ''] = text.split(ISOLATED_PLACE)
      return html`${before}${markup}${after}`
    },
    amount: (money) => displayAmount(money, language),
    time: (date) => times.format(date),
    clock: (date) => clocks.format(date),
  }
}

/** A merchant may call itself anything. */
function withoutPlace(value: string | number): string | number {
  return typeof value === 'string' ? value.replaceAll(PLACE, '') : value
}

const CLOCK: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit', timeZoneName: 'short' }

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
