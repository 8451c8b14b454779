// What this package needs of Medusa's types. Medusa is several hundred packages, so it is no dependency, not even for types.

/** A number, a decimal text, or one of the big numbers that Medusa passes. */
export type MedusaAmount =
  | number
  | string
  | { value: string | number }
  | { raw?: { value: string | number } | undefined; numeric: number }
  | { toFixed(): string }

export interface MedusaCustomer {
  id: string
  email: string
  first_name?: string | null
  last_name?: string | null
  phone?: string | null
  billing_address?: { country_code?: string | null } | null
}

export interface ProviderInput {
  /** What the storefront has sent, and what this provider has returned before. */
  data?: Record<string, unknown>
  context?: {
    /** Only of a customer who is signed in. */
    customer?: MedusaCustomer
    idempotency_key?: string
  }
}

export interface AmountInput extends ProviderInput {
  amount: MedusaAmount
  currency_code: string
}

export type SessionStatus = 'authorized' | 'captured' | 'pending' | 'requires_more' | 'error' | 'canceled'

export interface WebhookPayload {
  data: Record<string, unknown>
  /** The body as it arrived. */
  rawData: string | Uint8Array
  headers: Record<string, unknown>
}

export type WebhookAction =
  | { action: 'captured' | 'failed'; data: { session_id: string; amount: string } }
  | { action: 'not_supported' }

/** What Medusa passes to the constructor. */
export interface MedusaContainer {
  logger?: { warn(message: string): void }
}

/** Medusa answers 400 to `invalid_data` and `not_allowed`, and 500 to `unexpected_state`. */
export type MedusaErrorType = 'invalid_data' | 'not_allowed' | 'unexpected_state'

export class ProviderError extends Error {
  readonly type: MedusaErrorType
  /** By this mark Medusa knows its own errors. */
  readonly __isMedusaError = true
  readonly date = new Date()

  constructor(type: MedusaErrorType, message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'CowryProviderError'
    this.type = type
  }
}
