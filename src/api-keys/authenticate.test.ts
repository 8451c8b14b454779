import assert from 'node:assert/strict'
import { beforeEach, describe, it, type TestContext } from 'node:test'
import { testDatabase } from '../../test/support/database.ts'
import { ApiError, type ApiErrorCode } from '../core/errors.ts'
import { addMs, type Clock, systemClock } from '../kit/clock.ts'
import { type Db, sql } from '../kit/db/db.ts'
import { createLog } from '../kit/observability/log.ts'
import { systemRandom } from '../kit/random.ts'
import { createMerchant, suspendMerchant } from '../merchants/service.ts'
import { authenticate, createKeyCache, isSecretGuess } from './authenticate.ts'
import { formatApiKey, generateApiKey, parseApiKey } from './key-format.ts'

import { createKey, listKeys, revokeKey, rotateKey } from './service.ts'

const random = systemRandom(systemClock)
const keyPepper = random.bytes(32)
const IP = '203.0.113.9'

let now: Date
const clock: Clock = { now: () => now, sleep: async () => undefined }
const passMs = (ms: number) => {
  now = addMs(now, ms)
}

beforeEach(() => {
  now = new Date('2026-03-01T12:00:00.000Z')
})

/** A process of the service: its own cache, the shared database, and a count of its statements. */
function startProcess(db: Db, options: { failTouch?: boolean } = {}) {
  const queries: string[] = []
  const writes = new Set<Promise<unknown>>()
  const counted: Db = {
    ...db,
    query: (statement, values) => {
      const kind = statement.text.startsWith('select') ? 'read' : 'write'
      queries.push(kind)
      const isFailed = kind === 'write' && options.failTouch
      const result = isFailed ? Promise.reject(new Error('the disk is full')) : db.query(statement, values)
      if (kind === 'write') writes.add(result)
      return result
    },
  }
  const log = createLog('silent')
  const app = {
    instanceDb: counted,
    clock,
    log,
    mode: 'test' as const,
    keyPepper,
    keyCache: createKeyCache({ instanceDb: counted, clock }),
    random,
  }
  return {
    app,
    queries,
    reads: () => queries.filter((kind) => kind === 'read').length,
    /** Waits until the writes in the background have ended. */
    untilWritten: () => Promise.allSettled(writes),
  }
}

async function shopWithKey(t: TestContext, input: Parameters<typeof createKey>[2] = {}) {
  const db = await testDatabase(t)
  const admin = { instanceDb: db, clock, random, mode: 'test' as const, keyPepper }
  const merchant = await createMerchant(admin, { name: 'Corner Shop', baseCurrency: 'KES' })
  const { key, apiKey } = await createKey(admin, merchant.id, input)
  return { db, admin, merchant, keyId: key.keyId, apiKey }
}

const failsWith = (code: ApiErrorCode) => (error: unknown) => error instanceof ApiError && error.code === code

describe('authentication', () => {
  it('resolves an API key to its merchant, scopes and rate limit', async (t) => {
    const limits = { perSecond: 5, burst: 7 }
    const shop = await shopWithKey(t, { scopes: ['checkout:write'], rateLimit: limits })
    const { app } = startProcess(shop.db)
    assert.deepEqual(await authenticate(app, { apiKey: shop.apiKey, ip: IP }), {
      merchant: { id: shop.merchant.id, name: 'Corner Shop', mode: 'test', baseCurrency: 'KES' },
      keyId: shop.keyId,
      scopes: ['checkout:write'],
      rateLimit: limits,
    })
  })

  it('rejects a missing and a mistyped API key without a database read', async (t) => {
    const shop = await shopWithKey(t)
    const { app, reads } = startProcess(shop.db)
    for (const apiKey of [undefined, ''])
      await assert.rejects(authenticate(app, { apiKey, ip: IP }), failsWith('missing_api_key'))
    for (const apiKey of [
      shop.apiKey.slice(0, -1),
      `${shop.apiKey}x`,
      'hello',
      `cowry_test_${'x'.repeat(9000)}`,
    ])
      await assert.rejects(authenticate(app, { apiKey, ip: IP }), (error: unknown) => {
        assert.ok(error instanceof ApiError && !isSecretGuess(error))
        return error.code === 'invalid_api_key'
      })
    assert.equal(reads(), 0)
  })

  it('rejects an API key of the other environment by its prefix', async (t) => {
    const shop = await shopWithKey(t)
    const { app, reads } = startProcess(shop.db)
    for (const apiKey of [formatApiKey(generateApiKey('live', random)), 'cowry_live_whatever'])
      await assert.rejects(authenticate(app, { apiKey, ip: IP }), failsWith('mode_mismatch'))
    assert.equal(reads(), 0)
    const production = { ...app, mode: 'live' as const }
    await assert.rejects(
      authenticate(production, { apiKey: shop.apiKey, ip: IP }),
      failsWith('mode_mismatch'),
    )
  })

  it('F-78: answers an unknown key id and a wrong secret alike, at the same cost', async (t) => {
    const shop = await shopWithKey(t)
    const { app, reads } = startProcess(shop.db)
    const stranger = generateApiKey('test', random)
    const wrongSecret = formatApiKey({ ...stranger, id: shop.keyId })
    const messages: string[] = []
    for (const apiKey of [formatApiKey(stranger), wrongSecret]) {
      const before = reads()
      for (let repeat = 0; repeat < 3; repeat++)
        await assert.rejects(authenticate(app, { apiKey, ip: IP }), (error: unknown) => {
          assert.ok(error instanceof ApiError && isSecretGuess(error))
          messages.push(`${error.code} ${error.message}`)
          return failsWith('invalid_api_key')(error)
        })
      assert.equal(reads() - before, 1)
    }
    assert.equal(new Set(messages).size, 1)
  })

  it('F-78: rejects a wrong secret also after the right one, and a rotated one at the next read of the key', async (t) => {
    const shop = await shopWithKey(t)
    const { app } = startProcess(shop.db)
    const ask = (apiKey: string) => authenticate(app, { apiKey, ip: IP })
    const guess = formatApiKey({ ...generateApiKey('test', random), id: shop.keyId })
    for (let repeat = 0; repeat < 3; repeat++) {
      await ask(shop.apiKey)
      await assert.rejects(ask(guess), failsWith('invalid_api_key'))
    }
    const other = sql`update api_keys set secret_hash = decode(repeat('00', 32), 'hex') where key_id = $1`
    await shop.db.query(other, [shop.keyId])
    passMs(3_000)
    for (let repeat = 0; repeat < 2; repeat++)
      await assert.rejects(ask(shop.apiKey), failsWith('invalid_api_key'))
  })

  it('reports a revoked API key only to a caller that has its secret', async (t) => {
    const shop = await shopWithKey(t)
    await revokeKey(shop.admin, shop.merchant.id, shop.keyId)
    const { app } = startProcess(shop.db)
    const guess = formatApiKey({ ...generateApiKey('test', random), id: shop.keyId })
    await assert.rejects(authenticate(app, { apiKey: guess, ip: IP }), failsWith('invalid_api_key'))
    await assert.rejects(authenticate(app, { apiKey: shop.apiKey, ip: IP }), failsWith('api_key_revoked'))
  })

  it('rejects an API key from the millisecond of its expiry, also when it is cached', async (t) => {
    const shop = await shopWithKey(t, { expiresAt: '2026-03-01T12:00:01.000Z' })
    const { app } = startProcess(shop.db)
    passMs(999)
    await authenticate(app, { apiKey: shop.apiKey, ip: IP })
    passMs(1)
    await assert.rejects(authenticate(app, { apiKey: shop.apiKey, ip: IP }), failsWith('api_key_expired'))
  })

  it('accepts an API key only from its allowed addresses', async (t) => {
    const shop = await shopWithKey(t, { allowedIps: ['203.0.113.0/24', '2001:db8::/32'] })
    const { app } = startProcess(shop.db)
    for (const ip of [IP, `::ffff:${IP}`, '2001:db8::7']) await authenticate(app, { apiKey: shop.apiKey, ip })
    for (const ip of ['198.51.100.1', '::1', ''])
      await assert.rejects(authenticate(app, { apiKey: shop.apiKey, ip }), failsWith('ip_not_allowed'))
  })
})

describe('the API key cache', () => {
  it('reads a key once for concurrent requests, and again after its TTL of 3 s', async (t) => {
    const shop = await shopWithKey(t)
    const { app, reads } = startProcess(shop.db)
    const ask = () => authenticate(app, { apiKey: shop.apiKey, ip: IP })
    await Promise.all(Array.from({ length: 50 }, ask))
    passMs(2_999)
    await ask()
    assert.equal(reads(), 1)
    passMs(1)
    await Promise.all(Array.from({ length: 50 }, ask))
    assert.equal(reads(), 2)
  })

  it('applies a revocation, a suspension and a rotation within 5 s in every process', async (t) => {
    const ends: [ApiErrorCode, (shop: Awaited<ReturnType<typeof shopWithKey>>) => Promise<unknown>][] = [
      ['api_key_revoked', (shop) => revokeKey(shop.admin, shop.merchant.id, shop.keyId)],
      ['merchant_suspended', (shop) => suspendMerchant(shop.admin, shop.merchant.id)],
      ['api_key_expired', (shop) => rotateKey(shop.admin, shop.merchant.id, shop.keyId, 0)],
    ]
    for (const [code, end] of ends) {
      const shop = await shopWithKey(t)
      const processes = [startProcess(shop.db), startProcess(shop.db)]
      for (const { app } of processes) await authenticate(app, { apiKey: shop.apiKey, ip: IP })
      await end(shop)
      passMs(4_999)
      for (const { app } of processes)
        await assert.rejects(authenticate(app, { apiKey: shop.apiKey, ip: IP }), failsWith(code))
    }
  })

  it('does not keep a cached key longer when the clock is set back', async (t) => {
    const shop = await shopWithKey(t)
    const { app, reads } = startProcess(shop.db)
    await authenticate(app, { apiKey: shop.apiKey, ip: IP })
    passMs(-60_000)
    await authenticate(app, { apiKey: shop.apiKey, ip: IP })
    assert.equal(reads(), 2)
  })

  it('does not cache a database error of a key lookup', async (t) => {
    const shop = await shopWithKey(t)
    let isGone = true
    const flaky: Db = {
      ...shop.db,
      query: (...values) => (isGone ? Promise.reject(new Error('gone')) : shop.db.query(...values)),
    }
    const { app } = startProcess(flaky)
    await assert.rejects(authenticate(app, { apiKey: shop.apiKey, ip: IP }), /gone/)
    isGone = false
    await authenticate(app, { apiKey: shop.apiKey, ip: IP })
  })

  it('keeps a bounded number of keys, also under unknown ids', async (t) => {
    const shop = await shopWithKey(t)
    const { app } = startProcess(shop.db)
    const small = { ...app, keyCache: createKeyCache(app, { maxEntries: 3 }) }
    for (let guess = 0; guess < 10; guess++)
      await assert.rejects(
        authenticate(small, { apiKey: formatApiKey(generateApiKey('test', random)), ip: IP }),
        failsWith('invalid_api_key'),
      )
    assert.equal(small.keyCache.size, 3)
    await authenticate(small, { apiKey: shop.apiKey, ip: IP })
  })
})

describe('the last-used time of an API key', () => {
  const usedAt = async (shop: Awaited<ReturnType<typeof shopWithKey>>) =>
    (await listKeys(shop.admin, shop.merchant.id, {})).items[0]?.lastUsedAt?.toISOString()

  it('is saved at most once a minute over all processes', async (t) => {
    const shop = await shopWithKey(t)
    const processes = [startProcess(shop.db), startProcess(shop.db)]
    const useEverywhere = async () => {
      for (const { app } of processes) await authenticate(app, { apiKey: shop.apiKey, ip: IP })
      for (const { untilWritten } of processes) await untilWritten()
    }
    await useEverywhere()
    assert.equal(await usedAt(shop), '2026-03-01T12:00:00.000Z')
    for (let second = 0; second < 59; second += 10) {
      passMs(10_000)
      if (second < 50) await useEverywhere()
    }
    assert.equal(await usedAt(shop), '2026-03-01T12:00:00.000Z')
    passMs(1_000)
    await useEverywhere()
    assert.equal(await usedAt(shop), '2026-03-01T12:01:01.000Z')
    // The second process may send one write before it reads the first one's, and no more than that.
    const writes = processes.flatMap(({ queries }) => queries).filter((kind) => kind === 'write').length
    assert.ok(writes <= 4, `${writes} writes`)
  })

  it('does not fail the request when saving the last-used time fails', async (t) => {
    const shop = await shopWithKey(t)
    const { app, queries, untilWritten } = startProcess(shop.db, { failTouch: true })
    await authenticate(app, { apiKey: shop.apiKey, ip: IP })
    await untilWritten()
    assert.ok(queries.includes('write'))
    assert.equal(await usedAt(shop), undefined)
  })

  it('is not saved for a rejected request', async (t) => {
    const shop = await shopWithKey(t, { allowedIps: ['10.0.0.0/8'] })
    const { app, queries } = startProcess(shop.db)
    await assert.rejects(authenticate(app, { apiKey: shop.apiKey, ip: IP }), failsWith('ip_not_allowed'))
    assert.ok(!queries.includes('write'))
    assert.ok(parseApiKey(shop.apiKey))
  })
})
