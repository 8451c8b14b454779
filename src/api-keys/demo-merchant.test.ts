import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { testDatabase } from '../../test/support/database.ts'
import { systemClock } from '../kit/clock.ts'
import { systemRandom } from '../kit/random.ts'
import { listMerchants } from '../merchants/service.ts'
import { ensureStagingMerchants } from './demo-merchant.ts'
import { createKey, listKeys, revokeKey } from './service.ts'

const random = systemRandom(systemClock)

async function dataFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'cowry-test-'))
  t.after(() => rm(folder, { recursive: true }))
  return folder
}

describe('the merchants of staging', () => {
  async function staging(t: TestContext) {
    const db = await testDatabase(t)
    const app = {
      instanceDb: db,
      clock: systemClock,
      random,
      mode: 'test' as const,
      keyPepper: random.bytes(32),
    }
    return { app, dataDir: await dataFolder(t) }
  }

  it('are a demo merchant with one key and a test shop without keys, also after concurrent and repeated starts', async (t) => {
    const { app, dataDir } = await staging(t)
    const folders = await Promise.all(Array.from({ length: 5 }, () => dataFolder(t)))
    const starts = await Promise.all(
      [dataDir, ...folders].map((folder) => ensureStagingMerchants(app, folder)),
    )
    const { demo, testShop } = await ensureStagingMerchants(app, dataDir)
    for (const start of starts) {
      assert.equal(start.demo.apiKey, demo.apiKey)
      assert.equal(start.testShop.id, testShop.id)
    }
    const merchants = await listMerchants(app, {})
    assert.deepEqual(merchants.items.map(({ name }) => name).sort(), ['Demo Shop', 'Test Shop'])
    const keys = await listKeys(app, demo.merchant.id, {})
    assert.deepEqual(
      keys.items.map(({ scopes }) => scopes),
      [['*']],
    )
    assert.deepEqual((await listKeys(app, testShop.id, {})).items, [])
  })

  it('have the demo key in the data folder, and only the owner can read the file', async (t) => {
    const { app, dataDir } = await staging(t)
    const { demo } = await ensureStagingMerchants(app, dataDir)
    const path = join(dataDir, 'demo-key')
    assert.equal(await readFile(path, 'utf8'), `${demo.apiKey}\n`)
    assert.equal(((await stat(path)).mode & 0o777).toString(8), '600')
  })

  it('get a new demo key when the old one is revoked or the pepper changes', async (t) => {
    const { app, dataDir } = await staging(t)
    const { demo: first } = await ensureStagingMerchants(app, dataDir)
    const [key] = (await listKeys(app, first.merchant.id, {})).items
    await revokeKey(app, first.merchant.id, key?.keyId ?? '')
    const { demo: second } = await ensureStagingMerchants(app, dataDir)
    const changed = { ...app, keyPepper: random.bytes(32) }
    const { demo: third } = await ensureStagingMerchants(changed, dataDir)
    assert.equal(new Set([first, second, third].map(({ apiKey }) => apiKey)).size, 3)
    assert.equal(new Set([first, second, third].map(({ merchant }) => merchant.id)).size, 1)
    assert.equal(await readFile(join(dataDir, 'demo-key'), 'utf8'), `${third.apiKey}\n`)
  })

  it('do not exist in production', async (t) => {
    const { app, dataDir } = await staging(t)
    await assert.rejects(ensureStagingMerchants({ ...app, mode: 'live' }, dataDir), /outside staging/)
    assert.equal((await listMerchants(app, {})).meta.total, 0)
    await assert.rejects(createKey(app, random.uuid(), {}))
  })
})
