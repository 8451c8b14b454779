// Validates a receiving account beyond its schema, and converts it to the stored form. Payers send money to this account, so
// an impossible number is rejected while the merchant enters it.

import { assertNoCardNumbers } from '../core/card-number.ts'
import { type Currency, defaultCountry, isCurrency } from '../core/currency.ts'
import { errorFromIssues, type Issue, newIssue } from '../core/errors.ts'
import { networksOf } from '../core/networks.ts'
import { readPhone } from '../kit/phone.ts'
import { countryIssues } from '../payments/input.ts'
import type { AccountChannel, AccountRow, Destination } from './account.ts'

import type { AccountChange, AccountInput } from './schema.ts'

type Fields = Readonly<Record<string, unknown>>

const REQUIRED_FIELDS: Readonly<Record<AccountChannel, readonly string[]>> = {
  bank_transfer: ['accountNumber', 'bankName'],
  mobile_money: ['network', 'phoneNumber'],
}

export function accountIssues(body: Record<string, unknown>): Issue[] {
  const { channel, currency } = body
  // Without a currency there is no default country; the schema reports the missing currency.
  const country = isCurrency(currency) ? countryIssues(body) : []
  if (channel !== 'bank_transfer' && channel !== 'mobile_money') return country
  const missing = REQUIRED_FIELDS[channel]
    .filter((field) => body[field] === undefined)
    .map((field) => ({ field, code: 'required', message: `${field} is required for ${channel}.` }))
  if (channel === 'bank_transfer' || !isCurrency(currency) || country.length > 0)
    return [...country, ...missing]
  return [...missing, ...walletIssues(body, walletCountry(body.country, currency))]
}

/** A mobile-money network and its numbers belong to one country. */
function walletCountry(country: unknown, currency: Currency): string | null {
  return typeof country === 'string' ? country.toUpperCase() : defaultCountry(currency)
}

function walletIssues({ network, phoneNumber }: Fields, country: string | null): Issue[] {
  if (country === null)
    return [newIssue('country', 'country_required', 'country is required for mobile_money.')]
  const issues: Issue[] = []
  const networks = networksOf(country).map(({ code }) => code)
  if (typeof network === 'string' && !networks.includes(network)) {
    const names = networks.join(', ') || 'none'
    issues.push({
      field: 'network',
      code: 'not_allowed',
      message: `network must be one of ${country}: ${names}.`,
    })
  }
  if (typeof phoneNumber === 'string' && readPhone(phoneNumber, country)?.country !== country) {
    const message = `phoneNumber must be a mobile number of ${country}.`
    issues.push({ field: 'phoneNumber', code: 'invalid_format', message })
  }
  return issues
}

type AccountFields = Omit<AccountRow, 'merchantId' | 'id' | 'createdAt' | 'updatedAt'>

export function toAccountFields(body: AccountInput): AccountFields {
  assertNoCards(body)
  const { channel, currency } = body
  const isBank = channel === 'bank_transfer'
  const country = isBank ? (body.country?.toUpperCase() ?? null) : walletCountry(body.country, currency)
  return {
    channel,
    currency,
    country,
    isActive: body.isActive ?? true,
    ...toDestination(channel, country, body),
  }
}

/** The account with the changes; fields of the other channel are ignored. */
export function changeAccount(account: AccountRow, change: AccountChange): AccountRow {
  assertNoCards(change)
  const { channel, country } = account
  const issues = channel === 'mobile_money' ? walletIssues(change, country) : []
  if (issues.length > 0) throw errorFromIssues(issues)
  const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined))
  const changed = { ...account, ...given }
  return { ...changed, ...toDestination(channel, country, changed) }
}

type Given = { accountName: string } & { [Field in keyof Destination]?: string | null }

function toDestination(channel: AccountChannel, country: string | null, given: Given): Destination {
  const { accountName } = given
  const emptyDestination = { accountNumber: null, bankName: null, network: null, phoneNumber: null }
  if (channel === 'bank_transfer') {
    return {
      ...emptyDestination,
      accountName,
      accountNumber: given.accountNumber ?? null,
      bankName: given.bankName ?? null,
    }
  }
  const phone = readPhone(given.phoneNumber ?? '', country)
  return {
    ...emptyDestination,
    accountName,
    network: given.network ?? null,
    phoneNumber: phone?.e164 ?? null,
  }
}

/** An account number with letters, such as an IBAN, cannot be a card number. */
function assertNoCards({ accountName, accountNumber, bankName }: Partial<Given>): void {
  const isPlain = !/[A-Za-z]/.test(accountNumber ?? '')
  assertNoCardNumbers({
    accountName,
    accountNumber: isPlain ? accountNumber?.replaceAll(/[ /.-]/g, '') : null,
    bankName,
  })
}
