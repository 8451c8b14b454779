// The seven languages of the payer's pages and how a text of one is filled in. The texts stand in locales/, one file per
// language; amounts, times and numbers always have Latin digits, so that they match the operator's prompt.

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
  /** In the language itself, for the switcher. */
  name: string
  direction: 'ltr' | 'rtl'
  /** For plural rules, amounts and dates. */
  locale: string
  messages: Messages
  /** Whether somebody who grew up with the language has read every text. */
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

/** A text of the language with its values. Values are plain text: escaping is left to the template that shows it. */
export function translate(language: Language, id: MessageId, values: MessageValues = {}): string {
  const { direction } = LANGUAGES[language]
  const shown = Object.entries(values).map(([name, value]) => [
    name,
    typeof value === 'string' ? isolated(value, direction) : value,
  ])
  return String(compiledMessage(language, id).format(Object.fromEntries(shown)))
}

const compiledMessages = new Map<string, IntlMessageFormat>()

/** Parsed once: a page has some thirty texts, and parsing costs more than filling in. */
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
 * A value that cannot disturb the order of the text around it. Control characters in it are dropped: they could make a
 * name end in somebody else's messages.
 */
export function isolated(value: string, direction: 'ltr' | 'rtl'): string {
  const plain = withoutControls(value)
  if (direction === 'ltr' && !RIGHT_TO_LEFT.test(plain)) return plain
  return `${FIRST_STRONG_ISOLATE}${plain}${END_OF_ISOLATE}`
}

export function withoutControls(text: string): string {
  return text.replaceAll(DIRECTION_CONTROLS, '')
}
