// Amounts as payers write them: the currency's own symbol and its position, with the separators of the page's language.
// Digits are always Latin, so that the payer compares the same characters with the operator's prompt.

import type { Currency } from '../currency.ts'
import { LANGUAGES, type Language, latinDigits } from '../languages.ts'
import { formatAmount, type Money } from '../money.ts'
import { isolated } from './direction.ts'

interface CurrencyStyle {
  symbol: string
  /** language: after the number in French and Portuguese, before it elsewhere. */
  position: 'before' | 'after' | 'language'
  /** Small coins are in use, so ".00" is written; elsewhere a whole amount has no decimals. */
  hasCoins: boolean
}

const before = (symbol: string): CurrencyStyle => ({ symbol, position: 'before', hasCoins: false })
const after = (symbol: string): CurrencyStyle => ({ symbol, position: 'after', hasCoins: false })
const withCoins = (style: CurrencyStyle): CurrencyStyle => ({ ...style, hasCoins: true })
const worldwide = (symbol: string): CurrencyStyle => ({ symbol, position: 'language', hasCoins: true })

// Two currencies that are used side by side have different symbols: US$ and L$ in Liberia, US$ and FC in the Congo.
const STYLES: Readonly<Record<Currency, CurrencyStyle>> = {
  BDT: before('৳'),
  BIF: after('FBu'),
  BWP: withCoins(before('P')),
  CAD: worldwide('CA$'),
  CDF: after('FC'),
  EGP: withCoins(before('EGP')),
  ETB: before('Br'),
  EUR: worldwide('€'),
  GBP: worldwide('£'),
  GHS: withCoins(before('GH₵')),
  GMD: before('D'),
  KES: before('KSh'),
  LRD: before('L$'),
  LSL: withCoins(before('M')),
  MUR: withCoins(before('Rs')),
  MWK: before('MK'),
  MZN: withCoins(after('MT')),
  NGN: before('₦'),
  RWF: before('FRw'),
  SLE: before('Le'),
  SSP: before('SSP'),
  TZS: before('TSh'),
  UGX: before('USh'),
  USD: worldwide('US$'),
  XAF: after('F CFA'),
  XOF: after('F CFA'),
  ZAR: withCoins(before('R')),
  ZMW: withCoins(before('K')),
}

/** What a language writes instead. Such a symbol is after the number. */
const LANGUAGE_SYMBOLS: Readonly<Partial<Record<Language, Partial<Record<Currency, string>>>>> = {
  am: { ETB: 'ብር' },
  ar: { EGP: 'ج.م' },
}

/** How people mark an amount of the currency, without spaces. */
export function currencyMarks(currency: Currency): string[] {
  const own = Object.values(LANGUAGE_SYMBOLS).flatMap((symbols) => symbols[currency] ?? [])
  return [currency, STYLES[currency].symbol.replaceAll(' ', ''), ...own]
}

const SYMBOL_LAST: ReadonlySet<Language> = new Set(['fr', 'pt'])

const NBSP = '\u00a0'

/** "KSh 1,500", "5 000 F CFA", "₦2,500.50". It never wraps. */
export function displayAmount(amount: Money, language: Language): string {
  const { direction } = LANGUAGES[language]
  const text = joinSymbol(amount.currency, numberText(amount, language), language).replaceAll(' ', NBSP)
  return direction === 'rtl' ? isolated(text, direction) : text
}

function joinSymbol(currency: Currency, number: string, language: Language): string {
  const { symbol, position } = STYLES[currency]
  const own = LANGUAGE_SYMBOLS[language]?.[currency]
  if (own !== undefined) return `${number} ${own}`
  const isLast = position === 'after' || (position === 'language' && SYMBOL_LAST.has(language))
  if (isLast) return `${number} ${symbol}`
  // Letters of a word need a space before the number; a single letter and a sign do not.
  return /\p{L}{2}$/u.test(symbol) ? `${symbol} ${number}` : `${symbol}${number}`
}

function numberText(amount: Money, language: Language): string {
  const { locale, direction } = LANGUAGES[language]
  const text = formatAmount(amount)
  const [whole = text] = text.split('.00')
  const shown = STYLES[amount.currency].hasCoins ? text : whole
  const decimals = shown.split('.')[1]?.length ?? 0
  const format = formatOf(latinDigits(direction === 'rtl' ? 'en' : locale), decimals)
  // A boundary: formatAmount returns exactly the decimal string that Intl accepts without a float.
  return format.format(shown as `${number}`)
}

// By locale and decimals. A report shows hundreds of amounts, and making a format takes longer than using it.
const FORMATS = new Map<string, Intl.NumberFormat>()

function formatOf(locale: string, decimals: number): Intl.NumberFormat {
  const key = `${locale} ${decimals}`
  const known = FORMATS.get(key)
  if (known) return known
  const format = new Intl.NumberFormat(locale, {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
    useGrouping: 'always',
  })
  FORMATS.set(key, format)
  return format
}
