import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { testDatabase } from '../../test/support/database.ts'
import { systemClock } from '../kit/clock.ts'
import { systemRandom } from '../kit/random.ts'
import { listMerchants } from '../merchants/service.ts'
import { ensureDemoMerchant } from './demo-merchant.ts'
import { createKey, listKeys, revokeKey } from './service.ts'

const random = systemRandom(systemClock)

async function dataFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'cowry-test-'))
  t.after(() => rm(folder, { recursive: true }))
  return folder
}

describe('the demo merchant', () => {
  async function staging(t: TestContext) {
    const db = await testDatabase(t)
    const app = { db, clock: systemClock, random, mode: 'test' as const, keyPepper: random.bytes(32) }
    return { app, dataDir: await dataFolder(t) }
  }

  it('is one merchant with one key after concurrent and repeated starts', async (t) => {
    const { app, dataDir } = await staging(t)
    const folders = await Promise.all(Array.from({ length: 5 }, () => dataFolder(t)))
    const demos = await Promise.all([dataDir, ...folders].map((folder) => ensureDemoMerchant(app, folder)))
    demos.push(await ensureDemoMerchant(app, dataDir))
    assert.equal(new Set(demos.map(({ apiKey }) => apiKey)).size, 1)
    const merchants = await listMerchants(app, {})
    assert.deepEqual(
      merchants.items.map(({ name }) => name),
      ['Demo Shop'],
    )
    const keys = await listKeys(app, demos[0]?.merchant.id ?? '', {})
    assert.deepEqual(
      keys.items.map(({ scopes }) => scopes),
      [['*']],
    )
  })

  it('has its key in the data folder, and only the owner can read the file', async (t) => {
    const { app, dataDir } = await staging(t)
    const { apiKey } = await ensureDemoMerchant(app, dataDir)
    const path = join(dataDir, 'demo-key')
    assert.equal(await readFile(path, 'utf8'), `${apiKey}\n`)
    assert.equal(((await stat(path)).mode & 0o777).toString(8), '600')
  })

  it('gets a new key when the old one is revoked or the pepper changes', async (t) => {
    const { app, dataDir } = await staging(t)
    const first = await ensureDemoMerchant(app, dataDir)
    const [key] = (await listKeys(app, first.merchant.id, {})).items
    await revokeKey(app, first.merchant.id, key?.keyId ?? '')
    const second = await ensureDemoMerchant(app, dataDir)
    const third = await ensureDemoMerchant({ ...app, keyPepper: random.bytes(32) }, dataDir)
    assert.equal(new Set([first, second, third].map(({ apiKey }) => apiKey)).size, 3)
    assert.equal(new Set([first, second, third].map(({ merchant }) => merchant.id)).size, 1)
    assert.equal(await readFile(join(dataDir, 'demo-key'), 'utf8'), `${third.apiKey}\n`)
  })

  it('does not exist in production', async (t) => {
    const { app, dataDir } = await staging(t)
    await assert.rejects(ensureDemoMerchant({ ...app, mode: 'live' }, dataDir), /outside staging/)
    assert.equal((await listMerchants(app, {})).meta.total, 0)
    await assert.rejects(createKey(app, random.uuid(), {}))
  })
})
