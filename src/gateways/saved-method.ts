import type { Currency } from '../core/currency.ts'

/** A payment method that the provider lets us charge again. `credential` is the provider's token: encrypted at rest. */
export interface SavedMethod {
  type: 'card' | 'mobile_money' | 'bank_account'
  credential: string
  /** The same card has the same fingerprint each time it is saved. */
  fingerprint: string
  card: {
    brand: string
    last4: string
    /** Null if the provider does not report the expiry. */
    expiryMonth: number | null
    expiryYear: number | null
    country: string | null
  } | null
  mobileMoney: { network: string; phone: string } | null
  currencies: Currency[]
  /** When the provider's token ends; absent if it lives as long as the card. */
  tokenExpiresAt?: Date
}
