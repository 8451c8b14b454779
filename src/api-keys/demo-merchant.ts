import { constantTimeEquals } from '../kit/crypto.ts'
import type { Db } from '../kit/db/db.ts'
import { createMerchant, type ManagedMerchant, requireMerchant } from '../merchants/service.ts'
import {
  findDemoKey,
  findTestShopId,
  saveDemoKey,
  saveTestShopId,
  writeDemoKeyFile,
} from '../secrets/demo-key.ts'
import { hashSecret, parseApiKey } from './key-format.ts'
import { findKeyOwner, type KeyOwnerRow, lockDemoMerchant } from './queries.ts'
import { type ApiKeysApp, createKey } from './service.ts'

interface DemoMerchant {
  merchant: ManagedMerchant
  apiKey: string
}

interface StagingMerchants {
  demo: DemoMerchant
  /** Collects the test payments of the landing page's visitors, so that the demo key does not list them. It has no key. */
  testShop: ManagedMerchant
}

/**
 * Staging starts with a demo merchant and a test shop. The demo merchant's API key is stored in clear, in the database and in the data folder, and replaced
 * when it no longer works. A lock serializes processes that start together.
 */
export async function ensureStagingMerchants(
  app: Omit<ApiKeysApp, 'instanceDb'> & { instanceDb: Db },
  dataDir: string,
): Promise<StagingMerchants> {
  if (app.mode !== 'test') throw new Error('there is no demo merchant outside staging')
  const merchants = await app.instanceDb.transaction(async (tx) => {
    await lockDemoMerchant(tx)
    const own = { ...app, db: tx }
    return { demo: await findOrCreateDemo(own), testShop: await findOrCreateTestShop(own) }
  })
  await writeDemoKeyFile(dataDir, merchants.demo.apiKey, app.random)
  return merchants
}

async function findOrCreateTestShop(app: ApiKeysApp): Promise<ManagedMerchant> {
  const id = await findTestShopId(app.instanceDb)
  if (id !== undefined) return requireMerchant(app, id)
  const merchant = await createMerchant(app, { name: 'Test Shop' })
  await saveTestShopId(app.instanceDb, merchant.id)
  return merchant
}

async function findOrCreateDemo(app: ApiKeysApp): Promise<DemoMerchant> {
  const stored = (await findDemoKey(app.instanceDb)) ?? ''
  const presented = parseApiKey(stored)
  const key = presented && (await findKeyOwner(app.instanceDb, presented.id))
  if (presented && key && isUsable(app, key, presented.secret))
    return { merchant: await requireMerchant(app, key.merchantId), apiKey: stored }
  const merchant = key
    ? await requireMerchant(app, key.merchantId)
    : await createMerchant(app, { name: 'Demo Shop' })
  const { apiKey } = await createKey(app, merchant.id, { name: 'Demo key', scopes: ['*'] })
  await saveDemoKey(app.instanceDb, apiKey)
  return { merchant, apiKey }
}

function isUsable(app: ApiKeysApp, key: KeyOwnerRow, secret: string): boolean {
  const matches = constantTimeEquals(hashSecret(app.keyPepper, secret), key.secretHash)
  return matches && !key.revokedAt && (!key.expiresAt || key.expiresAt > app.clock.now())
}
