// The response schemas of a customer and of a saved payment method, and their serialization.

import { Type } from 'typebox'
import { LANGUAGE_CODES } from '../core/languages.ts'
import { CurrencyCode, Enum, Metadata, Nullable, PAGE_QUERY, Timestamp, Uuid } from '../kit/http/schema.ts'
import { maskPhone } from '../kit/phone.ts'
import type { CustomerRow } from './customer.ts'
import type { MethodRow } from './method.ts'

export const CustomerRecord = Type.Object({
  uuid: Uuid,
  firstname: Type.String(),
  lastname: Type.String(),
  email: Type.String(),
  country: Nullable(Type.String()),
  phone: Nullable(Type.String()),
  metadata: Metadata,
  status: Enum(['active', 'blocked']),
  statusReason: Nullable(Type.String({ description: 'Why the customer is blocked, as you wrote it.' })),
  totals: Type.Object({ successfulPayments: Type.Integer(), lastPaymentAt: Nullable(Timestamp) }),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

export const SavedMethodRecord = Type.Object({
  uuid: Uuid,
  type: Enum(['card', 'mobile_money', 'bank_account']),
  status: Enum(['active', 'expired', 'revoked']),
  label: Type.String(),
  recurringToken: Nullable(Type.String({ description: 'Charges this method again. It never changes.' })),
  isDefault: Type.Boolean(),
  paymentGateway: Type.String(),
  currencies: Type.Array(CurrencyCode),
  card: Nullable(
    Type.Object({
      brand: Type.String(),
      last4: Type.String(),
      expiryMonth: Nullable(Type.Integer({ description: 'Null if the provider does not report it.' })),
      expiryYear: Nullable(Type.Integer()),
      country: Nullable(Type.String()),
    }),
  ),
  mobileMoney: Nullable(
    Type.Object({ network: Type.String(), phone: Type.String({ description: 'Masked: 0712 ••• 678.' }) }),
  ),
  bankAccount: Nullable(Type.Object({ bankName: Type.String(), last4: Type.String() })),
  isRecurringIntent: Type.Boolean(),
  consent: Nullable(
    Type.Object(
      {
        agreedAt: Timestamp,
        source: Enum(['checkout', 'payment_link', 'sandbox']),
        form: Enum(['notice', 'checkbox']),
        wordingVersion: Type.String(),
        language: Enum(LANGUAGE_CODES),
      },
      {
        description:
          'When, where and to which wording, in which language, the customer agreed that the method is saved and charged again. The texts of each version are in docs/checkout.md. Null: the customer was not asked.',
      },
    ),
  ),
  expiresAt: Nullable(Timestamp),
  lastUsedAt: Nullable(Timestamp),
  createdAt: Timestamp,
})

export const CustomersQuery = Type.Object({
  ...PAGE_QUERY,
  search: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      description: 'Part of a first name, last name, both, or an e-mail.',
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
export function toSavedMethod(row: MethodRow, recurringToken: string | null, now: Date) {
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
