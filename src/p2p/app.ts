// What the verbs of this slice ask for.

import type { PerMerchantGateway } from '../gateways/registry.ts'
import type { PaymentsApp } from '../payments/app.ts'

/** The gateway whose provider is the merchant itself. */
export interface DirectGateways extends PerMerchantGateway {
  /** The accounts of the merchant have changed in this process. */
  invalidate(merchantId: string): void
}

export interface P2pApp extends PaymentsApp {
  direct: DirectGateways
}

/** What payments call it. */
export const P2P = 'p2p'
