// Texts, amounts and times of a screen: in the person's language, with times in the zone of the merchant.

import { isCurrency } from '../../core/currency.ts'
import { type Direction, LANGUAGES, type Language, latinDigits } from '../../core/languages.ts'
import { readDecimal } from '../../core/money.ts'
import { isolated } from '../../core/text/direction.ts'
import { displayAmount } from '../../core/text/display-amount.ts'
import { type Html, html } from '../../kit/http/html.ts'
import { createTranslate, type MessageValues } from '../../kit/http/messages.ts'
import { AR } from '../locales/ar.ts'
import { EN, type TextId } from '../locales/en.ts'
import { FR } from '../locales/fr.ts'
import { PT } from '../locales/pt.ts'
import { SW } from '../locales/sw.ts'

export const DASHBOARD_LANGUAGES = ['en', 'fr', 'pt', 'sw', 'ar'] as const
export type DashboardLanguage = (typeof DASHBOARD_LANGUAGES)[number]

const translate = createTranslate<TextId, DashboardLanguage>({ en: EN, fr: FR, pt: PT, sw: SW, ar: AR })

export interface Texts {
  language: DashboardLanguage
  direction: Direction
  zone: string
  t(id: TextId, values?: MessageValues): string
  /** The text of an id that is made of a prefix and a value of the API; the value itself if there is no such text. */
  word(prefix: string, value: string | null | undefined): string
  /** "KSh 1,250.50" of a decimal as the API writes it. */
  amount(decimal: string | null, currency: string): string
  number(value: number): string
  percent(share: number): string
  /** "4 / 5" */
  ratio(part: number, whole: number): Html
  /** "14 Nov 2026, 13:32" */
  time(iso: string | null): Html | string
  /** "13:32" */
  timeOfDay(iso: string): string
  /** "14 Nov 2026" of an ISO day or time. */
  day(iso: string): string
  /** "November 2026" of 2026-11. */
  month(iso: string): string
}

export function isDashboardLanguage(text: unknown): text is DashboardLanguage {
  return DASHBOARD_LANGUAGES.some((language) => language === text)
}

// Making the formats takes longer than using them on a whole screen. There are few languages and some hundred zones.
const KNOWN = new Map<string, Texts>()

export function textsFor(language: DashboardLanguage, zone: string): Texts {
  const key = `${language} ${zone}`
  const texts = KNOWN.get(key) ?? makeTexts(language, zone)
  KNOWN.set(key, texts)
  return texts
}

function makeTexts(language: DashboardLanguage, zone: string): Texts {
  const { direction, locale } = LANGUAGES[language]
  const written = latinDigits(language === 'en' ? 'en-001' : locale)
  const calendar = { calendar: 'gregory', hourCycle: 'h23' } as const
  const day = { day: 'numeric', month: 'short', year: 'numeric' } as const
  const days = new Intl.DateTimeFormat(written, { ...day, ...calendar, timeZone: 'UTC' })
  const months = new Intl.DateTimeFormat(written, {
    ...{ month: 'long', year: 'numeric', ...calendar, timeZone: 'UTC' },
  })
  const times = new Intl.DateTimeFormat(written, {
    ...{ ...day, hour: '2-digit', minute: '2-digit' },
    ...calendar,
    timeZone: zone,
  })
  const timesOfDay = new Intl.DateTimeFormat(written, {
    ...{ hour: '2-digit', minute: '2-digit', ...calendar, timeZone: zone },
  })
  const numbers = new Intl.NumberFormat(written)
  const percents = new Intl.NumberFormat(written, { style: 'percent', maximumFractionDigits: 1 })
  const t = (id: TextId, values?: MessageValues) => translate(language, id, values)
  return {
    language,
    direction,
    zone,
    t,
    word(prefix, value) {
      const id = `${prefix}_${value ?? ''}`
      return isTextId(id) ? t(id) : (value ?? '').replaceAll('_', ' ')
    },
    amount: (decimal, currency) => amountText(decimal, currency, language),
    number: (value) => numbers.format(value),
    percent: (share) => percents.format(share),
    ratio: (part, whole) => html`<bdi dir="ltr">${numbers.format(part)} / ${numbers.format(whole)}</bdi>`,
    time: (iso) => (iso === null ? '' : html`<time datetime="${iso}">${times.format(new Date(iso))}</time>`),
    timeOfDay: (iso) => timesOfDay.format(new Date(iso)),
    day: (iso) => days.format(new Date(iso)),
    month: (iso) => months.format(new Date(`${iso}-01`)),
  }
}

function isTextId(id: string): id is TextId {
  return Object.hasOwn(EN, id)
}

function amountText(decimal: string | null, currency: string, language: Language): string {
  if (decimal === null) return ''
  const isNegative = decimal.startsWith('-')
  const money = isCurrency(currency) ? readDecimal(decimal.replace('-', ''), currency) : undefined
  if (!money) return `${decimal} ${currency}`
  const text = displayAmount(money, language)
  if (!isNegative) return text
  // The sign stays before the number, also where the text around it runs to the left.
  const { direction } = LANGUAGES[language]
  return direction === 'rtl' ? isolated(`−${text}`, direction) : `−${text}`
}
