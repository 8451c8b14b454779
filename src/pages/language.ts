// Which language a payer is spoken to in. What they chose on this page wins; then what the merchant set, what they chose
// on an earlier checkout, what their browser asks for, and what is spoken in the country.

import type { Language } from '../core/languages.ts'
import { isLanguage } from './locales.ts'

export interface LanguageHints {
  /** Chosen on this very page, by the switcher. */
  chosen?: string
  merchant: string | null
  /** Chosen on an earlier checkout. */
  last?: string
  accept?: string
  country: string | null
}

export function chooseLanguage({ chosen, merchant, last, accept, country }: LanguageHints): Language {
  const candidates = [
    chosen,
    merchant,
    last,
    ...acceptedLanguages(accept ?? ''),
    COUNTRY_LANGUAGES[country ?? ''],
  ]
  return candidates.find(isLanguage) ?? 'en'
}

// A browser names a few languages; a longer list is somebody who plays.
const MAX_ACCEPTED = 20

/** The primary languages of an Accept-Language header, the dearest first. */
function acceptedLanguages(header: string): string[] {
  return header
    .split(',', MAX_ACCEPTED)
    .map((part) => {
      const [tag = '', ...parameters] = part.trim().split(';')
      const quality = parameters.map((one) => /^\s*q=([\d.]+)$/.exec(one)?.[1]).find(Boolean)
      return { language: tag.split('-')[0]?.toLowerCase() ?? '', quality: Number(quality ?? 1) }
    })
    .filter(({ quality }) => quality > 0)
    .toSorted((a, b) => b.quality - a.quality)
    .map(({ language }) => language)
}

/** Where English is not the language that most payers read best. */
const COUNTRY_LANGUAGES: Readonly<Record<string, Language>> = {
  BD: 'bn',
  BE: 'fr',
  BF: 'fr',
  BI: 'fr',
  BJ: 'fr',
  CD: 'fr',
  CF: 'fr',
  CG: 'fr',
  CI: 'fr',
  CM: 'fr',
  EG: 'ar',
  ET: 'am',
  FR: 'fr',
  GA: 'fr',
  GQ: 'fr',
  GW: 'pt',
  LU: 'fr',
  MC: 'fr',
  ML: 'fr',
  MZ: 'pt',
  NE: 'fr',
  PT: 'pt',
  SN: 'fr',
  TD: 'fr',
  TG: 'fr',
}

/** For this checkout, and for the next one: two cookies, because the merchant's language stands between them. */
const CHOSEN = 'cowry_lang'
const LAST = 'cowry_last_lang'

const YEAR_SECONDS = 31_536_000

export function languageCookies(language: Language, checkoutPath: string) {
  return [
    { name: CHOSEN, value: language, path: checkoutPath },
    ...['/pay', '/l'].map((path) => ({ name: LAST, value: language, path, maxAgeSeconds: YEAR_SECONDS })),
  ]
}

export function languagesFromCookies(cookies: Readonly<Record<string, string>>) {
  return { chosen: cookies[CHOSEN], last: cookies[LAST] }
}
