/** Where a refund goes back to: to what the payment was paid with. */
export interface RefundDestination {
  /** Null before the first attempt. */
  channel: string | null
  /** "M-PESA 0712 ••• 678" or "Visa •••• 4242"; null where the provider does not say. */
  method: string | null
}
