// Production as a process: it rejects an incomplete configuration, and has no part of staging.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { after, describe, it, type TestContext } from 'node:test'
import { formatApiKey, generateApiKey } from '../../src/api-keys/key-format.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { systemRandom } from '../../src/kit/random.ts'

import { createApi } from '../support/api.ts'
import { initiateBody } from '../support/builders.ts'
import { NO_POOLER, testDatabaseUrl } from '../support/database.ts'
import { runCowry, startUntilOutput, tempFolder } from '../support/process.ts'
import { LARGER_FORM_ONLY } from '../support/scale.ts'

const SECRETS = ['COWRY_PUBLIC_URL', 'COWRY_ADMIN_TOKEN', 'COWRY_ENCRYPTION_KEYS', 'COWRY_KEY_PEPPER']

const dataDir = await tempFolder({ after }, 'production')
const bare = {
  COWRY_ENV: 'production',
  PORT: '0',
  COWRY_DATA_DIR: dataDir,
  DATABASE_URL: await testDatabaseUrl({ after }),
}

// What is reported for which settings: src/config.test.ts and src/cli/cli.test.ts.
describe('production without its configuration', () => {
  it('exits with 1 and reports all missing settings in one message', async (t) => {
    const { code, out, err } = await runCowry(t, ['serve'], bare)
    assert.equal(code, 1)
    assert.equal(out, '')
    assert.equal(err.match(/The settings are not usable/g)?.length, 1)
    for (const name of SECRETS) assert.match(err, new RegExp(`- ${name} is missing`))
    assert.doesNotMatch(err, /\n\s+at /)
  })

  it('reports all invalid settings in one message', LARGER_FORM_ONLY, async (t) => {
    const { code, err } = await runCowry(t, ['serve'], {
      ...bare,
      COWRY_PUBLIC_URL: 'http://pay.example.com',
      COWRY_ADMIN_TOKEN: 'changeme',
      COWRY_ENCRYPTION_KEYS: `k1:${Buffer.alloc(32).toString('base64')}`,
      COWRY_SANDBOX_SECRET: 'a-secret-of-staging',
      COWRY_FAILPOINTS: 'charge.after_record=kill',
    })
    assert.equal(code, 1)
    for (const name of [...SECRETS, 'COWRY_SANDBOX_SECRET', 'COWRY_FAILPOINTS'])
      assert.match(err, new RegExp(`- ${name} `))
    assert.doesNotMatch(err, /changeme|a-secret-of-staging/, 'no secret is echoed')
  })

  it('reports configuration errors as one JSON document for scripts', LARGER_FORM_ONLY, async (t) => {
    const { code, out } = await runCowry(t, ['serve', '--json'], bare)
    assert.equal(code, 1)
    const answer = JSON.parse(out)
    assert.equal(answer.error.code, 'settings')
    for (const name of SECRETS) assert.ok(answer.message.includes(name))
  })
})

const env = {
  ...bare,
  COWRY_PUBLIC_URL: 'https://pay.example.com',
  COWRY_ADMIN_TOKEN: randomBytes(33).toString('base64'),
  COWRY_ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
  COWRY_KEY_PEPPER: randomBytes(32).toString('base64'),
}

describe('production on a server that could lose acknowledged writes', () => {
  it('does not start without synchronous writes, and names the setting (F-13)', NO_POOLER, async (t) => {
    const url = new URL(bare.DATABASE_URL)
    url.searchParams.set('options', '-c synchronous_commit=off')
    const { code, err } = await runCowry(t, ['serve'], { ...env, DATABASE_URL: url.href })
    assert.equal(code, 1)
    assert.match(err, /may lose acknowledged payments in a power cut: synchronous_commit is off/)
  })
})

const service = await startUntilOutput({ after }, ['serve'], env, (output) =>
  output.includes('API reference'),
)

describe('a configured production service', () => {
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(service.output())?.[0] ?? ''
  const testKey = formatApiKey(generateApiKey('test', systemRandom(systemClock)))

  /** An operator's command, on the machine of the service. */
  async function runOperatorCommand(t: TestContext, ...args: string[]) {
    const { code, out, err } = await runCowry(t, [...args, '--json'], env)
    assert.equal(code, 0, err || out)
    return JSON.parse(out).data
  }

  it('is ready in production, without a demo merchant and without files with secrets', async () => {
    assert.equal((await fetch(`${url}/readyz`)).status, 200)
    assert.doesNotMatch(service.output(), /Demo key|curl|cowry_/)
    assert.deepEqual(await readdir(dataDir), ['server.json'])
  })

  it('rejects a test key in production with mode_mismatch', async () => {
    const api = createApi(url, { 'x-api-key': testKey })
    const answer = await api.post('/api/v1/checkout/initiate-payment', initiateBody())
    assert.equal(answer.http, 403)
    assert.equal(answer.body.error.code, 'mode_mismatch')
  })

  it('creates a merchant and its live key by commands of the operator', LARGER_FORM_ONLY, async (t) => {
    const merchant = await runOperatorCommand(t, 'merchants', 'create', '--name', 'A Real Shop')
    const { apiKey } = await runOperatorCommand(t, 'keys', 'create', '--merchant', merchant.uuid)
    assert.match(apiKey, /^cowry_live_/)
    assert.equal((await createApi(url, { 'x-api-key': apiKey }).get('/api/v1/wallet/balance')).http, 200)
  })

  it('has no sandbox and no staging routes in production', async () => {
    const admin = createApi(url, { authorization: `Bearer ${env.COWRY_ADMIN_TOKEN}` })
    const merchant = await admin.post('/admin/v1/merchants', { name: 'A Real Shop' })
    assert.equal(merchant.http, 201, merchant.text)
    const made = await admin.post(`/admin/v1/merchants/${merchant.body.data.uuid}/keys`, {
      name: 'Shop',
      scopes: ['*'],
    })
    const { apiKey } = made.body.data
    assert.match(apiKey, /^cowry_live_/)
    const api = createApi(url, { 'x-api-key': apiKey })
    for (const answer of [
      await api.post('/api/v1/sandbox/payments/x/complete', { instrument: 'card_success' }),
      await api.get('/api/v1/sandbox/executions?reference=x'),
      await api.get('/sandbox/v1/executions'),
      await api.post('/sandbox/v1/faults', {}),
    ]) {
      assert.equal(answer.http, 404, answer.text)
      assert.equal(answer.body.error.code, 'route_not_found')
    }
    const unrouted = await api.post('/api/v1/checkout/initiate-payment', initiateBody())
    assert.equal(unrouted.http, 422, unrouted.text)
    assert.equal(unrouted.body.error.code, 'no_route_available')
    const { body } = await api.get('/openapi.json')
    assert.deepEqual(
      Object.keys(body.paths).filter((path) => path.includes('sandbox')),
      [],
    )
  })

  // src/secrets/secrets.test.ts rejects it without a process.
  it('rejects a keyring other than that of its database', LARGER_FORM_ONLY, async (t) => {
    const other = { ...env, COWRY_ENCRYPTION_KEYS: `k2:${randomBytes(32).toString('base64')}` }
    const { code, err } = await runCowry(t, ['serve'], other)
    assert.equal(code, 1)
    assert.match(err, /COWRY_ENCRYPTION_KEYS does not fit this database/)
  })

  it('ends production with 0', async () => {
    assert.deepEqual(await service.kill('SIGTERM'), { code: 0, signal: null })
  })
})
