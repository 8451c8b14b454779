// The API key of the staging demo merchant. It is stored in clear twice: in the database, where all processes share it, and
// in the data folder, where the command line reads it. Beside it, the id of the merchant of the landing page's test payments,
// and the keys of the merchants that `cowry demo` made.

import { join } from 'node:path'
import type { Tx } from '../kit/db/db.ts'
import { readPrivateFile, writePrivateFile } from '../kit/private-files.ts'
import type { Random } from '../kit/random.ts'
import { findSecret, listSecrets, putSecret } from './queries.ts'

const DEMO_SECRET = 'demo_key'
const TEST_SHOP = 'test_shop_id'
const FILLED_MERCHANT = 'filled_merchant:'

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

/** A merchant that `cowry demo` has filled, with its key in clear. */
export interface FilledMerchant {
  /** Among the filled merchants, from 1. */
  number: number
  merchantId: string
  name: string
  apiKey: string
}

/** In the order of their numbers. */
export async function listFilledMerchants(db: Tx): Promise<FilledMerchant[]> {
  const values = await listSecrets(db, FILLED_MERCHANT)
  // A boundary: only the function below writes these values.
  const merchants = values.map((value): FilledMerchant => JSON.parse(value))
  return merchants.toSorted((one, other) => one.number - other.number)
}

export function saveFilledMerchant(db: Tx, merchant: FilledMerchant): Promise<void> {
  return putSecret(db, `${FILLED_MERCHANT}${merchant.number}`, JSON.stringify(merchant))
}

/** Undefined when no service has run on this data folder. */
export function readDemoKeyFile(dataDir: string): Promise<string | undefined> {
  return readPrivateFile(demoKeyPath(dataDir))
}

export function writeDemoKeyFile(dataDir: string, apiKey: string, random: Random): Promise<void> {
  return writePrivateFile(demoKeyPath(dataDir), apiKey, random)
}
