// Times as payers of a country write them: in their time zone, in the date order of the country, with Latin digits, the
// Gregorian calendar and 24 hours, as merchants, banks and operators write them.

import { hasOneTimeZone, timeZoneOf } from '../countries.ts'
import { LANGUAGES, type Language, latinDigits } from '../languages.ts'

export interface TimeFormats {
  /** "14 Nov 2026, 13:32"; with the zone where we do not know the payer's zone for certain. */
  time(date: Date): string
  /** "13:32", for times within hours. */
  timeOfDay(date: Date): string
  /** "14 Nov 2026, 13:32 EAT": always with the zone, for documents that people elsewhere read. */
  timeWithZone(date: Date): string
}

type Options = Intl.DateTimeFormatOptions

const CLOCK: Options = { hour: '2-digit', minute: '2-digit' }
const DAY: Options = { day: 'numeric', month: 'short', year: 'numeric' }

/** `deviceZone` is the time zone of the payer's device, if its script has set the cookie. */
export function timeFormats(
  language: Language,
  country: string | null,
  deviceZone: string | null,
): TimeFormats {
  const timeZone = deviceZone ?? timeZoneOf(country)
  const isCertain = deviceZone !== null || hasOneTimeZone(country)
  const format = (date: Date, options: Options) =>
    new Intl.DateTimeFormat(latinDigits(localeOf(language, country)), {
      ...options,
      timeZone,
      hourCycle: 'h23',
      calendar: 'gregory',
    }).format(date)
  const withZone = (date: Date, options: Options) => {
    const short = format(date, { ...options, timeZoneName: 'short' })
    // Without an abbreviation of its own, a zone would be shown as an offset, which few people can read.
    return /[+−-]\d+(:\d+)?$/.test(short) ? format(date, { ...options, timeZoneName: 'long' }) : short
  }
  const usual = isCertain ? format : withZone
  return {
    time: (date) => usual(date, { ...DAY, ...CLOCK }),
    timeOfDay: (date) => usual(date, CLOCK),
    timeWithZone: (date) => withZone(date, { ...DAY, ...CLOCK }),
  }
}

const locales = new Map<string, string>()

/** The language as the country writes it. English without a country is not American. */
function localeOf(language: Language, country: string | null): string {
  const key = `${language}-${country}`
  const known = locales.get(key)
  if (known !== undefined) return known
  const isLocal = country !== null && regionOf(key) === country
  const locale = isLocal ? key : language === 'en' ? 'en-001' : LANGUAGES[language].locale
  locales.set(key, locale)
  return locale
}

function regionOf(locale: string): string | undefined {
  return new Intl.Locale(new Intl.DateTimeFormat(locale).resolvedOptions().locale).region
}

const MAX_ZONE = 64

/** The time zone that a cookie names; null if it is none. */
export function readTimeZone(text: string | undefined): string | null {
  if (text === undefined || text.length > MAX_ZONE || !/^[A-Za-z_+\-/\d]+$/.test(text)) return null
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone
  } catch {
    // Not a zone that this ICU knows.
    return null
  }
}
