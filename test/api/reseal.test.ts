// cowry keys reseal on the database of a service whose encryption key was replaced.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { startService } from '../../src/app.ts'
import { runCommandLine } from '../../src/cli/program.ts'
import { GATEWAYS } from '../../src/compose/gateways.ts'
import { readConfig } from '../../src/config.ts'
import { createTokenSources } from '../../src/gateway-tokens/source.ts'
import { createTokenStore } from '../../src/gateway-tokens/store.ts'
import type { TokenGrant } from '../../src/gateway-tokens/token.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { createVault } from '../../src/kit/crypto.ts'
import { type Db, sql } from '../../src/kit/db/db.ts'
import { createLog } from '../../src/kit/observability/log.ts'
import { systemRandom } from '../../src/kit/random.ts'
import { SEALED_TABLES } from '../../src/secrets/reseal-queries.ts'
import { createApi } from '../support/api.ts'
import { chargeBody, initiateBody, saveMethod } from '../support/builders.ts'
import { testDatabaseUrl } from '../support/database.ts'
import { assertInvariants } from '../support/invariants.ts'
import { startUntilOutput } from '../support/process.ts'
import { LARGER_FORM_ONLY } from '../support/scale.ts'
import { ADMIN_TOKEN } from '../support/service.ts'

const DATABASE_URL = await testDatabaseUrl({ after })
const dataDir = await mkdtemp(join(tmpdir(), 'cowry-reseal-'))
after(() => rm(dataDir, { recursive: true, force: true }))
const PEPPER = randomBytes(32).toString('base64')
const [K1, K2] = ['k1', 'k2'].map((id) => `${id}:${randomBytes(32).toString('base64')}`)

/** The settings of a service with this keyring, the first key first. */
const envOf = (...keys: (string | undefined)[]) => ({
  ...{ PORT: '0', DATABASE_URL, COWRY_DATA_DIR: dataDir, COWRY_ADMIN_TOKEN: ADMIN_TOKEN },
  ...{ COWRY_ENCRYPTION_KEYS: keys.join(), COWRY_KEY_PEPPER: PEPPER, COWRY_POOL_SIZE: '4' },
})

const start = (...keys: (string | undefined)[]) =>
  startService(readConfig(envOf(...keys), GATEWAYS), { log: createLog('silent') })

type Running = Awaited<ReturnType<typeof start>>

async function reseal({ url }: Pick<Running, 'url'>, ...options: string[]) {
  return resealAndWatch(url, () => undefined, ...options)
}

/** Also passes each line of progress on. */
async function resealAndWatch(url: string, onProgress: (line: string) => void, ...options: string[]) {
  const text = { out: '', err: '' }
  const terminal = {
    out: (part: string) => {
      text.out += part
    },
    err: (part: string) => {
      text.err += part
      onProgress(part)
    },
  }
  const env = { COWRY_URL: url, COWRY_ADMIN_TOKEN: ADMIN_TOKEN }
  const code = await runCommandLine(['keys', 'reseal', ...options], { terminal, env })
  return { code, ...text }
}

const selectValues = sql<{ value: string }>`
select sealed as value from gateway_accounts
union all select sealed from gateway_tokens where sealed is not null
union all select token_sealed from payment_methods
union all select credential_sealed from payment_methods
union all select access_sealed from payments where access_sealed is not null
union all select secret_sealed from webhook_endpoints where secret_sealed is not null
union all select previous_secret_sealed from webhook_endpoints where previous_secret_sealed is not null`

/** How many values each key has encrypted. */
async function valuesByKey(db: Db): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { value } of await db.query(selectValues)) {
    const [, key = ''] = value.split('.')
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

const breakMethods = sql<unknown>`
update payment_methods
set credential_sealed = $1
returning credential_sealed`
const selectCredential = sql<{ sealed: string }>`
select credential_sealed as sealed
from payment_methods`

/** The access tokens of a gateway, encrypted with this key. */
function openTokens(db: Db, key: string | undefined) {
  const [id = '', text = ''] = key?.split(':') ?? []
  const vault = createVault([{ id, key: Buffer.from(text, 'base64') }], systemRandom(systemClock))
  const log = createLog('silent')
  const app = { store: createTokenStore(db), vault, clock: systemClock, log, key: Buffer.from(PEPPER) }
  const owner = { gateway: 'tokenpay', baseUrl: 'https://x', accountId: null, timeoutMs: 10_000 }
  return createTokenSources(app).open(owner)
}

const grantOf = (token: string): TokenGrant => ({
  ...{ name: 'access', account: 'app', secrets: ['secret'] },
  request: async () => ({ kind: 'granted', token, expiresInMs: 3_600_000 }),
})

const ENDPOINTS = '/api/v1/webhooks/endpoints'

describe('cowry keys reseal', () => {
  let service: Running
  let token = ''
  let merchant = ''
  const admin = () => createApi(service.url, { authorization: `Bearer ${ADMIN_TOKEN}` })
  const api = () => createApi(service.url, { 'x-api-key': service.demoKey ?? '' })

  before(async () => {
    service = await start(K1)
    token = await saveMethod(api(), 'card_success')
    for (let open = 0; open < 3; open += 1)
      assert.equal((await api().post('/api/v1/checkout/initiate-payment', initiateBody())).http, 201)
    const { body } = await api().post(ENDPOINTS, { url: 'https://shop.example.com/hooks' })
    assert.equal((await api().post(`${ENDPOINTS}/${body.data.uuid}/rotate-secret`, {})).http, 201)
    merchant = (await admin().post('/admin/v1/merchants', { name: 'A Shop' })).body.data.uuid
    const account = { credentials: { secretKey: 'sk_test_0a1b2c3d4e5f60718293' } }
    const saved = await admin().send('PUT', `/admin/v1/merchants/${merchant}/gateways/paystack?probe=false`, {
      body: JSON.stringify(account),
      headers: { 'content-type': 'application/json' },
    })
    assert.equal(saved.http, 200, saved.text)
    await openTokens(service.db, K1).get(grantOf('granted before'))
    await service.stop()
    service = await start(K2, K1)
  })
  after(() => service.stop())

  it('names every encrypted column of the database', async () => {
    const columns = await service.db.query(
      sql<{ name: string }>`
select table_name || '.' || column_name as name
from information_schema.columns
where column_name like '%sealed' and table_schema = 'public'
order by 1`,
    )
    const known = SEALED_TABLES.flatMap(({ name, columns: names }) =>
      names.map((column) => `${name}.${column}`),
    )
    assert.deepEqual(
      columns.map(({ name }) => name),
      known.toSorted(),
    )
  })

  it('needs the operator token, and rejects a cursor that it did not return', async () => {
    const path = '/admin/v1/encryption/reseal'
    assert.equal((await api().post(path, {})).http, 401)
    assert.equal(
      (await admin().post(path, { cursor: 'bm9uc2Vuc2U.AAAA' })).body.error.code,
      'validation_failed',
    )
  })

  it(
    'ends with an error when the service is killed between two batches, and nothing is lost',
    LARGER_FORM_ONLY,
    async (t) => {
      const before = await valuesByKey(service.db)
      const isReady = (output: string) => output.includes('API reference')
      const killed = await startUntilOutput(t, ['serve'], envOf(K2, K1), isReady)
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(killed.output())?.[0] ?? ''
      const { code } = await resealAndWatch(url, () => void killed.kill('SIGKILL'), '--batch', '1')
      assert.equal(code, 1)
      const { k1 = 0, k2 = 0 } = await valuesByKey(service.db)
      assert.ok(k2 > 0 && k1 > 0, 'it was killed in between')
      assert.equal(k1 + k2, before.k1)
    },
  )

  it('leaves a value that does not decrypt, says so, and keeps the old key', async () => {
    const [row] = await service.db.query(selectCredential)
    const altered = `${row?.sealed.slice(0, -4)}AAAA`
    await service.db.query(breakMethods, [altered])
    // Beside the running service, whose new values have the new key.
    const [{ code, out }, ...initiated] = await Promise.all([
      reseal(service, '--json', '--batch', '1'),
      ...[1, 2, 3].map(() => api().post('/api/v1/checkout/initiate-payment', initiateBody())),
    ])
    assert.deepEqual(
      initiated.map(({ http }) => http),
      [201, 201, 201],
    )
    await service.db.query(breakMethods, [row?.sealed])
    assert.equal(code, 1)
    const { message, error, data } = JSON.parse(out)
    assert.equal(error.code, 'values_left')
    assert.deepEqual(data.left, { k1: 2 }, 'both values of the row')
    assert.match(message, /2 under "k1"\. Keep the older keys/)
    assert.equal((await valuesByKey(service.db)).k1, 2)
  })

  it('finds a value that a process with the old key first writes behind a pass, and keeps the old key', async () => {
    const path = '/admin/v1/encryption/reseal'
    const [row] = await service.db.query(selectCredential)
    const restored = row?.sealed ?? assert.fail('there is no saved method')
    const runPass = async (atCheck: () => Promise<unknown>) => {
      let [cursor, didWrite] = ['', false]
      for (;;) {
        const { data } = (await admin().post(path, cursor === '' ? {} : { cursor })).body
        if (data.cursor === null) return data
        cursor = data.cursor
        if (data.isCheck && !didWrite) await atCheck()
        didWrite ||= data.isCheck
      }
    }
    const first = await runPass(async () => assert.fail('a pass with older values has no check'))
    assert.deepEqual([first.isCheck, first.retiredKeys], [false, []])
    const { isCheck, retiredKeys } = await runPass(() => service.db.query(breakMethods, [restored]))
    assert.deepEqual([isCheck, retiredKeys], [true, []])
    assert.deepEqual(Object.keys(await valuesByKey(service.db)), ['k2'])
    await service.db.query(breakMethods, [restored])
  })

  it('ends with an error that says what to do when an older key was used meanwhile', async (t) => {
    const clean = { keyId: 'k2', table: 'payments', read: 1, resealed: 0, left: {}, retiredKeys: [] }
    const batches = [
      { ...clean, isCheck: false, cursor: 'next' },
      { ...clean, isCheck: true, resealed: 1, cursor: null },
    ]
    const answer = () => JSON.stringify({ status: 'success', message: 'Batch done.', data: batches.shift() })
    const server = createServer((_, response) => response.end(answer())).listen(0, '127.0.0.1')
    t.after(() => server.close())
    await once(server, 'listening')
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : undefined
    const { code, out } = await reseal({ url: `http://127.0.0.1:${port}` }, '--json')
    const { error, data, message } = JSON.parse(out)
    assert.deepEqual([code, error.code, data.writtenMeanwhile], [1, 'older_key_in_use', 1])
    assert.match(message, /Keep the older keys\. Restart every process with the new key first/)
  })

  it('continues after an interruption between two batches, and encrypts everything with the first key', async () => {
    const fresh = await api().post('/api/v1/checkout/initiate-payment', initiateBody())
    assert.equal(fresh.http, 201)
    // A command that was killed after its first batch: its cursor is lost.
    const first = await admin().post('/admin/v1/encryption/reseal', { limit: 1 })
    assert.ok(first.body.data.cursor, first.text)
    const operation = encodeURIComponent('POST /admin/v1/encryption/reseal')
    const entries = async () => (await admin().get(`/admin/v1/audit?operation=${operation}`)).body.data
    assert.deepEqual(await entries(), [], 'no batch leaves an entry')
    const { code, out, err } = await reseal(service, '--batch', '2')
    assert.equal(code, 0, out + err)
    assert.match(
      out,
      /^1 values were encrypted again with the key "k2"\. 0 values are left.*: k1 may be removed/,
    )
    assert.match(err, /^payments: 2 rows read, 0 values encrypted again$/m)
    assert.deepEqual(Object.keys(await valuesByKey(service.db)), ['k2'])
    const again = JSON.parse((await reseal(service, '--json')).out)
    assert.deepEqual([again.data.resealed, again.data.retiredKeys], [0, []])
    const [entry, ...others] = await entries()
    assert.deepEqual(others, [], 'one entry for the retirement')
    assert.deepEqual(
      [entry.actor.type, entry.object, entry.changes],
      [
        'operator',
        { type: 'encryption_key', id: 'keyring_check:k1' },
        [
          {
            ...{ type: 'encryption_key', id: 'keyring_check:k1', after: null },
            before: { name: 'keyring_check:k1', value: '[redacted]' },
          },
        ],
      ],
    )
  })

  it('lets the service start without the old key, with every value readable', async () => {
    await service.stop()
    service = await start(K2)
    const charged = await api().post('/api/v1/charges/recurring', chargeBody(token))
    assert.equal(charged.http, 201, charged.text)
    const { body } = await admin().get(`/admin/v1/merchants/${merchant}/gateways/paystack`)
    assert.deepEqual(body.data.credentials, [
      { name: 'secretKey', isSet: true, ending: '8293' },
      { name: 'collection', isSet: false, ending: null },
    ])
    const accessToken = await openTokens(service.db, K2).get(grantOf('granted again'))
    assert.deepEqual(accessToken, { kind: 'token', token: 'granted before' })
    await assertInvariants(service)
  })
})
