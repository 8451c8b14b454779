// The optional limits of a gateway account: the countries, currencies, channels and amounts for which it is used. They
// are texts, because they are entered like the credentials: in environment variables, or through the operators' API.

import { isCountry } from '../countries.ts'
import { type Currency, isCurrency } from '../currency.ts'
import { readDecimal } from '../money.ts'

const LIMITED_CHANNELS = ['card', 'mobile_money', 'bank_transfer'] as const

export interface AmountLimit {
  currency: Currency
  /** Null: no limit of the account. */
  minimumMinor: bigint | null
  maximumMinor: bigint | null
}

/** An empty list is no limit. */
export interface AccountLimits {
  countries: readonly string[]
  currencies: readonly Currency[]
  channels: readonly (typeof LIMITED_CHANNELS)[number][]
  amounts: readonly AmountLimit[]
}

/** An optional field of every account, like a field of its credentials. */
export interface LimitField {
  readonly name: keyof AccountLimits
  readonly isRequired: false
  readonly meaning: string
  validate(text: string): string | undefined
}

function limitField(
  name: keyof AccountLimits,
  meaning: string,
  isValid: (item: string) => boolean,
  form: string,
): LimitField {
  const validate = (text: string) => (itemsOf(text).every(isValid) ? undefined : `must be ${form}`)
  return { name, isRequired: false, meaning, validate }
}

const isChannel = (text: string): text is AccountLimits['channels'][number] =>
  LIMITED_CHANNELS.some((one) => one === text)

export const LIMIT_FIELDS: readonly LimitField[] = [
  limitField(
    'countries',
    'Only payments of these countries use this account, such as KE,UG.',
    isCountry,
    'country codes (ISO 3166-1 alpha-2), separated by commas',
  ),
  limitField(
    'currencies',
    'Only payments in these currencies use this account, such as KES,USD.',
    isCurrency,
    'currencies of the service, separated by commas',
  ),
  limitField(
    'channels',
    `Only these channels use this account: some of ${LIMITED_CHANNELS.join(', ')}.`,
    isChannel,
    `some of ${LIMITED_CHANNELS.join(', ')}, separated by commas`,
  ),
  limitField(
    'amounts',
    'Smallest and largest amount for this account by currency, such as KES:10-250000,UGX:-5000000.',
    (item) => readAmountLimit(item) !== undefined,
    'a list such as KES:10-250000,UGX:-5000000, in major units, the smaller amount first',
  ),
]

export function readLimits(texts: Readonly<Record<string, string>>): AccountLimits {
  return {
    countries: itemsOf(texts.countries).map((code) => code.toUpperCase()),
    currencies: itemsOf(texts.currencies).filter(isCurrency),
    channels: itemsOf(texts.channels).filter(isChannel),
    amounts: itemsOf(texts.amounts)
      .map(readAmountLimit)
      .filter((one) => one !== undefined),
  }
}

/** The fields of an account that are no limits. */
export function withoutLimits(texts: Readonly<Record<string, string>>): Record<string, string> {
  const isLimit = (name: string) => LIMIT_FIELDS.some((field) => field.name === name)
  return Object.fromEntries(Object.entries(texts).filter(([name]) => !isLimit(name)))
}

const itemsOf = (text = '') => text.split(/[\s,]+/).filter((item) => item !== '')

function readAmountLimit(text: string): AmountLimit | undefined {
  const {
    currency,
    least = '',
    most = '',
  } = /^(?<currency>[A-Z]{3}):(?<least>[\d.]*)-(?<most>[\d.]*)$/.exec(text)?.groups ?? {}
  if (!isCurrency(currency) || `${least}${most}` === '') return undefined
  const read = (amount: string) => (amount === '' ? null : readDecimal(amount, currency)?.minor)
  const [minimumMinor, maximumMinor] = [read(least), read(most)]
  if (minimumMinor === undefined || maximumMinor === undefined) return undefined
  if (minimumMinor !== null && maximumMinor !== null && minimumMinor > maximumMinor) return undefined
  return { currency, minimumMinor, maximumMinor }
}
