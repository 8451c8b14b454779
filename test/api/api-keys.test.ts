import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { type GrantedScope, SCOPES } from '../../src/core/merchant.ts'
import { type Api, postUntilFree } from '../support/api.ts'
import { assertApiError, assertKeys, assertSameApiError, ISO_TIME } from '../support/assertions.ts'
import { tickingClock } from '../support/fake-clock.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const clock = tickingClock()
const service = await testService({ after }, { clock })

const PATH = '/api/v1/api-keys'
const BALANCE = '/api/v1/wallet/balance'
const HOUR_MS = 3_600_000
const UNKNOWN_KEY = '000000000000'
const KEY_FIELDS = [
  ...['keyId', 'name', 'prefix', 'mode', 'scopes', 'allowedIps', 'rateLimit', 'status', 'replacedBy'],
  ...['createdAt', 'expiresAt', 'lastUsedAt', 'revokedAt', 'isCurrent'],
]

const later = (hours: number) => new Date(clock.now().getTime() + hours * HOUR_MS).toISOString()
const keyIdOf = (apiKey: string) => apiKey.split('_')[2] ?? ''
const keyRequest = (scopes: GrantedScope[], more: object = {}) => ({
  name: 'made by a merchant',
  scopes,
  ...more,
})

/** An operator creates this key of the merchant, with settings that a merchant may not choose. */
async function keyOf(merchantUuid: string, settings: object) {
  const made = await service.admin.post(`/admin/v1/merchants/${merchantUuid}/keys`, settings)
  assert.equal(made.http, 201, made.text)
  const { apiKey, keyId } = made.body.data
  return { keyId, apiKey, api: service.apiWith(apiKey) }
}

async function make(api: Api, body: object, headers?: Record<string, string>) {
  const answer = await api.post(PATH, body, headers)
  assert.equal(answer.http, 201, answer.text)
  return answer.body.data
}

const countLive = async (api: Api) =>
  (await api.get(`${PATH}?limit=100`)).body.data.filter(
    ({ status }: { status: string }) => status === 'active',
  ).length

describe('the API keys of a merchant', () => {
  it('requires the scope keys:read to read API keys, and keys:write to manage them', async () => {
    const { api } = await service.newMerchant(SCOPES.filter((scope) => !scope.startsWith('keys:')))
    const requests = (client: Api) => [
      client.get(PATH),
      client.get(`${PATH}/${UNKNOWN_KEY}`),
      client.post(PATH, keyRequest(['wallet:read'])),
      client.post(`${PATH}/${UNKNOWN_KEY}/rotate`, {}),
      client.post(`${PATH}/${UNKNOWN_KEY}/revoke`, {}),
    ]
    for (const request of requests(service.apiWith(undefined)))
      assertApiError(await request, 'missing_api_key')
    for (const request of requests(api)) assertApiError(await request, 'insufficient_scope')
    const [list, read, ...changes] = requests((await service.newMerchant(['keys:read'])).api)
    assert.equal((await list)?.http, 200)
    assert.equal((await read)?.body.error.code, 'api_key_not_found')
    for (const request of changes) assertApiError(await request, 'insufficient_scope')
  })

  it('answers the same for an API key of another merchant as for an unknown one', async () => {
    const mine = await service.newMerchant()
    const theirs = await service.newMerchant()
    const theirId = keyIdOf(theirs.key)
    for (const ask of [
      (id: string) => mine.api.get(`${PATH}/${id}`),
      (id: string) => mine.api.post(`${PATH}/${id}/rotate`, {}),
      (id: string) => mine.api.post(`${PATH}/${id}/revoke`, { confirmSelf: true }),
    ])
      assertSameApiError(await ask(theirId), await ask(UNKNOWN_KEY), 'api_key_not_found')
    clock.advance(5_000)
    assert.equal((await theirs.api.get(BALANCE)).http, 200)
    assert.equal((await mine.api.get(PATH)).body.meta.total, 1)
  })

  it('creates an API key and shows its secret once', async () => {
    const { api, key } = await service.newMerchant()
    const expiresAt = later(24)
    const body = keyRequest(['wallet:read', 'wallet:read'], {
      name: 'Nightly report',
      expiresAt,
      allowedIps: ['127.0.0.0/8'],
    })
    const forged = { rateLimit: { perSecond: 9, burst: 9 }, merchantUuid: 'x', keyId: UNKNOWN_KEY }
    assertApiError(await api.post(PATH, { ...body, ...forged }), 'unknown_field')
    const made = await make(api, body)
    assertKeys(made, [...KEY_FIELDS, 'apiKey'])
    const { apiKey, createdAt, keyId, ...rest } = made
    assert.match(createdAt, ISO_TIME)
    assert.notEqual(keyId, UNKNOWN_KEY)
    assert.deepEqual(rest, {
      name: 'Nightly report',
      prefix: `cowry_test_${keyId}_…`,
      mode: 'test',
      scopes: ['wallet:read'],
      allowedIps: ['127.0.0.0/8'],
      rateLimit: null,
      status: 'active',
      replacedBy: null,
      expiresAt,
      lastUsedAt: null,
      revokedAt: null,
      isCurrent: false,
    })
    assert.equal((await service.apiWith(apiKey).get(BALANCE)).http, 200)
    const listed = await api.get(PATH)
    for (const secret of [apiKey, key]) assert.ok(!listed.text.includes(secret.slice(24)))
    const one = await api.get(`${PATH}/${keyId}`)
    assertKeys(one.body.data, KEY_FIELDS)
    assert.ok(!one.text.includes(apiKey.slice(24)))
  })

  it('lists API keys newest first, page by page, and marks the key of the caller', async () => {
    const { api, key } = await service.newMerchant()
    for (const name of ['one', 'two', 'three']) await make(api, keyRequest(['wallet:read'], { name }))
    const names = ({ body }: Awaited<ReturnType<Api['get']>>) =>
      body.data.map(({ name }: { name: string }) => name)
    const first = await api.get(`${PATH}?limit=2`)
    assert.deepEqual(names(first), ['three', 'two'])
    assert.equal(first.body.meta.total, 4)
    const second = await api.get(`${PATH}?limit=2&cursor=${first.body.meta.nextCursor}`)
    assert.deepEqual(names(second), ['one', 'test'])
    assert.equal(second.body.meta.nextCursor, null)
    assert.deepEqual(names(await api.get(`${PATH}?sort=createdAt:asc&limit=2`)), ['test', 'one'])
    assert.deepEqual(names(await api.get(`${PATH}?page=2&limit=3`)), ['test'])
    assert.deepEqual(names(await api.get(`${PATH}?createdFrom=${later(1)}`)), [])
    const current = (await api.get(PATH)).body.data.filter(
      ({ isCurrent }: { isCurrent: boolean }) => isCurrent,
    )
    assert.deepEqual(
      current.map(({ keyId }: { keyId: string }) => keyId),
      [keyIdOf(key)],
    )
    assert.deepEqual(assertApiError(await api.get(`${PATH}?limit=0`), 'validation_failed'), [
      'limit: out_of_range',
    ])
  })

  it('rejects an invalid API key with all validation issues at once', async () => {
    const { api } = await service.newMerchant()
    const bad: [object, string[]][] = [
      [{}, ['name: required', 'scopes: required']],
      [keyRequest([]), ['scopes: too_short']],
      [{ name: 'x', scopes: ['everything'] }, ['scopes.0: not_allowed']],
      [keyRequest(['*'], { expiresAt: later(-1) }), ['expiresAt: out_of_range']],
      [keyRequest(['*'], { allowedIps: ['localhost'] }), ['allowedIps.0: invalid']],
    ]
    for (const [body, issues] of bad)
      assert.deepEqual(assertApiError(await api.post(PATH, body), 'validation_failed').sort(), issues)
    for (const overlapHours of [-1, 169, '24'])
      assertApiError(await api.post(`${PATH}/${UNKNOWN_KEY}/rotate`, { overlapHours }), 'validation_failed')
    assertApiError(await api.get(`${PATH}/a-b`), 'validation_failed')
    assert.equal(await countLive(api), 1)
  })

  it('enforces the maximum number of API keys, also for parallel requests', async () => {
    const { api } = await service.newMerchant()
    const answers = await Promise.all(
      Array.from({ length: 24 }, () => postUntilFree(api, PATH, keyRequest(['wallet:read']))),
    )
    const refused = answers.filter(({ http }) => http !== 201)
    assert.equal(refused.length, 5)
    for (const answer of refused) assertApiError(answer, 'too_many_api_keys')
    assert.equal(await countLive(api), 20)
    const [spare] = answers.filter(({ http }) => http === 201)
    const { keyId } = spare?.body.data ?? {}
    assert.equal(
      (await api.post(`${PATH}/${keyId}/rotate`, {})).http,
      201,
      'rotation does not count against the maximum',
    )
    assertApiError(await api.post(PATH, keyRequest(['wallet:read'])), 'too_many_api_keys')
    for (const key of answers.slice(0, 3)) await api.post(`${PATH}/${key.body.data?.keyId}/revoke`, {})
    assert.equal((await api.post(PATH, keyRequest(['wallet:read']))).http, 201)
  })
})

describe('an API key cannot create a key with more rights than its own', () => {
  it('rejects a new key with scopes that the caller does not have', async () => {
    const own: GrantedScope[] = ['keys:write', 'wallet:read']
    const { api } = await service.newMerchant(own)
    // keys:write includes keys:read.
    for (const scope of SCOPES.filter((one) => one !== 'keys:read' && !own.includes(one))) {
      const answer = await api.post(PATH, keyRequest(['wallet:read', scope]))
      assert.deepEqual(assertApiError(answer, 'scope_exceeded'), ['scopes.1: scope_exceeded'])
    }
    assertApiError(await api.post(PATH, keyRequest(['*'])), 'scope_exceeded')
    assert.deepEqual((await make(api, keyRequest(own))).scopes, own)
  })

  it('rejects a new key with * unless the caller has *, because * includes future scopes', async () => {
    const { api } = await service.newMerchant([...SCOPES])
    assertApiError(await api.post(PATH, keyRequest(['*'])), 'scope_exceeded')
    assert.deepEqual((await make(api, keyRequest([...SCOPES]))).scopes, [...SCOPES])
  })

  it('rejects the rotation of a key with more scopes than the caller', async () => {
    const strong = await service.newMerchant()
    const weak = await keyOf(strong.uuid, { scopes: ['keys:write', 'wallet:read'] })
    const path = `${PATH}/${keyIdOf(strong.key)}/rotate`
    assertApiError(await weak.api.post(path, { overlapHours: 0 }), 'scope_exceeded')
    const record = (await strong.api.get(`${PATH}/${keyIdOf(strong.key)}`)).body.data
    assert.deepEqual([record.replacedBy, record.expiresAt], [null, null])
    assert.equal((await weak.api.post(`${PATH}/${weak.keyId}/rotate`, {})).http, 201, 'it may rotate itself')
  })

  it('rejects a new key with addresses outside those of the caller', async () => {
    const { uuid } = await service.newMerchant()
    const { api } = await keyOf(uuid, { scopes: ['*'], allowedIps: ['127.0.0.0/30', '203.0.113.0/24'] })
    for (const allowedIps of [
      [],
      ['0.0.0.0/0'],
      ['127.0.0.0/29'],
      ['127.0.0.1', '203.0.114.1'],
      ['::/0'],
      ['::ffff:127.0.0.1'],
    ])
      assertApiError(await api.post(PATH, keyRequest(['*'], { allowedIps })), 'scope_exceeded')
    const within = ['127.0.0.1', '203.0.113.128/25']
    assert.deepEqual((await make(api, keyRequest(['*'], { allowedIps: within }))).allowedIps, within)
    for (const allowedIps of [undefined, null])
      assert.deepEqual((await make(api, keyRequest(['*'], { allowedIps }))).allowedIps, [
        '127.0.0.0/30',
        '203.0.113.0/24',
      ])
  })

  it('rejects a new key that expires after the key of the caller', async () => {
    const strong = await service.newMerchant()
    const end = later(48)
    const short = await keyOf(strong.uuid, { scopes: ['*'], expiresAt: end })
    assert.equal((await make(short.api, keyRequest(['*']))).expiresAt, end)
    assert.ok((await make(short.api, keyRequest(['*'], { expiresAt: later(47) }))).expiresAt < end)
    assertApiError(await short.api.post(PATH, keyRequest(['*'], { expiresAt: later(49) })), 'scope_exceeded')
    assertApiError(await short.api.post(`${PATH}/${keyIdOf(strong.key)}/rotate`, {}), 'scope_exceeded')
    clock.advance(HOUR_MS)
    const successor = await short.api.post(`${PATH}/${short.keyId}/rotate`, {})
    assert.equal(successor.body.data.expiresAt, end, 'it cannot extend its own expiry')
    const old = (await strong.api.get(`${PATH}/${short.keyId}`)).body.data
    assert.ok(old.expiresAt < end, 'the overlap ends with the remaining lifetime')
  })

  it('gives a new key the rate limit of the caller, and rejects the rotation of a key with a higher one', async () => {
    const strong = await service.newMerchant()
    const rateLimit = { perSecond: 50, burst: 60 }
    const slow = await keyOf(strong.uuid, { scopes: ['*'], rateLimit })
    assert.deepEqual((await make(slow.api, keyRequest(['*']))).rateLimit, rateLimit)
    assertApiError(await slow.api.post(`${PATH}/${keyIdOf(strong.key)}/rotate`, {}), 'scope_exceeded')
  })
})

describe('self-service rotation of an API key', () => {
  it('keeps the old key valid for the requested overlap', async () => {
    const { api } = await service.newMerchant()
    const old = await make(api, keyRequest(['wallet:read'], { allowedIps: ['127.0.0.1'] }))
    const fresh = await api.post(`${PATH}/${old.keyId}/rotate`, { overlapHours: 2 })
    assert.equal(fresh.http, 201, fresh.text)
    const { apiKey, scopes, name, allowedIps } = fresh.body.data
    assert.deepEqual([scopes, name, allowedIps], [['wallet:read'], old.name, ['127.0.0.1']])
    const [oldApi, freshApi] = [service.apiWith(old.apiKey), service.apiWith(apiKey)]
    clock.advance(2 * HOUR_MS - 10_000)
    assert.equal((await oldApi.get(BALANCE)).http, 200)
    clock.advance(20_000)
    assertApiError(await oldApi.get(BALANCE), 'api_key_expired')
    assert.equal((await freshApi.get(BALANCE)).http, 200)
  })

  it('creates one successor for parallel rotations', async () => {
    const { api } = await service.newMerchant()
    const { keyId } = await make(api, keyRequest(['wallet:read']))
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => api.post(`${PATH}/${keyId}/rotate`, {})),
    )
    assert.equal(answers.filter(({ http }) => http === 201).length, 1)
    for (const answer of answers.filter(({ http }) => http !== 201)) assertApiError(answer, 'invalid_state')
  })
})

describe('an Idempotency-Key on operations of API keys', () => {
  it('creates one API key for parallel requests with one Idempotency-Key, and shows its secret once', async () => {
    const { api } = await service.newMerchant()
    const body = keyRequest(['wallet:read'])
    const headers = { 'idempotency-key': 'make-one' }
    const answers = await Promise.all(Array.from({ length: 6 }, () => api.post(PATH, body, headers)))
    for (const answer of answers) assert.equal(answer.http, 201, answer.text)
    assert.equal(new Set(answers.map(({ body: { data } }) => data.keyId)).size, 1)
    const shown = answers.filter(({ body: { data } }) => data.apiKey !== null)
    assert.equal(shown.length, 1)
    assert.equal(shown[0]?.headers.get('idempotent-replayed'), null)
    const again = await api.post(PATH, body, headers)
    assert.equal(again.headers.get('idempotent-replayed'), 'true')
    assert.equal(again.body.data.apiKey, null)
    assert.match(again.body.message, /not shown again/)
    assertApiError(await api.post(PATH, keyRequest(['*']), headers), 'idempotency_key_reused')
    const path = `${PATH}/${again.body.data.keyId}/rotate`
    assertApiError(await api.post(path, {}, headers), 'idempotency_key_reused')
    assert.equal(await countLive(api), 2)
  })

  it('rotates an API key once per Idempotency-Key', async () => {
    const { api } = await service.newMerchant()
    const { keyId } = await make(api, keyRequest(['wallet:read']))
    const rotate = () => api.post(`${PATH}/${keyId}/rotate`, {}, { 'idempotency-key': 'rotate-one' })
    const [first, second] = [await rotate(), await rotate()]
    assert.equal(second.http, 201, second.text)
    assert.equal(second.body.data.keyId, first.body.data.keyId)
    assert.ok(first.body.data.apiKey)
    assert.equal(second.body.data.apiKey, null)
  })
})

describe('self-service revocation of an API key', () => {
  it('revokes any key of the merchant, also one with more scopes, and repeats idempotently', async () => {
    const strong = await service.newMerchant()
    const weak = await keyOf(strong.uuid, { scopes: ['keys:write'] })
    const path = `${PATH}/${keyIdOf(strong.key)}/revoke`
    const first = await weak.api.send('POST', path)
    assert.equal(first.http, 200, first.text)
    assert.equal(first.body.data.status, 'revoked')
    assert.deepEqual((await weak.api.post(path, {})).body, first.body)
    clock.advance(5_000)
    assertApiError(await strong.api.get(BALANCE), 'api_key_revoked')
    assertApiError(await weak.api.post(`${PATH}/${keyIdOf(strong.key)}/rotate`, {}), 'scope_exceeded')
  })

  it('revokes the key of the caller only when the request confirms it', async () => {
    const { api, key } = await service.newMerchant()
    const path = `${PATH}/${keyIdOf(key)}/revoke`
    const refused = await api.post(path, {})
    assertApiError(refused, 'invalid_state')
    assert.match(refused.body.message, /confirmSelf/)
    assert.equal((await api.post(path, { confirmSelf: true })).http, 200)
    clock.advance(5_000)
    assertApiError(await api.get(PATH), 'api_key_revoked')
  })
})

describe('revocation seen by a second process', () => {
  it('creates no key for a revoked caller, and rejects its requests after five seconds at most', async (t) => {
    // In this process, but with a cache and a pool of its own, as in another one.
    const other = await testService(t, {
      databaseUrl: service.databaseUrl,
      role: 'api',
      env: { COWRY_RATE_LIMIT: '0' },
      checksInvariants: false,
    })
    const there = (path: string, init: RequestInit = {}) =>
      fetch(`${other.url}${path}`, {
        ...init,
        headers: { 'x-api-key': leaked.apiKey, ...init.headers },
      })
    const { api } = await service.newMerchant()
    const leaked = await make(api, keyRequest(['keys:write', 'wallet:read']))
    assert.equal((await there(BALANCE)).status, 200, 'now in the cache of the second process')
    assert.equal((await api.post(`${PATH}/${leaked.keyId}/revoke`, {})).http, 200)
    const revokedAt = Date.now()
    const body = JSON.stringify(keyRequest(['wallet:read']))
    const made = await there(PATH, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
    assert.equal(made.status, 401, 'rejected at once')
    const ended = await eventually(
      () => there(BALANCE),
      ({ status }) => status !== 200,
      10_000,
    )
    assert.ok(Date.now() - revokedAt < 5_000, `it took ${Date.now() - revokedAt} ms`)
    assert.match(await ended.text(), /"api_key_revoked"/)
    assert.equal(await countLive(api), 1)
  })
})
