// The demo merchant itself: its settings, its key, its links and its accounts for transfers.

import { type CreatedKey, createKey } from '../api-keys/service.ts'
import type { Currency } from '../core/currency.ts'
import type { Tx } from '../kit/db/db.ts'
import type { LinkRow } from '../links/link.ts'
import { createLink } from '../links/service.ts'
import { createMerchant, type ManagedMerchant } from '../merchants/service.ts'
import { createAccount } from '../p2p-accounts/service.ts'
import type { DemoApp } from './app.ts'
import { MARKETS } from './markets.ts'
import { tryLockHistory } from './queries.ts'

const NAME = 'Savanna Home'

/** False while another process fills a merchant. The lock ends with the transaction. */
export function lockDemo(tx: Tx): Promise<boolean> {
  return tryLockHistory(tx)
}

export interface DemoMerchant {
  merchant: ManagedMerchant
  key: CreatedKey
}

/** The number is that of the merchant among those of the demo, from 1. */
export async function createDemoMerchant(app: DemoApp, number: number): Promise<DemoMerchant> {
  const merchant = await createMerchant(app, {
    name: number === 1 ? NAME : `${NAME} ${number}`,
    baseCurrency: 'NGN',
    settings: {
      savedMethods: 'ask_with_checkbox',
      timeZone: 'Africa/Lagos',
      refundApprovals: [
        { currency: 'NGN', from: 50_000 },
        { currency: 'KES', from: 10_000 },
      ],
      caseApprovals: [
        { currency: 'NGN', from: 20_000 },
        { currency: 'USD', from: 20 },
      ],
      branding: { supportEmail: 'help@savanna-home.example', accentColor: '#8a4b14' },
    },
  })
  const key = await createKey(app, merchant.id, { name: 'Online shop', scopes: ['*'] })
  await createKey(app, merchant.id, {
    name: 'Bookkeeping, reads only',
    scopes: ['wallet:read', 'checkout:read'],
  })
  return { merchant, key }
}

const LINKS: readonly {
  title: string
  currency: Currency
  country: string
  amount?: number
  maxPayments?: number
}[] = [
  { title: 'Basket weaving workshop', currency: 'NGN', country: 'NG', amount: 25_000 },
  { title: 'Gift voucher', currency: 'KES', country: 'KE' },
  { title: 'Atelier de poterie', currency: 'XOF', country: 'CI', amount: 20_000 },
  { title: 'Deposit for the pop-up market', currency: 'GHS', country: 'GH', amount: 150, maxPayments: 12 },
]

/** By currency. */
export async function createLinks(app: DemoApp, merchant: ManagedMerchant): Promise<Map<string, LinkRow>> {
  const links = new Map<string, LinkRow>()
  for (const link of LINKS) {
    const { record } = await createLink(app, merchant, link, undefined)
    links.set(link.currency, record)
  }
  return links
}

export async function createAccounts(app: DemoApp, merchant: ManagedMerchant): Promise<void> {
  for (const { p2pAccount } of MARKETS)
    if (p2pAccount) await createAccount(app, merchant, p2pAccount, undefined)
}
