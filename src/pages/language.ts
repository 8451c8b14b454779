// Chooses the language of a page, in this order: the payer's choice on this page, the merchant's setting, the choice
// on an earlier checkout, the browser's languages, the language of the country.

import { isLanguage, type Language } from '../core/languages.ts'

export interface LanguageHints {
  /** Chosen on this page with the language switcher. */
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

// Browsers send a few languages; a longer list is not from a browser.
const MAX_ACCEPTED = 20

/** The primary languages of an Accept-Language header, highest weight first. */
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

/** Countries where most payers read another language better than English. */
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

/** Two cookies, for this checkout and for the next one, because the merchant's language ranks between them. */
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
