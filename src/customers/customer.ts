export interface CustomerRow {
  id: string
  email: string
  firstname: string
  lastname: string
  country: string | null
  phone: string | null
  metadata: Record<string, unknown>
  status: 'active' | 'blocked'
  /** Why the customer is blocked, in the merchant's words. */
  statusReason: string | null
  successfulPayments: bigint
  lastPaymentAt: Date | null
  createdAt: Date
  updatedAt: Date
}
export const CUSTOMER_COLUMNS = `
  id, email, firstname, lastname, country, phone, metadata, status,
  status_reason as "statusReason",
  successful_payments as "successfulPayments", last_payment_at as "lastPaymentAt", created_at as "createdAt",
  updated_at as "updatedAt"`
export interface CustomerFields {
  email: string
  emailKey: string
  firstname: string
  lastname: string
  country: string | null
  phone: string | null
  metadata: Record<string, unknown>
  searchText: string
}
