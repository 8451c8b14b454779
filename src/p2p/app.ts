import type { PerMerchantGateway } from '../gateways/registry.ts'
import type { P2pAccountsApp } from '../p2p-accounts/service.ts'

/** The gateway whose provider is the merchant itself. */
export type P2pGateways = PerMerchantGateway & P2pAccountsApp['p2pGateways']

export interface P2pApp extends P2pAccountsApp {
  p2pGateways: P2pGateways
}

/** The gateway's name on payments and attempts. */
export const P2P = 'p2p'
