// The API key of the staging demo merchant. It is stored in clear twice: in the database, where all processes share it, and
// in the data folder, where the command line reads it. Beside it, the id of the merchant of the landing page's test payments.

import { join } from 'node:path'
import type { Tx } from '../kit/db/db.ts'
import { readPrivateFile, writePrivateFile } from '../kit/private-files.ts'
import type { Random } from '../kit/random.ts'
import { findSecret, putSecret } from './queries.ts'

const DEMO_SECRET = 'demo_key'
const TEST_SHOP = 'test_shop_id'

const demoKeyPath = (dataDir: string) => join(dataDir, 'demo-key')

export function findDemoKey(db: Tx): Promise<string | undefined> {
  return findSecret(db, DEMO_SECRET)
}

export function saveDemoKey(db: Tx, apiKey: string): Promise<void> {
  return putSecret(db, DEMO_SECRET, apiKey)
}

export function findTestShopId(db: Tx): Promise<string | undefined> {
  return findSecret(db, TEST_SHOP)
}

export function saveTestShopId(db: Tx, merchantId: string): Promise<void> {
  return putSecret(db, TEST_SHOP, merchantId)
}

/** Undefined when no service has run on this data folder. */
export function readDemoKeyFile(dataDir: string): Promise<string | undefined> {
  return readPrivateFile(demoKeyPath(dataDir))
}

export function writeDemoKeyFile(dataDir: string, apiKey: string, random: Random): Promise<void> {
  return writePrivateFile(demoKeyPath(dataDir), apiKey, random)
}
