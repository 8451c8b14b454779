import type { ManagedMerchant } from '../merchants/service.ts'
import type { PaymentsApp } from '../payments/app.ts'

/** What the verbs of this slice ask for. */
export interface LinksApp extends PaymentsApp {
  /** Who is paid, and whether they may be paid at this moment. */
  requireMerchant(merchantId: string): Promise<ManagedMerchant>
}
