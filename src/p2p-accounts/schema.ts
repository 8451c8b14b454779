import { type Static, Type } from 'typebox'
import { COUNTRY_REQUIRED_CURRENCIES } from '../core/currency.ts'
import {
  CountryInput,
  CurrencyCode,
  CurrencyFilter,
  Enum,
  Nullable,
  PAGE_QUERY,
  Timestamp,
  Uuid,
  VISIBLE_TEXT,
} from '../kit/http/schema.ts'
import { ACCOUNT_CHANNELS, type AccountRow } from './account.ts'

const Name = Type.String({ ...VISIBLE_TEXT, maxLength: 100 })

const ACCOUNT_FIELDS = {
  accountName: Name,
  accountNumber: Type.Optional(
    Type.String({
      minLength: 3,
      maxLength: 50,
      pattern: '^[0-9A-Za-z]+(?:[ /.-][0-9A-Za-z]+)*$',
      'x-message': 'must be 3 to 50 letters and digits, in groups with single signs between them.',
      description: 'Required for bank_transfer. It is shown to your payers.',
    }),
  ),
  bankName: Type.Optional(Name),
  network: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 40,
      description: 'Required for mobile_money: the code of a network of the country, such as mgurush_ss.',
    }),
  ),
  phoneNumber: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 40,
      description: 'Required for mobile_money: as people of the country write it, or with its code.',
    }),
  ),
  isActive: Type.Optional(Type.Boolean({ default: true })),
}

export const AccountBody = Type.Object({
  channel: Enum(ACCOUNT_CHANNELS),
  currency: CurrencyFilter,
  country: Type.Optional(
    Type.Unsafe<string>({
      ...CountryInput,
      'x-code': 'invalid_country',
      'x-message': 'must be an ISO 3166-1 alpha-2 code of a country that uses the currency.',
      description: `Whose payments it takes; absent: those of any country that uses the currency. Required for ${COUNTRY_REQUIRED_CURRENCIES}.`,
    }),
  ),
  ...ACCOUNT_FIELDS,
})

export type AccountInput = Static<typeof AccountBody>

export const AccountChanges = Type.Object({ ...ACCOUNT_FIELDS, accountName: Type.Optional(Name) })

export type AccountChange = Static<typeof AccountChanges>

export const AccountRecord = Type.Object({
  uuid: Uuid,
  channel: Enum(ACCOUNT_CHANNELS),
  currency: CurrencyCode,
  country: Nullable(Type.String()),
  accountName: Type.String(),
  accountNumber: Nullable(Type.String()),
  bankName: Nullable(Type.String()),
  network: Nullable(Type.String()),
  phoneNumber: Nullable(Type.String()),
  isActive: Type.Boolean(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

export const AccountsQuery = Type.Object({
  ...PAGE_QUERY,
  currency: Type.Optional(CurrencyFilter),
  channel: Type.Optional(Enum(ACCOUNT_CHANNELS)),
})

export function toAccount(row: AccountRow) {
  return {
    uuid: row.id,
    channel: row.channel,
    currency: row.currency,
    country: row.country,
    accountName: row.accountName,
    accountNumber: row.accountNumber,
    bankName: row.bankName,
    network: row.network,
    phoneNumber: row.phoneNumber,
    isActive: row.isActive,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  }
}
