// The translator of one page: texts, amounts and times in one language, formatted for the payer's country.

import { timeZoneOf } from '../core/countries.ts'
import type { Language } from '../core/languages.ts'
import { formatAmount, type Money } from '../core/money.ts'
import { type Html, html } from '../kit/http/html.ts'
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
  /** "13:32 GMT+3", for times within hours. */
  timeOfDay(date: Date): string
}

// A private-use character, which no text contains, marks the position of the markup.
const PLACEHOLDER = '\ue000'
// The markup would separate the isolation marks around it, and it isolates its content itself.
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

/** A merchant's name can be any text. */
function withoutPlaceholder(value: string | number): string | number {
  return typeof value === 'string' ? value.replaceAll(PLACEHOLDER, '') : value
}

const TIME_OF_DAY: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit', timeZoneName: 'short' }

/** The Gregorian calendar and 24 hours everywhere, as merchants, banks and operators write them. */
function timeFormat(locale: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat(latinDigits(locale), { ...options, hourCycle: 'h23', calendar: 'gregory' })
}

/** "KES 1,250.00": the code, because three countries share a symbol, and no line break inside. */
function displayAmount(amount: Money, language: Language): string {
  const { currency } = amount
  const { locale, direction } = LANGUAGES[language]
  // Arabic uses the form of the operators' prompts, so that the payer compares the same characters.
  const format = new Intl.NumberFormat(latinDigits(direction === 'rtl' ? 'en' : locale), {
    style: 'currency',
    currency,
    currencyDisplay: 'code',
  })
  // A boundary: formatAmount returns exactly the decimal string that Intl accepts without a float.
  const text = format.format(formatAmount(amount) as `${number}`).replaceAll(' ', '\u00a0')
  return direction === 'rtl' ? isolated(text, direction) : text
}
