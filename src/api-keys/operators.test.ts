import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { Value } from 'typebox/value'
import { testDatabase } from '../../test/support/database.ts'
import { ApiError, type ApiErrorCode } from '../core/errors.ts'
import { addMs, type Clock, systemClock } from '../kit/clock.ts'
import { type Db, sql } from '../kit/db/db.ts'
import type { OperatorRoute } from '../kit/http/route.ts'
import { systemRandom } from '../kit/random.ts'
import { operatorRoutes } from '../merchants/routes.ts'
import {
  activateMerchant,
  createMerchant,
  listMerchants,
  requireMerchant,
  suspendMerchant,
  updateMerchant,
} from '../merchants/service.ts'
import { authenticate, createKeyCache } from './authenticate.ts'
import { parseApiKey } from './key-format.ts'
import { operatorKeyRoutes } from './operator-routes.ts'
import { createKey, listKeys, revokeKey, rotateKey } from './service.ts'

const random = systemRandom(systemClock)
const NOW = new Date('2026-03-01T12:00:00.000Z')
const at = (ms: number): Clock => ({ now: () => addMs(NOW, ms), sleep: async () => undefined })
const failsWith = (code: ApiErrorCode) => (error: unknown) => error instanceof ApiError && error.code === code

function adminAppOn(db: Db) {
  return { instanceDb: db, clock: at(0), random, mode: 'test' as const, keyPepper: random.bytes(32) }
}

async function createAdminApp(t: TestContext) {
  const app = adminAppOn(await testDatabase(t))
  return { app, merchant: await createMerchant(app, { name: 'Corner Shop' }) }
}

async function errorAt(
  app: ReturnType<typeof adminAppOn>,
  apiKey: string,
  ms: number,
): Promise<string | undefined> {
  const log = { write() {} }
  const process = { ...app, clock: at(ms), log, keyCache: createKeyCache(app) }
  try {
    await authenticate(process, { apiKey, ip: '127.0.0.1' })
    return undefined
  } catch (error) {
    return error instanceof ApiError ? error.code : String(error)
  }
}

describe('merchants', () => {
  it('get the mode of the environment, and US dollars unless another currency is given', async (t) => {
    const { app, merchant } = await createAdminApp(t)
    assert.equal(merchant.mode, 'test')
    assert.equal(merchant.baseCurrency, 'USD')
    assert.deepEqual(await requireMerchant(app, merchant.id), merchant)
  })

  it('keep the fields that a change does not name', async (t) => {
    const { app, merchant } = await createAdminApp(t)
    const later = { ...app, clock: at(5_000) }
    const supportEmail = 'help@shop.example'
    const changes = { baseCurrency: 'XOF' as const, settings: { branding: { supportEmail } } }
    const changed = await updateMerchant(later, merchant.id, changes)
    const branding = { ...merchant.settings.branding, supportEmail }
    const settings = { ...merchant.settings, branding }
    assert.deepEqual(changed, { ...merchant, baseCurrency: 'XOF', settings, updatedAt: at(5_000).now() })
    assert.equal((await suspendMerchant(app, merchant.id)).status, 'suspended')
    assert.equal((await activateMerchant(app, merchant.id)).status, 'active')
  })

  it('are listed newest first, with pagination', async (t) => {
    const { app, merchant } = await createAdminApp(t)
    for (const name of ['Second', 'Third']) {
      await systemClock.sleep(2)
      await createMerchant(app, { name })
    }
    const { items, meta } = await listMerchants(app, { page: 1, limit: 2 })
    assert.deepEqual(
      items.map(({ name }) => name),
      ['Third', 'Second'],
    )
    assert.deepEqual({ ...meta }, { ...meta, total: 3, pageCount: 2, hasNext: true, hasPrevious: false })
    const rest = await listMerchants(app, { page: 2, limit: 2 })
    assert.deepEqual(rest.items, [merchant])
    assert.equal(rest.meta.hasNext, false)
  })

  it('are reported as merchant_not_found when they do not exist', async (t) => {
    const { app } = await createAdminApp(t)
    const unknownId = random.uuid()
    const calls = [
      () => requireMerchant(app, unknownId),
      () => updateMerchant(app, unknownId, { name: 'x' }),
      () => suspendMerchant(app, unknownId),
      () => createKey(app, unknownId, {}),
      () => listKeys(app, unknownId, {}),
    ]
    for (const call of calls) await assert.rejects(call, failsWith('merchant_not_found'))
  })

  it('merchants of the other environment cannot get an API key', async (t) => {
    const { app, merchant } = await createAdminApp(t)
    await assert.rejects(createKey({ ...app, mode: 'live' }, merchant.id, {}), failsWith('mode_mismatch'))
  })
})

describe('API keys', () => {
  it('F-79: are stored only as a keyed hash', async (t) => {
    const { app, merchant } = await createAdminApp(t)
    const { apiKey } = await createKey(app, merchant.id, { name: 'till' })
    const rows = await app.instanceDb.query(sql<{ text: string }>`select k::text as text from api_keys k`)
    const secret = parseApiKey(apiKey)?.secret ?? ''
    assert.equal(secret.length, 43)
    assert.ok(!JSON.stringify(rows).includes(secret))
    assert.ok(!JSON.stringify(rows).includes(Buffer.from(secret).toString('hex')))
    assert.ok(!JSON.stringify(await listKeys(app, merchant.id, {})).includes(secret))
  })

  it('cannot create other keys by default', async (t) => {
    const { app, merchant } = await createAdminApp(t)
    const { key } = await createKey(app, merchant.id, {})
    assert.ok(key.scopes.includes('charges:write'))
    assert.ok(!key.scopes.includes('keys:write') && !key.scopes.includes('*'))
  })

  it('are rejected with all validation issues at once', async (t) => {
    const { app, merchant } = await createAdminApp(t)
    const input = {
      expiresAt: NOW.toISOString(),
      allowedIps: ['10.0.0.1', 'nonsense'],
      rateLimit: { perSecond: 5, burst: 1 },
    }
    await assert.rejects(createKey(app, merchant.id, input), (error: unknown) => {
      if (!(error instanceof ApiError)) return false
      assert.deepEqual(
        error.details.map(({ field }) => field),
        ['expiresAt', 'allowedIps.1', 'rateLimit.burst'],
      )
      return true
    })
  })

  it('stay valid for the overlap after a rotation, and their successors have the same rights', async (t) => {
    const { app, merchant } = await createAdminApp(t)
    const input = { name: 'till', scopes: ['wallet:read' as const], allowedIps: ['127.0.0.1'] }
    const old = await createKey(app, merchant.id, input)
    const fresh = await rotateKey(app, merchant.id, old.key.keyId)
    const { keyId, createdAt, ...rights } = old.key
    assert.deepEqual(
      { ...fresh.key, keyId, createdAt },
      { ...rights, keyId, createdAt, descendsFrom: [keyId] },
    )
    const day = 24 * 3_600_000
    assert.equal(await errorAt(app, old.apiKey, day - 1), undefined)
    assert.equal(await errorAt(app, old.apiKey, day), 'api_key_expired')
    assert.equal(await errorAt(app, fresh.apiKey, day), undefined)
  })

  it('do not expire later by a rotation, and a successor has the lifetime of its predecessor', async (t) => {
    const { app, merchant } = await createAdminApp(t)
    const old = await createKey(app, merchant.id, { expiresAt: at(60_000).now().toISOString() })
    const fresh = await rotateKey({ ...app, clock: at(10_000) }, merchant.id, old.key.keyId, 168)
    assert.deepEqual(fresh.key.expiresAt, at(70_000).now())
    const keys = (await listKeys(app, merchant.id, {})).items
    const replaced = keys.find(({ keyId }) => keyId === old.key.keyId)
    assert.deepEqual(replaced?.expiresAt, at(60_000).now())
    assert.equal(replaced?.replacedBy, fresh.key.keyId)
  })

  it('get one successor when two rotations run concurrently', async (t) => {
    const { app, merchant } = await createAdminApp(t)
    const { key } = await createKey(app, merchant.id, {})
    const tries = Array.from({ length: 6 }, () => rotateKey(app, merchant.id, key.keyId))
    const results = await Promise.allSettled(tries)
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
    for (const result of results)
      if (result.status === 'rejected')
        assert.ok(failsWith('invalid_state')(result.reason), String(result.reason))
    assert.equal((await listKeys(app, merchant.id, {})).meta.total, 2)
  })

  it('are revoked permanently, and a second revocation changes nothing', async (t) => {
    const { app, merchant } = await createAdminApp(t)
    const { key, apiKey } = await createKey(app, merchant.id, {})
    const revoked = await revokeKey(app, merchant.id, key.keyId)
    const again = await revokeKey({ ...app, clock: at(9_000) }, merchant.id, key.keyId)
    assert.deepEqual(again.revokedAt, revoked.revokedAt)
    assert.equal(await errorAt(app, apiKey, 0), 'api_key_revoked')
    await assert.rejects(rotateKey(app, merchant.id, key.keyId), failsWith('invalid_state'))
  })

  it('F-74: cannot be rotated or revoked by another merchant', async (t) => {
    const { app, merchant } = await createAdminApp(t)
    const other = await createMerchant(app, { name: 'Other Shop' })
    const { key, apiKey } = await createKey(app, merchant.id, {})
    await assert.rejects(rotateKey(app, other.id, key.keyId), failsWith('api_key_not_found'))
    await assert.rejects(revokeKey(app, other.id, key.keyId), failsWith('api_key_not_found'))
    assert.equal((await listKeys(app, other.id, {})).items.length, 0)
    assert.equal(await errorAt(app, apiKey, 0), undefined)
  })
})

describe('the operators’ routes over merchants and keys', () => {
  async function desk(t: TestContext) {
    const { app, merchant } = await createAdminApp(t)
    const checkInvariants = async () => [{ name: 'I1', violations: 0 }]
    const routes = [...operatorKeyRoutes(app), ...operatorRoutes(app, { checkInvariants })]
    const call = async (name: string, input: Partial<Parameters<OperatorRoute['handle']>[0]> = {}) => {
      const route = routes.find(
        ({ method, path }) => `${method} ${path}` === `${name.replace(' ', ' /admin/v1')}`,
      )
      assert.ok(route, name)
      const response = await route.handle({
        ...{ params: {}, query: {}, body: {}, requestId: 'r', operator: null },
        ...input,
      })
      assert.equal(response.http, route.response.http, name)
      const records = route.response.list && Array.isArray(response.data) ? response.data : [response.data]
      for (const record of records) {
        // The serialized response must match the schema.
        const wire: unknown = JSON.parse(JSON.stringify(record))
        assert.deepEqual(Value.Errors(route.response.data, wire), [], name)
      }
      return { ...response, first: records[0] as Record<string, unknown> }
    }
    return { call, routes, params: { uuid: merchant.id } }
  }

  it('respond as their schemas describe', async (t) => {
    const { call, routes, params } = await desk(t)
    assert.equal((await call('POST /merchants', { body: { name: 'New Shop' } })).http, 201)
    assert.equal((await call('GET /merchants', { query: { page: 1, limit: 10 } })).meta?.total, 2)
    await call('GET /merchants/{uuid}', { params })
    await call('PATCH /merchants/{uuid}', { params, body: { name: 'Renamed' } })
    await call('POST /merchants/{uuid}/suspend', { params })
    await call('POST /merchants/{uuid}/activate', { params })
    const { first: key } = await call('POST /merchants/{uuid}/keys', { params, body: { name: 'till' } })
    const rotated = await call('POST /keys/{keyId}/rotate', {
      params: { keyId: String(key.keyId) },
      body: { overlapHours: 1 },
    })
    const keyId = String(rotated.first.keyId)
    const revoked = await call('POST /keys/{keyId}/revoke', { params: { keyId } })
    assert.equal(revoked.first.status, 'revoked')
    const list = await call('GET /merchants/{uuid}/keys', { params, query: {} })
    assert.ok(!JSON.stringify(list.data).includes(String(key.apiKey).slice(24)))
    assert.deepEqual((await call('GET /invariants')).data, [{ name: 'I1', violations: 0 }])
    assert.equal(routes.length, 11)
  })
})
