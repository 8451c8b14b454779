import type { DisabledReason } from './states.ts'

export interface EndpointRow {
  merchantId: string
  id: string
  url: string
  description: string | null
  events: string[]
  status: 'enabled' | 'disabled' | 'deleted'
  disabledReason: DisabledReason | null
  disabledAt: Date | null
  secretSealed: string
  /** The request that made the secret. */
  secretRequestId: string
  previousSecretUntil: Date | null
  failingSince: Date | null
  version: number
  createdAt: Date
  updatedAt: Date
}
export const ENDPOINT_COLUMNS = `
  merchant_id as "merchantId", id, url, description, events, status, disabled_reason as "disabledReason",
  disabled_at as "disabledAt", secret_sealed as "secretSealed", secret_request_id as "secretRequestId",
  previous_secret_until as "previousSecretUntil", failing_since as "failingSince", version, created_at as "createdAt", updated_at as "updatedAt"`
export interface NewEndpoint {
  merchantId: string
  id: string
  url: string
  description: string | null
  events: readonly string[]
  secretSealed: string
  createdAt: Date
}
export interface EndpointChanges {
  url: string | undefined
  /** Undefined leaves it, null takes it away. */
  description: string | null | undefined
  events: readonly string[] | undefined
  status: 'enabled' | 'disabled' | undefined
}
export interface NewSecret {
  sealed: string
  requestId: string
  at: Date
  /** The secret so far goes on signing until then; when that is at once, so does no other. */
  previousSecretUntil: Date
}
export interface DisableInput {
  merchantId: string
  endpointId: string
  /** The address that was called: another one since then has done nothing wrong. */
  url: string
  reason: DisabledReason
  at: Date
  /** It must have failed all the time since then, as it stands now; null asks for no such thing. */
  failingBefore: Date | null
}
