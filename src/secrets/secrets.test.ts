import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { testDatabase } from '../../test/support/database.ts'
import { systemClock } from '../kit/clock.ts'
import { createVault } from '../kit/crypto.ts'
import { type Db, sql } from '../kit/db/db.ts'
import { systemRandom } from '../kit/random.ts'
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
