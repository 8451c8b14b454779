// The languages of the pages, as ISO 639-1 codes. Amounts, times and numbers always have Latin digits, so that they match
// the operator's prompt, statements and files.

export const LANGUAGE_CODES = ['en', 'fr', 'pt', 'sw', 'ar', 'am', 'bn'] as const

export type Language = (typeof LANGUAGE_CODES)[number]

export type Direction = 'ltr' | 'rtl'

interface LanguageFacts {
  /** The name of the language in itself, for the language switcher. */
  name: string
  direction: Direction
  /** The locale for plural rules, amounts and dates. */
  locale: string
}

export const LANGUAGES: Readonly<Record<Language, LanguageFacts>> = {
  en: { name: 'English', direction: 'ltr', locale: 'en' },
  fr: { name: 'Français', direction: 'ltr', locale: 'fr' },
  pt: { name: 'Português', direction: 'ltr', locale: 'pt-PT' },
  sw: { name: 'Kiswahili', direction: 'ltr', locale: 'sw' },
  ar: { name: 'العربية', direction: 'rtl', locale: 'ar' },
  am: { name: 'አማርኛ', direction: 'ltr', locale: 'am' },
  bn: { name: 'বাংলা', direction: 'ltr', locale: 'bn' },
}

export function isLanguage(text: unknown): text is Language {
  return typeof text === 'string' && Object.hasOwn(LANGUAGES, text)
}

export function latinDigits(locale: string): string {
  return `${locale}-u-nu-latn`
}
