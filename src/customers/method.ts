// The columns of a saved payment method. The row type, the select list and the insert list follow from these tables.

import type { MethodConsent } from '../consents/consent.ts'
import type { Currency } from '../core/currency.ts'
import { column, columnTable, type RowOf } from '../kit/db/columns.ts'

interface Card {
  brand: string
  last4: string
  /** Null if the provider does not report the expiry. */
  expiryMonth: number | null
  expiryYear: number | null
  country: string | null
}

/** The columns that the first save writes and every later read returns. */
const SAVED = {
  merchantId: column<string>('uuid'),
  id: column<string>('uuid'),
  customerId: column<string>('uuid'),
  type: column<'card' | 'mobile_money' | 'bank_account'>('text'),
  gateway: column<string>('text'),
  /** The merchant's own account at the gateway; null is the account of the instance. */
  accountId: column<string | null>('uuid'),
  tokenSealed: column<string>('text'),
  credentialSealed: column<string>('text'),
  currencies: column<Currency[]>('text[]'),
  card: column<Card | null>('jsonb'),
  mobileMoney: column<{ network: string; phone: string } | null>('jsonb'),
  isRecurringIntent: column<boolean>('boolean'),
  /** The payer's consent to save the method; null if the payer was not asked. */
  consent: column<MethodConsent | null>('jsonb'),
  expiresAt: column<Date | null>('timestamptz'),
  createdAt: column<Date>('timestamptz'),
}

export const METHOD = columnTable({
  ...SAVED,
  status: column<'active' | 'expired' | 'revoked'>('text'),
  /** Increases by one with every event of the method. */
  version: column<number>('integer'),
  isDefault: column<boolean>('boolean'),
  lastUsedAt: column<Date | null>('timestamptz'),
})

export type MethodRow = RowOf<typeof METHOD>

/** What a record of the API shows, with the columns that open its token, in a statement that joins payment_methods m. */
export const SHOWN_METHOD = METHOD.joined(
  'm',
  METHOD.except('customerId', 'accountId', 'credentialSealed', 'version'),
)

export type ShownMethod = Omit<MethodRow, 'customerId' | 'accountId' | 'credentialSealed' | 'version'>

export const NEW_METHOD = columnTable({
  ...SAVED,
  /** The id of this save, so that the caller can see whether this save created or reactivated the method. */
  saveId: column<string>('uuid'),
  fingerprint: column<string>('text'),
  tokenHash: column<Buffer>('bytea'),
})

export type NewMethod = RowOf<typeof NEW_METHOD>

export interface MethodByTokenRow extends MethodRow {
  emailKey: string
}

/** The lookup of a recurring token of a merchant. */
export interface TokenLookup {
  merchantId: string
  tokenHash: Buffer
}
