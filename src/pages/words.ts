// The seven languages of the payer's pages and how a text of one is filled in. The texts stand in words/, one file per
// language; amounts, times and numbers always have Latin digits, so that they match the operator's prompt.

import { IntlMessageFormat } from 'intl-messageformat'
import type { Language } from '../core/languages.ts'
import { AM } from './words/am.ts'
import { AR } from './words/ar.ts'
import { BN } from './words/bn.ts'
import { EN, type WordId, type Words } from './words/en.ts'
import { FR } from './words/fr.ts'
import { PT } from './words/pt.ts'
import { SW } from './words/sw.ts'

interface LanguageFacts {
  /** In the language itself, for the switcher. */
  name: string
  direction: 'ltr' | 'rtl'
  /** For plural rules, amounts and dates. */
  locale: string
  words: Words
  /** Whether somebody who grew up with the language has read every text. */
  isReviewed: boolean
}

export const LANGUAGES = {
  en: { name: 'English', direction: 'ltr', locale: 'en', words: EN, isReviewed: true },
  fr: { name: 'Français', direction: 'ltr', locale: 'fr', words: FR, isReviewed: false },
  pt: { name: 'Português', direction: 'ltr', locale: 'pt-PT', words: PT, isReviewed: false },
  sw: { name: 'Kiswahili', direction: 'ltr', locale: 'sw', words: SW, isReviewed: false },
  ar: { name: 'العربية', direction: 'rtl', locale: 'ar', words: AR, isReviewed: false },
  am: { name: 'አማርኛ', direction: 'ltr', locale: 'am', words: AM, isReviewed: false },
  bn: { name: 'বাংলা', direction: 'ltr', locale: 'bn', words: BN, isReviewed: false },
} as const satisfies Record<Language, LanguageFacts>

export function isLanguage(text: unknown): text is Language {
  return typeof text === 'string' && Object.hasOwn(LANGUAGES, text)
}

export type WordValues = Readonly<Record<string, string | number>>

/** A text of the language with its values. Values are plain text: escaping is left to the template that shows it. */
export function say(language: Language, id: WordId, values: WordValues = {}): string {
  const { direction } = LANGUAGES[language]
  const shown = Object.entries(values).map(([name, value]) => [
    name,
    typeof value === 'string' ? isolated(value, direction) : value,
  ])
  return String(messageOf(language, id).format(Object.fromEntries(shown)))
}

const messages = new Map<string, IntlMessageFormat>()

/** Parsed once: a page has some thirty texts, and parsing costs more than filling in. */
function messageOf(language: Language, id: WordId): IntlMessageFormat {
  const key = `${language}.${id}`
  const known = messages.get(key)
  if (known) return known
  const { words, locale } = LANGUAGES[language]
  const message = new IntlMessageFormat(words[id], latinDigits(locale), undefined, { ignoreTag: true })
  messages.set(key, message)
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
 * name end in somebody else's words.
 */
export function isolated(value: string, direction: 'ltr' | 'rtl'): string {
  const plain = withoutControls(value)
  if (direction === 'ltr' && !RIGHT_TO_LEFT.test(plain)) return plain
  return `${FIRST_STRONG_ISOLATE}${plain}${END_OF_ISOLATE}`
}

export function withoutControls(text: string): string {
  return text.replaceAll(DIRECTION_CONTROLS, '')
}
