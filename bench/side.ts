// One side of a comparison: the service of a commit with its own embedded PostgreSQL and provider, filled over HTTP alone,
// because tables of another commit may have other names.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { Commit } from './commit.ts'
import { embeddedUrl } from './embedded-url.ts'
import { type Cleanups, type Program, startCowry, startProvider } from './programs.ts'
import {
  type FilledMerchant,
  initiateOf,
  type PaidPayment,
  type RequestSource,
  type SavedCard,
} from './requests.ts'
import { SECRETS_ENV } from './seed.ts'
import { request, sendOnce } from './send.ts'

export interface Side {
  name: string
  service: Program
  /** Of its PostgreSQL, as a superuser. */
  databaseUrl: string
  source: Omit<RequestSource, 'host'>
}

const CARDS = 200
const CARDS_AT_ONCE = 5

export async function startSide({ name, folder }: Commit, cleanups: Cleanups): Promise<Side> {
  const dataDir = await mkdtemp(join(tmpdir(), 'cowry-bench-'))
  cleanups.push(() => rm(dataDir, { recursive: true, force: true, maxRetries: 3 }))
  const provider = await startProvider(cleanups, folder)
  const env = {
    ...SECRETS_ENV,
    PORT: '0',
    COWRY_DATA_DIR: dataDir,
    COWRY_SANDBOX_URL: provider.url,
    COWRY_RATE_LIMIT: '0',
  }
  const service = await startCowry(cleanups, { args: ['serve'], env, root: folder })
  const [, key = ''] = /"demoKey": ?"([^"]+)"/.exec(service.line) ?? []
  const source = await fillMerchants(service.url, [key], CARDS)
  return { name, service, databaseUrl: await embeddedUrl(dataDir), source }
}

/** Customers of each merchant pay once, and their cards are saved. */
export async function fillMerchants(
  url: string,
  keys: readonly string[],
  cardsEach: number,
): Promise<Side['source']> {
  const paid: PaidPayment[] = []
  const filled: FilledMerchant[] = []
  for (const [merchant, key] of keys.entries()) {
    const saved: SavedCard[] = []
    for (let first = 1; first <= cardsEach; first += CARDS_AT_ONCE) {
      const customers = Array.from({ length: CARDS_AT_ONCE }, (_, index) => first + index)
      const done = await Promise.all(customers.map((customer) => saveCard(url, key, customer)))
      paid.push(...done.map(({ reference }) => ({ merchant, reference })))
      saved.push(...done.map(({ customer, token }) => ({ customer, token })))
    }
    filled.push({ key, saved })
  }
  return { paid, filled }
}

async function saveCard(url: string, key: string, customer: number) {
  const source = { host: new URL(url).host, paid: [], filled: [{ key, saved: [] }] }
  const { bytes, reference = '' } = initiateOf(source, { merchant: 0, customer })
  await sendOnce(url, bytes)
  const instrument = JSON.stringify({ instrument: 'card_success' })
  await request(`${url}/api/v1/sandbox/payments/${reference}/complete`, key, instrument)
  const text = await request(`${url}/api/v1/checkout/verify-payment?reference=${reference}`, key)
  const [token] = /rtk_[\w-]+/.exec(text) ?? []
  if (token === undefined) throw new Error(`no card was saved: ${text}`)
  return { customer, reference, token }
}

/** Collects statistics, as autovacuum would after some minutes. */
export async function analyze({ databaseUrl }: Side): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query('analyze').finally(() => client.end())
}
