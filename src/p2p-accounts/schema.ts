import { type Static, Type } from 'typebox'
import { COUNTRY_REQUIRED_CURRENCIES } from '../core/currency.ts'
import {
  CountryCode,
  CountryInput,
  CreatedAt,
  CurrencyCode,
  CurrencyFilter,
  described,
  flag,
  NamedEnum,
  Nullable,
  namedObject,
  PAGE_QUERY,
  text,
  UpdatedAt,
  Uuid,
  VISIBLE_TEXT,
} from '../kit/http/schema.ts'
import { ACCOUNT_CHANNELS, type AccountRow } from './account.ts'

const Name = Type.String({ ...VISIBLE_TEXT, maxLength: 100 })

const AccountName = described(Name, 'The name of the account holder. It is shown to your payers.')

const ACCOUNT_FIELDS = {
  accountName: AccountName,
  accountNumber: Type.Optional(
    Type.String({
      minLength: 3,
      maxLength: 50,
      pattern: '^[0-9A-Za-z]+(?:[ /.-][0-9A-Za-z]+)*$',
      'x-message': 'must be 3 to 50 letters and digits, in groups with single signs between them.',
      description: 'The account number or IBAN. Required for bank_transfer. It is shown to your payers.',
    }),
  ),
  bankName: Type.Optional(described(Name, 'The name of the bank. Required for bank_transfer.')),
  network: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 40,
      description:
        'The code of a mobile-money network of the country, as /api/v1/misc/countries lists it. Required for mobile_money.',
      examples: ['mgurush_ss'],
    }),
  ),
  phoneNumber: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 40,
      description:
        'The phone number of the account, as people of the country write it or with its code. Required for mobile_money.',
      examples: ['+211912345678'],
    }),
  ),
}

const IsActive = Type.Boolean({ description: 'False: new payments do not use the account.' })

export const AccountBody = namedObject('CreateP2PAccountRequest', {
  channel: NamedEnum('P2PChannel', ACCOUNT_CHANNELS, {
    description: 'A bank account, or a mobile-money account.',
  }),
  currency: described(CurrencyFilter, 'The ISO 4217 code of the currency that the account takes.'),
  country: Type.Optional(
    Type.Unsafe<string>({
      ...CountryInput,
      'x-code': 'invalid_country',
      'x-message': 'must be an ISO 3166-1 alpha-2 code of a country that uses the currency.',
      description: `Whose payments it takes; absent: those of any country that uses the currency. Required for ${COUNTRY_REQUIRED_CURRENCIES}.`,
    }),
  ),
  ...ACCOUNT_FIELDS,
  isActive: Type.Optional({ ...IsActive, default: true }),
})

export type AccountInput = Static<typeof AccountBody>

export const AccountChanges = namedObject('UpdateP2PAccountRequest', {
  ...ACCOUNT_FIELDS,
  accountName: Type.Optional(AccountName),
  isActive: Type.Optional(IsActive),
})

export type AccountChange = Static<typeof AccountChanges>

export const AccountRecord = namedObject(
  'P2PAccount',
  {
    uuid: Uuid,
    channel: NamedEnum('P2PChannel', ACCOUNT_CHANNELS, {
      description: 'A bank account, or a mobile-money account.',
    }),
    currency: CurrencyCode,
    country: Nullable(
      CountryCode,
      'The country whose payments it takes, an ISO 3166-1 alpha-2 code. Null: any country that uses the currency.',
    ),
    accountName: text('The name of the account holder.', 'Demo Shop Ltd'),
    accountNumber: Nullable(Type.String(), 'The account number. Null for mobile_money.'),
    bankName: Nullable(Type.String(), 'The name of the bank. Null for mobile_money.'),
    network: Nullable(
      Type.String({ examples: ['mgurush_ss'] }),
      'The code of the mobile-money network. Null for bank_transfer.',
    ),
    phoneNumber: Nullable(
      Type.String({ examples: ['+211912345678'] }),
      'The phone number of the account in E.164. Null for bank_transfer.',
    ),
    isActive: flag('Whether new payments use the account.'),
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
  },
  { description: 'A bank or mobile-money account of yours, to which payers send money.' },
)

export const AccountsQuery = Type.Object({
  ...PAGE_QUERY,
  currency: Type.Optional(CurrencyFilter),
  channel: Type.Optional(
    NamedEnum('P2PChannel', ACCOUNT_CHANNELS, {
      description: 'Only bank accounts, or only mobile-money accounts.',
    }),
  ),
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
