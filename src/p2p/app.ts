import type { PerMerchantGateway } from '../gateways/registry.ts'
import type { P2pAccountsApp } from '../p2p-accounts/service.ts'

/** The gateway whose provider is the merchant itself. */
export type DirectGateways = PerMerchantGateway & P2pAccountsApp['direct']

export interface P2pApp extends P2pAccountsApp {
  direct: DirectGateways
}

/** The gateway's name on payments and attempts. */
export const P2P = 'p2p'
