import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { authenticate, createKeyCache } from '../../src/api-keys/authenticate.ts'
import { operatorKeyRoutes } from '../../src/api-keys/operator-routes.ts'
import { cellRoutes } from '../../src/cells/routes.ts'
import { runCommandLine } from '../../src/cli/program.ts'
import { writeServerFile } from '../../src/cli/server-file.ts'
import { gatewayCheckRoutes } from '../../src/gateways/check-routes.ts'
import { fixedGateways } from '../../src/gateways/registry.ts'
import { createHttpShell } from '../../src/http/server.ts'
import { instanceRoutes } from '../../src/instance.ts'
import { ONE_CELL } from '../../src/kit/cells/cells.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { createVault } from '../../src/kit/crypto.ts'
import { createLog } from '../../src/kit/observability/log.ts'
import { systemRandom } from '../../src/kit/random.ts'
import { operatorRoutes } from '../../src/merchants/routes.ts'
import { ensureAdminToken, isAdminToken } from '../../src/secrets/admin-token.ts'
import { testDatabase } from '../support/database.ts'

/** The operators' API on its own port, with a data folder for the command line. */
async function startService(t: TestContext) {
  const db = await testDatabase(t)
  const dataDir = await mkdtemp(join(tmpdir(), 'cowry-operators-'))
  t.after(() => rm(dataDir, { recursive: true }))
  const random = systemRandom(systemClock)
  const log = createLog('silent')
  const token = await ensureAdminToken({ adminToken: null, dataDir }, random)
  const app = {
    db,
    instanceDb: db,
    clock: systemClock,
    random,
    log,
    mode: 'test' as const,
    keyPepper: random.bytes(32),
  }
  const keys = { ...app, keyCache: createKeyCache(app) }
  const invariantState = { violations: 0, ready: true }
  const shell = createHttpShell({
    ...app,
    routes: [],
    pageRoutes: [],
    gatewayWebhookRoutes: [],
    mounts: {},
    operatorRoutes: [
      ...operatorKeyRoutes(app),
      ...operatorRoutes(app, {
        checkInvariants: async () => [{ name: 'I1', violations: invariantState.violations }],
      }),
      ...gatewayCheckRoutes({ ...app, gateways: fixedGateways([]) }),
      ...instanceRoutes(app),
      ...cellRoutes({
        ...{ ...app, unscopedInstanceDb: db, cells: { ...ONE_CELL, open: () => db } },
        vault: createVault([{ id: 'k1', key: Buffer.alloc(32) }], app.random),
        probeCell: async () => true,
      }),
    ],
    authenticate: (input) => authenticate(keys, input),
    adminTokenMatches: (presented) => isAdminToken(token, presented),
    ready: async () => ({
      ready: invariantState.ready,
      reasons: invariantState.ready ? [] : ['The database is away.'],
    }),
    publicUrl: () => 'http://127.0.0.1',
    environment: 'staging',
    rateLimit: null,
    trustProxy: false,
  })
  const { port } = await shell.listen('127.0.0.1', 0)
  t.after(() => shell.stop())
  await writeServerFile(dataDir, { url: `http://127.0.0.1:${port}`, pid: process.pid })

  const callAdmin = async (
    method: 'GET' | 'POST' | 'PATCH',
    path: string,
    payload?: object,
    bearer = token,
  ) => {
    const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' }
    const { http, body } = await shell.inject({ method, url: `/admin/v1${path}`, headers, payload })
    return { http, ...JSON.parse(body) }
  }
  const cowry = async (...argv: string[]) => {
    let out = ''
    const take = (text: string) => {
      out += text
    }
    const code = await runCommandLine(argv, {
      terminal: { out: take, err: take },
      env: { COWRY_DATA_DIR: dataDir },
    })
    return { code, out }
  }
  const cowryJson = async (...argv: string[]) => {
    const { code, out } = await cowry(...argv, '--json')
    return { code, ...JSON.parse(out) }
  }
  return { callAdmin, cowry, cowryJson, invariantState, keys, shell }
}

describe('the operators’ API', () => {
  it('rejects every operator route without the operator token, and with a merchant’s key instead', async (t) => {
    const { callAdmin, shell, cowryJson } = await startService(t)
    const merchant = (await cowryJson('merchants', 'create', '--name', 'Corner Shop')).data
    const key = (await cowryJson('keys', 'create', '--merchant', merchant.uuid, '--scopes', '*')).data
    for (const path of [
      '/merchants',
      `/merchants/${merchant.uuid}`,
      `/merchants/${merchant.uuid}/keys`,
      '/invariants',
    ]) {
      assert.equal((await shell.inject({ url: `/admin/v1${path}` })).http, 401, path)
      assert.equal(
        (await callAdmin('GET', path, undefined, key.apiKey)).error.code,
        'invalid_admin_token',
        path,
      )
      const asMerchant = await shell.inject({ url: `/admin/v1${path}`, headers: { 'x-api-key': key.apiKey } })
      assert.equal(asMerchant.http, 401, path)
    }
  })

  it('reports all validation issues of an operator’s request at once', async (t) => {
    const { callAdmin } = await startService(t)
    const answer = await callAdmin('POST', '/merchants', { name: '', baseCurrency: 'XXX' })
    assert.equal(answer.http, 400)
    assert.deepEqual(answer.error.details.map(({ field }: { field: string }) => field).sort(), [
      'baseCurrency',
      'name',
    ])
    assert.equal((await callAdmin('GET', '/merchants?limit=101')).http, 400)
    assert.equal((await callAdmin('GET', '/merchants/nonsense')).error.code, 'invalid_uuid')
    assert.equal(
      (await callAdmin('GET', `/merchants/${crypto.randomUUID()}`)).error.code,
      'merchant_not_found',
    )
    assert.equal((await callAdmin('POST', '/keys/000000000000/revoke')).error.code, 'api_key_not_found')
  })

  it('changes the named fields of a merchant and rejects unknown ones', async (t) => {
    const { callAdmin } = await startService(t)
    const { data: merchant } = await callAdmin('POST', '/merchants', { name: 'Corner Shop' })
    assert.equal(merchant.mode, 'test')
    assert.equal(merchant.status, 'active')
    const path = `/merchants/${merchant.uuid}`
    for (const body of [{ mode: 'live' }, { status: 'x' }, { settings: { locale: 'fr', theme: 'dark' } }])
      assert.equal((await callAdmin('PATCH', path, body)).error.code, 'unknown_field')
    const changed = await callAdmin('PATCH', path, { settings: { locale: 'pt' }, baseCurrency: 'KES' })
    const settings = { ...merchant.settings, locale: 'pt' }
    assert.deepEqual(
      { ...changed.data, updatedAt: '' },
      { ...merchant, settings, baseCurrency: 'KES', updatedAt: '' },
    )
  })
})

describe('the command line beside a running service', () => {
  it('manages a merchant and its keys from creation to revocation on the command line', async (t) => {
    const { cowryJson, keys } = await startService(t)
    const merchant = await cowryJson('merchants', 'create', '--name', 'Corner Shop', '--base-currency', 'KES')
    assert.equal(merchant.code, 0)
    assert.equal(merchant.data.baseCurrency, 'KES')
    const { uuid } = merchant.data
    const created = await cowryJson(
      'keys',
      'create',
      '--merchant',
      uuid,
      '--scopes',
      'wallet:read,checkout:write',
    )
    assert.deepEqual(created.data.scopes, ['wallet:read', 'checkout:write'])
    const caller = await authenticate(keys, { apiKey: created.data.apiKey, ip: '127.0.0.1' })
    assert.equal(caller.merchant.id, uuid)

    const rotated = await cowryJson('keys', 'rotate', created.data.prefix, '--overlap-hours', '0')
    assert.equal(rotated.code, 0)
    assert.equal((await cowryJson('keys', 'rotate', created.data.keyId)).error.code, 'invalid_state')
    assert.equal((await cowryJson('keys', 'revoke', rotated.data.keyId)).data.status, 'revoked')
    const list = await cowryJson('keys', 'list', '--merchant', uuid)
    assert.deepEqual(
      list.data.map(({ status }: { status: string }) => status),
      ['revoked', 'expired'],
    )
    assert.equal(list.meta.total, 2)
    assert.ok(!JSON.stringify(list).includes(created.data.apiKey.slice(24)))

    assert.equal((await cowryJson('merchants', 'suspend', uuid)).data.status, 'suspended')
    assert.equal((await cowryJson('merchants', 'activate', uuid)).data.status, 'active')
    assert.equal((await cowryJson('merchants', 'list', '--limit', '1')).data[0].uuid, uuid)
  })

  it('prints tables and records in a terminal', async (t) => {
    const { cowry, cowryJson } = await startService(t)
    const created = await cowry('merchants', 'create', '--name', 'Corner Shop')
    assert.match(created.out, /^name +Corner Shop$/m)
    assert.match(
      (await cowry('merchants', 'list')).out,
      /^UUID +NAME +STATUS .*\n[0-9a-f-]{36} +Corner Shop +active/,
    )
    const [{ uuid }] = (await cowryJson('merchants', 'list')).data
    assert.match(
      (await cowry('keys', 'create', '--merchant', uuid)).out,
      /not shown again[\s\S]*apiKey +cowry_test_/,
    )
    assert.match((await cowry('keys', 'list', '--merchant', uuid)).out, /^KEY +NAME +STATUS/)
  })

  it('prints the API error’s own message on the command line', async (t) => {
    const { cowry, cowryJson } = await startService(t)
    const { code, out } = await cowry('keys', 'create', '--merchant', 'nonsense', '--scopes', 'everything')
    assert.equal(code, 1)
    assert.match(out, /scopes/)
    assert.match(out, /UUID/)
    const json = await cowryJson('merchants', 'suspend', crypto.randomUUID())
    assert.equal(json.code, 1)
    assert.equal(json.error.code, 'merchant_not_found')
  })

  it('ends "doctor" with 0 when all checks pass, and with 1 on a violation or when the service is not ready', async (t) => {
    const { cowry, cowryJson, invariantState } = await startService(t)
    const healthy = await cowry('doctor')
    assert.equal(healthy.code, 0, healthy.out)
    assert.match(healthy.out, /^ready +ok$/m)
    invariantState.violations = 3
    const violated = await cowry('doctor')
    assert.equal(violated.code, 1)
    assert.match(violated.out, /^I1 +FAILED +3 violations$/m)
    invariantState.violations = 0
    invariantState.ready = false
    const waiting = await cowryJson('doctor')
    assert.equal(waiting.code, 1)
    assert.deepEqual(waiting.data.checks[0], { name: 'ready', ok: false, detail: 'The database is away.' })
  })
})
