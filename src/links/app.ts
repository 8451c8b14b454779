import type { ManagedMerchant } from '../merchants/service.ts'
import type { PaymentsApp } from '../payments/app.ts'

export interface LinksApp extends PaymentsApp {
  /** The merchant of a link, with its current status: a suspended merchant cannot be paid. */
  requireMerchant(merchantId: string): Promise<ManagedMerchant>
}
