import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { testDatabase } from '../../test/support/database.ts'
import { ensureDemoMerchant } from '../api-keys/demo-merchant.ts'
import { createKey, listKeys, revokeKey } from '../api-keys/service.ts'
import { systemClock } from '../kit/clock.ts'
import { createVault } from '../kit/crypto.ts'
import { type Db, sql } from '../kit/db.ts'
import { systemRandom } from '../kit/random.ts'
import { listMerchants } from '../merchants/service.ts'
import { ensureAdminToken, isAdminToken, readAdminToken } from './admin-token.ts'
import { loadSecrets, requireKeyring } from './secrets.ts'

const random = systemRandom(systemClock)
const STAGING = {
  environment: 'staging',
  encryptionKeys: null,
  keyPepper: null,
  sandboxSecret: null,
} as const
const KEY = { id: 'k1', key: random.bytes(32) }
const PRODUCTION = {
  environment: 'production',
  encryptionKeys: [KEY],
  keyPepper: random.bytes(32),
  sandboxSecret: null,
} as const

async function dataFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'cowry-test-'))
  t.after(() => rm(folder, { recursive: true }))
  return folder
}

const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8)

describe('the secrets of an instance', () => {
  it('are the same for all processes that start together on an empty database', async (t) => {
    const db = await testDatabase(t)
    const all = await Promise.all(Array.from({ length: 8 }, () => loadSecrets(db, STAGING, random)))
    for (const secrets of all) assert.deepEqual(secrets, all[0])
    assert.deepEqual(await loadSecrets(db, STAGING, random), all[0])
    const [first] = all
    assert.equal(first?.encryptionKeys[0]?.key.length, 32)
    assert.equal(first?.keyPepper.length, 32)
    assert.notEqual(first?.sandboxSecret, first?.sandboxWebhookSecret)
  })

  it('come from the settings, and only the missing ones are generated', async (t) => {
    const db = await testDatabase(t)
    const secrets = await loadSecrets(db, { ...STAGING, encryptionKeys: [KEY], sandboxSecret: 's' }, random)
    assert.deepEqual(secrets.encryptionKeys, [KEY])
    assert.equal(secrets.sandboxSecret, 's')
    const names = await db.query(sql<{ name: string }>`select name from service_secrets`)
    assert.deepEqual(names, [{ name: 'key_pepper' }])
  })

  it('are not read from the database in production', async () => {
    const noDb: Db = {
      query: () => assert.fail('sent a statement'),
      transaction: () => assert.fail('sent a statement'),
      script: () => assert.fail('sent a statement'),
      close: async () => undefined,
    }
    const secrets = await loadSecrets(noDb, PRODUCTION, random)
    assert.deepEqual(secrets.keyPepper, PRODUCTION.keyPepper)
    assert.equal(secrets.sandboxSecret, '')
    await assert.rejects(loadSecrets(noDb, { ...PRODUCTION, keyPepper: null }, random), /key_pepper/)
  })
})

describe('the keyring', () => {
  it('F-92: is rejected when it lacks the key that wrote this database, or has another key with its name', async (t) => {
    const db = await testDatabase(t)
    await requireKeyring(db, createVault([KEY], random))
    await requireKeyring(db, createVault([KEY], random))
    for (const id of ['k1', 'k2']) {
      const wrong = createVault([{ id, key: random.bytes(32) }], random)
      await assert.rejects(requireKeyring(db, wrong), /does not fit this database.*"k1"/)
    }
  })

  it('F-92: can be rotated: the old key follows the new one, and both must stay', async (t) => {
    const db = await testDatabase(t)
    const fresh = { id: 'k2', key: random.bytes(32) }
    await requireKeyring(db, createVault([KEY], random))
    await requireKeyring(db, createVault([fresh, KEY], random))
    await assert.rejects(requireKeyring(db, createVault([fresh], random)), /written with the key "k1"/)
    await assert.rejects(requireKeyring(db, createVault([KEY], random)), /written with the key "k2"/)
    await requireKeyring(db, createVault([KEY, fresh], random))
  })

  it('F-92: writes nothing when it is rejected', async (t) => {
    const db = await testDatabase(t)
    await requireKeyring(db, createVault([KEY], random))
    const wrong = createVault([{ id: 'k3', key: random.bytes(32) }], random)
    await assert.rejects(requireKeyring(db, wrong))
    await requireKeyring(db, createVault([KEY], random))
  })
})

describe('the operator token', () => {
  it('is the same for all processes that start together on an empty folder, and only the owner can read its file', async (t) => {
    const dataDir = join(await dataFolder(t), 'new')
    const config = { adminToken: null, dataDir }
    const tokens = await Promise.all(Array.from({ length: 10 }, () => ensureAdminToken(config, random)))
    assert.equal(new Set(tokens).size, 1)
    assert.equal(tokens[0]?.length, 43)
    assert.equal(await readAdminToken(dataDir), tokens[0])
    assert.equal(await modeOf(join(dataDir, 'admin-token')), '600')
    assert.deepEqual(await readdir(dataDir), ['admin-token'])
  })

  it('comes from the settings, and then no file is written', async (t) => {
    const dataDir = await dataFolder(t)
    assert.equal(await ensureAdminToken({ adminToken: 'set', dataDir }, random), 'set')
    assert.deepEqual(await readdir(dataDir), [])
    assert.equal(await readAdminToken(dataDir), undefined)
  })

  it('is rejected when its file is empty, and a file that others can read becomes private', async (t) => {
    const dataDir = await dataFolder(t)
    const config = { adminToken: null, dataDir }
    const path = join(dataDir, 'admin-token')
    await writeFile(path, '', { mode: 0o644 })
    await assert.rejects(ensureAdminToken(config, random), /Delete it/)
    assert.equal(await modeOf(path), '600')
  })

  it('is compared as a whole', () => {
    assert.equal(isAdminToken('token', 'token'), true)
    for (const presented of [undefined, '', 'toke', 'token ', 'Token'])
      assert.equal(isAdminToken('token', presented), false)
  })
})

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
    assert.equal(await modeOf(path), '600')
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
