import type { Currency } from '../core/currency.ts'

export interface MethodRow {
  merchantId: string
  id: string
  customerId: string
  type: 'card' | 'mobile_money' | 'bank_account'
  status: 'active' | 'expired' | 'revoked'
  /** Grows by one with every event of the method. */
  version: number
  gateway: string
  /** The merchant's own account at the gateway; null is the installation's. */
  accountId: string | null
  tokenSealed: string
  credentialSealed: string
  currencies: Currency[]
  card: {
    brand: string
    last4: string
    expiryMonth: number
    expiryYear: number
    country: string | null
  } | null
  mobileMoney: { network: string; phone: string } | null
  isDefault: boolean
  isRecurringIntent: boolean
  expiresAt: Date | null
  lastUsedAt: Date | null
  createdAt: Date
}
export const METHOD_COLUMNS = `
  m.merchant_id as "merchantId", m.id, m.customer_id as "customerId", m.type, m.status, m.version, m.gateway,
  m.account_id as "accountId",
  m.token_sealed as "tokenSealed", m.credential_sealed as "credentialSealed", m.currencies, m.card,
  m.mobile_money as "mobileMoney", m.is_default as "isDefault", m.is_recurring_intent as "isRecurringIntent",
  m.expires_at as "expiresAt", m.last_used_at as "lastUsedAt", m.created_at as "createdAt"`
export interface MethodByTokenRow extends MethodRow {
  emailKey: string
}
/** A recurring token of a merchant, as it is looked for. */
export interface TokenLookup {
  merchant_id: string
  token_hash: Buffer
}
export interface MethodInput {
  merchantId: string
  id: string
  /** Names this saving, so that the answer tells whether it made or revived the method. */
  saveId: string
  customerId: string
  type: MethodRow['type']
  gateway: string
  accountId: string | null
  fingerprint: string
  tokenHash: Buffer
  tokenSealed: string
  credentialSealed: string
  currencies: string[]
  card: MethodRow['card']
  mobileMoney: MethodRow['mobileMoney']
  isRecurringIntent: boolean
  expiresAt: Date | null
  at: Date
}
