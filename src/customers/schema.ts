// The response schemas of a customer and of a saved payment method, and their serialization.

import { Type } from 'typebox'
import { LANGUAGE_CODES } from '../core/languages.ts'
import {
  CountryCode,
  CreatedAt,
  CurrencyCode,
  count,
  described,
  Enum,
  flag,
  Metadata,
  NamedEnum,
  Nullable,
  namedObject,
  PAGE_QUERY,
  Timestamp,
  text,
  timestamp,
  UpdatedAt,
  Uuid,
} from '../kit/http/schema.ts'
import { maskPhone } from '../kit/phone.ts'
import type { CustomerRow } from './customer.ts'
import type { MethodRow, ShownMethod } from './method.ts'

export const CustomerRecord = namedObject(
  'Customer',
  {
    uuid: Uuid,
    firstname: text('The first name, from the latest payment or change.', 'Amina'),
    lastname: text('The last name, from the latest payment or change.', 'Odhiambo'),
    email: text('The e-mail address, which identifies the customer.', 'amina@example.com'),
    country: Nullable(
      CountryCode,
      'Where the customer is, an ISO 3166-1 alpha-2 code. Null if you never sent it.',
    ),
    phone: Nullable(
      Type.String({ examples: ['+254712345678'] }),
      'The phone number in E.164. Null if you never sent it.',
    ),
    metadata: Metadata,
    status: Enum(['active', 'blocked'], {
      description: 'blocked: you have blocked the customer, who can neither pay nor be charged.',
    }),
    statusReason: Nullable(
      Type.String(),
      'Why the customer is blocked, as you wrote it. Null if you gave no reason, or the customer is active.',
    ),
    totals: namedObject(
      'CustomerTotals',
      {
        successfulPayments: count('How many payments and charges of the customer have succeeded.'),
        lastPaymentAt: Nullable(Timestamp, 'When the last of them was paid, in UTC. Null before the first.'),
      },
      { description: 'What the customer has paid so far.' },
    ),
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
  },
  { description: 'A customer of yours, identified by the e-mail address.' },
)

export const SavedMethodType = NamedEnum('PaymentMethodType', ['card', 'mobile_money', 'bank_account'], {
  description: 'What is charged.',
})

export const SavedMethodRecord = namedObject(
  'PaymentMethod',
  {
    uuid: Uuid,
    type: described(SavedMethodType, 'What is charged. The object of the same name has its details.'),
    status: Enum(['active', 'expired', 'revoked'], {
      description:
        'Only an active method can be charged. expired: its time has passed. revoked: you revoked it.',
    }),
    label: text('The masked name of the method, to show to the customer.', 'Visa •••• 4242'),
    recurringToken: Nullable(
      Type.String({ examples: ['rtk_4fV9aQ2kLm8ZxT1uYwB7cN3dR6sE0gHjPqKvXiOoUyA'] }),
      'Send it to charge this method again. It never changes. Null in events, because it is a secret.',
    ),
    isDefault: flag('Whether it is the default method of the customer, who has at most one.'),
    paymentGateway: text('The gateway that saved the method, and that charges it.', 'paystack'),
    currencies: Type.Array(CurrencyCode, { description: 'The currencies in which it can be charged.' }),
    card: Nullable(
      namedObject('Card', {
        brand: text('The card scheme, as the provider names it.', 'Visa'),
        last4: text('The last four digits of the card number.', '4242'),
        expiryMonth: Nullable(
          Type.Integer(),
          'The month, 1 to 12, at whose end the card expires. Null if the provider does not report it.',
        ),
        expiryYear: Nullable(
          Type.Integer({ examples: [2031] }),
          'The year in which the card expires, in four digits. Null if the provider does not report it.',
        ),
        country: Nullable(
          CountryCode,
          'The country of the issuing bank, an ISO 3166-1 alpha-2 code. Null if the provider does not report it.',
        ),
      }),
      'The card. Null for another type, and for a wallet that does not tell which card it charges.',
    ),
    mobileMoney: Nullable(
      namedObject('MobileMoney', {
        network: text('The name of the mobile-money network.', 'MTN MoMo'),
        phone: text('The phone number, masked.', '0712 ••• 678'),
      }),
      'The mobile-money account. Null for another type.',
    ),
    bankAccount: Nullable(
      namedObject('BankAccount', {
        bankName: text('The name of the bank.'),
        last4: text('The last four characters of the account number.'),
      }),
      'The bank account. Always null: no gateway of this version reports it.',
    ),
    isRecurringIntent: flag('Whether a payment that saved it had isRecurring. Only a signal for reports.'),
    consent: Nullable(
      namedObject('Consent', {
        agreedAt: timestamp('When the customer agreed, in UTC.'),
        source: Enum(['checkout', 'payment_link', 'sandbox'], {
          description: 'Where: on a checkout, on a payment link, or simulated in the sandbox.',
        }),
        form: Enum(['notice', 'checkbox'], {
          description: 'notice: a text above the button. checkbox: a box that the customer ticked.',
        }),
        wordingVersion: text('The version of the text that the customer saw.', '2'),
        language: NamedEnum('LanguageCode', LANGUAGE_CODES, {
          description: 'The language of the text, an ISO 639-1 code.',
        }),
      }),
      'How the customer agreed that the method is saved and charged again. The texts of each version are at /docs/checkout. Null: the customer was not asked.',
    ),
    expiresAt: Nullable(
      Timestamp,
      'From when on it can not be charged any more, in UTC. Null if that is not known.',
    ),
    lastUsedAt: Nullable(Timestamp, 'When it was last charged, in UTC. Null if it never was.'),
    createdAt: CreatedAt,
  },
  { description: 'A saved card, mobile-money account or bank account of a customer.' },
)

export const CustomersQuery = Type.Object({
  ...PAGE_QUERY,
  search: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      description: 'Part of a first name, last name, both, or an e-mail; or a whole phone number.',
    }),
  ),
})

export function toCustomer(row: CustomerRow) {
  return {
    uuid: row.id,
    firstname: row.firstname,
    lastname: row.lastname,
    email: row.email,
    country: row.country,
    phone: row.phone,
    metadata: row.metadata,
    status: row.status,
    statusReason: row.statusReason,
    totals: {
      successfulPayments: Number(row.successfulPayments),
      lastPaymentAt: row.lastPaymentAt?.toISOString() ?? null,
    },
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  }
}

export type SavedMethodView = ReturnType<typeof toSavedMethod>

/** `recurringToken` is null in a record that is stored, such as an event. */
export function toSavedMethod(row: ShownMethod, recurringToken: string | null, now: Date) {
  return {
    uuid: row.id,
    type: row.type,
    status: statusOf(row, now),
    label: labelOf(row),
    recurringToken,
    isDefault: row.isDefault,
    paymentGateway: row.gateway,
    currencies: row.currencies,
    card: row.card,
    mobileMoney: row.mobileMoney && { ...row.mobileMoney, phone: maskPhone(row.mobileMoney.phone) },
    bankAccount: null,
    isRecurringIntent: row.isRecurringIntent,
    consent: row.consent,
    expiresAt: row.expiresAt?.toISOString() ?? null,
    lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
  }
}

/** A method expires at its date, also before the job has marked it. */
export function statusOf(row: Pick<MethodRow, 'status' | 'expiresAt'>, now: Date): MethodRow['status'] {
  if (row.status === 'active' && row.expiresAt !== null && row.expiresAt <= now) return 'expired'
  return row.status
}

export function labelOf(row: Pick<MethodRow, 'type' | 'card' | 'mobileMoney'>): string {
  if (row.card) return `${row.card.brand} •••• ${row.card.last4}`
  if (row.mobileMoney) return `${row.mobileMoney.network} ${maskPhone(row.mobileMoney.phone)}`
  // A wallet that holds cards and does not tell which one it charges.
  return row.type === 'card' ? 'Card' : 'Bank account'
}

/** "Visa •••• 4242". Providers write the brand in lower case. */
export function displayLabel(method: Parameters<typeof labelOf>[0]): string {
  return labelOf(method).replace(/^[a-z]/, (letter) => letter.toUpperCase())
}
