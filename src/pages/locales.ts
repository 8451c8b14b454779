// The seven languages of the payer's pages, and how a text is rendered. The texts are in locales/, one file per
// language. Amounts, times and numbers always have Latin digits, so that they match the operator's prompt.

import { IntlMessageFormat } from 'intl-messageformat'
import type { Language } from '../core/languages.ts'
import { AM } from './locales/am.ts'
import { AR } from './locales/ar.ts'
import { BN } from './locales/bn.ts'
import { EN, type MessageId, type Messages } from './locales/en.ts'
import { FR } from './locales/fr.ts'
import { PT } from './locales/pt.ts'
import { SW } from './locales/sw.ts'

interface LanguageFacts {
  /** The name of the language in itself, for the language switcher. */
  name: string
  direction: 'ltr' | 'rtl'
  /** The locale for plural rules, amounts and dates. */
  locale: string
  messages: Messages
  /** Whether a native speaker has reviewed every text. */
  isReviewed: boolean
}

export const LANGUAGES = {
  en: { name: 'English', direction: 'ltr', locale: 'en', messages: EN, isReviewed: true },
  fr: { name: 'Français', direction: 'ltr', locale: 'fr', messages: FR, isReviewed: false },
  pt: { name: 'Português', direction: 'ltr', locale: 'pt-PT', messages: PT, isReviewed: false },
  sw: { name: 'Kiswahili', direction: 'ltr', locale: 'sw', messages: SW, isReviewed: false },
  ar: { name: 'العربية', direction: 'rtl', locale: 'ar', messages: AR, isReviewed: false },
  am: { name: 'አማርኛ', direction: 'ltr', locale: 'am', messages: AM, isReviewed: false },
  bn: { name: 'বাংলা', direction: 'ltr', locale: 'bn', messages: BN, isReviewed: false },
} as const satisfies Record<Language, LanguageFacts>

export function isLanguage(text: unknown): text is Language {
  return typeof text === 'string' && Object.hasOwn(LANGUAGES, text)
}

export type MessageValues = Readonly<Record<string, string | number>>

/** A text of the language with its values. Values are plain text: the HTML template escapes them. */
export function translate(language: Language, id: MessageId, values: MessageValues = {}): string {
  const { direction } = LANGUAGES[language]
  const shown = Object.entries(values).map(([name, value]) => [
    name,
    typeof value === 'string' ? isolated(value, direction) : value,
  ])
  return String(compiledMessage(language, id).format(Object.fromEntries(shown)))
}

const compiledMessages = new Map<string, IntlMessageFormat>()

/** Parsed once and cached: a page has some thirty texts, and parsing costs more than rendering. */
function compiledMessage(language: Language, id: MessageId): IntlMessageFormat {
  const key = `${language}.${id}`
  const known = compiledMessages.get(key)
  if (known) return known
  const { messages, locale } = LANGUAGES[language]
  const message = new IntlMessageFormat(messages[id], latinDigits(locale), undefined, { ignoreTag: true })
  compiledMessages.set(key, message)
  return message
}

export function latinDigits(locale: string): string {
  return `${locale}-u-nu-latn`
}

const FIRST_STRONG_ISOLATE = '\u2068'
const END_OF_ISOLATE = '\u2069'
const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u
const DIRECTION_CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/**
 * Isolates a value from the direction of the text around it. Control characters are dropped, because they could
 * change the order of other text.
 */
export function isolated(value: string, direction: 'ltr' | 'rtl'): string {
  const plain = withoutControls(value)
  if (direction === 'ltr' && !RIGHT_TO_LEFT.test(plain)) return plain
  return `${FIRST_STRONG_ISOLATE}${plain}${END_OF_ISOLATE}`
}

export function withoutControls(text: string): string {
  return text.replaceAll(DIRECTION_CONTROLS, '')
}
