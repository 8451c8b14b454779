// The translator of one page: texts, amounts and times in one language, formatted for the payer's country.

import { type Direction, LANGUAGES, type Language } from '../core/languages.ts'
import type { Money } from '../core/money.ts'
import { displayAmount } from '../core/text/display-amount.ts'
import { type TimeFormats, timeFormats } from '../core/text/display-time.ts'
import { type Html, html } from '../kit/http/html.ts'
import type { MessageValues } from '../kit/http/messages.ts'
import type { MessageId } from './locales/en.ts'
import { translate } from './locales.ts'

export interface Translator extends TimeFormats {
  language: Language
  direction: Direction
  t(id: MessageId, values?: MessageValues): string
  /** The sentence with one of its values as markup, such as the amount in a heading. */
  withMarkup(id: MessageId, values: MessageValues, name: string, markup: Html): Html
  /** The name of the country of an ISO 3166-1 alpha-2 code. */
  country(code: string): string
  /** "KSh 1,500": see display-amount.ts. */
  amount(money: Money): string
}

// A private-use character, which no text contains, marks the position of the markup.
const PLACEHOLDER = '\ue000'
// The markup would separate the isolation marks around it, and it isolates its content itself.
const ISOLATED_PLACEHOLDER = /\u2068?\ue000\u2069?/

export function translatorFor(
  language: Language,
  country: string | null,
  deviceZone: string | null = null,
): Translator {
  const { direction } = LANGUAGES[language]
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
    country: (code) => new Intl.DisplayNames(language, { type: 'region' }).of(code) ?? code,
    amount: (money) => displayAmount(money, language),
    ...timeFormats(language, country, deviceZone),
  }
}

/** A merchant's name can be any text. */
function withoutPlaceholder(value: string | number): string | number {
  return typeof value === 'string' ? value.replaceAll(PLACEHOLDER, '') : value
}
