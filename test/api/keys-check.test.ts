import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { formatApiKey } from '../../src/api-keys/key-format.ts'

import { assertErrorCode } from '../support/assertions.ts'
import { tickingClock } from '../support/fake-clock.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const clock = tickingClock()
const service = await testService({ after }, { clock })

const PATH = '/api/v1/wallet/balance'
const HOUR_MS = 3_600_000

async function newKey(settings: Record<string, unknown> = {}) {
  const { uuid } = (await service.admin.post('/admin/v1/merchants', { name: 'Key Shop' })).body.data
  const made = await service.admin.post(`/admin/v1/merchants/${uuid}/keys`, { scopes: ['*'], ...settings })
  assert.equal(made.http, 201, made.text)
  const { apiKey, keyId } = made.body.data
  return { merchantUuid: uuid, apiKey, keyId, api: service.apiWith(apiKey) }
}

const act = async (path: string) => assert.equal((await service.admin.send('POST', path)).http, 200)

async function listed(merchantUuid: string) {
  return (await service.admin.get(`/admin/v1/merchants/${merchantUuid}/keys`)).body.data
}

describe('the key check', () => {
  it('rejects a revoked key within five seconds', async () => {
    const { api, keyId } = await newKey()
    assert.equal((await api.get(PATH)).http, 200)
    await act(`/admin/v1/keys/${keyId}/revoke`)
    clock.advance(5_000)
    assertErrorCode(await api.get(PATH), 401, 'api_key_revoked')
  })

  it('rejects a revoked key within five seconds of real time, while it is in use', async () => {
    const { api, keyId } = await newKey()
    assert.equal((await api.get(PATH)).http, 200)
    await act(`/admin/v1/keys/${keyId}/revoke`)
    const startedAt = Date.now()
    await eventually(
      () => api.get(PATH),
      (answer) => answer.http === 401,
      10_000,
    )
    const tookMs = Date.now() - startedAt
    assert.ok(tookMs < 5_000, `it took ${tookMs} ms`)
  })

  it('rejects a key from the moment of its expiry, without waiting for the cache', async () => {
    const { api } = await newKey({ expiresAt: new Date(clock.now().getTime() + HOUR_MS).toISOString() })
    clock.advance(HOUR_MS - 2_500)
    assert.equal((await api.get(PATH)).http, 200)
    clock.advance(2_500)
    assertErrorCode(await api.get(PATH), 401, 'api_key_expired')
  })

  it('rejects every key of a suspended merchant, and accepts them after its activation', async () => {
    const { api, merchantUuid } = await newKey()
    assert.equal((await api.get(PATH)).http, 200)
    await act(`/admin/v1/merchants/${merchantUuid}/suspend`)
    clock.advance(5_000)
    assertErrorCode(await api.get(PATH), 403, 'merchant_suspended')
    await act(`/admin/v1/merchants/${merchantUuid}/activate`)
    clock.advance(5_000)
    assert.equal((await api.get(PATH)).http, 200)
  })

  it('rejects a live key in staging with a message about the environment', async () => {
    const live = formatApiKey({ mode: 'live', id: 'a'.repeat(12), secret: 'b'.repeat(43) })
    for (const apiKey of [live, `${live}x`, 'cowry_live_']) {
      const answer = await service.apiWith(apiKey).get(PATH)
      assertErrorCode(answer, 403, 'mode_mismatch')
      assert.match(answer.body.message, /live key.*staging/)
    }
  })

  it('accepts a key only from its allowed addresses', async () => {
    const elsewhere = await newKey({ allowedIps: ['203.0.113.0/24', '2001:db8::/32'] })
    assertErrorCode(await elsewhere.api.get(PATH), 403, 'ip_not_allowed')
    const spoofed = {
      'x-forwarded-for': '203.0.113.7',
      'x-real-ip': '203.0.113.7',
      forwarded: 'for=203.0.113.7',
    }
    assertErrorCode(await elsewhere.api.get(PATH, spoofed), 403, 'ip_not_allowed')
    for (const allowedIps of [['127.0.0.1'], ['203.0.113.0/24', '127.0.0.0/8'], []]) {
      assert.equal((await (await newKey({ allowedIps })).api.get(PATH)).http, 200)
    }
  })

  it('records when a key was last used', async () => {
    const { api, merchantUuid } = await newKey()
    assert.equal((await listed(merchantUuid))[0].lastUsedAt, null)
    const before = clock.now().toISOString()
    await api.get(PATH)
    const [used] = await eventually(
      () => listed(merchantUuid),
      ([key]) => key.lastUsedAt !== null,
      5_000,
    )
    assert.ok(used.lastUsedAt >= before && used.lastUsedAt <= clock.now().toISOString())
  })

  it('does not record a rejected use of a key', async () => {
    const { api, merchantUuid } = await newKey({ allowedIps: ['203.0.113.7'] })
    assertErrorCode(await api.get(PATH), 403, 'ip_not_allowed')
    assert.equal((await listed(merchantUuid))[0].lastUsedAt, null)
  })
})

describe('rotation by an operator', () => {
  const rotate = async (keyId: string, body: object = {}) => {
    const answer = await service.admin.post(`/admin/v1/keys/${keyId}/rotate`, body)
    assert.equal(answer.http, 201, answer.text)
    return answer.body.data
  }

  it('keeps the old key valid for a day by default, beside the new one', async () => {
    const old = await newKey({ scopes: ['wallet:read'], name: 'till', allowedIps: ['127.0.0.1'] })
    const fresh = await rotate(old.keyId)
    assert.deepEqual([fresh.scopes, fresh.name, fresh.allowedIps], [['wallet:read'], 'till', ['127.0.0.1']])
    const freshApi = service.apiWith(fresh.apiKey)
    assert.equal((await old.api.get(PATH)).http, 200)
    assert.equal((await freshApi.get(PATH)).http, 200)
    clock.advance(24 * HOUR_MS - 10_000)
    assert.equal((await old.api.get(PATH)).http, 200)
    clock.advance(20_000)
    assertErrorCode(await old.api.get(PATH), 401, 'api_key_expired')
    assert.equal((await freshApi.get(PATH)).http, 200)
    const keys = await listed(old.merchantUuid)
    assert.deepEqual(
      keys.map(({ keyId, status, replacedBy }: Record<string, string>) => ({ keyId, status, replacedBy })),
      [
        { keyId: fresh.keyId, status: 'active', replacedBy: null },
        { keyId: old.keyId, status: 'expired', replacedBy: fresh.keyId },
      ],
    )
  })

  it('accepts an overlap of zero to seven days', async () => {
    const none = await newKey()
    await rotate(none.keyId, { overlapHours: 0 })
    clock.advance(5_000)
    assertErrorCode(await none.api.get(PATH), 401, 'api_key_expired')
    const week = await newKey()
    await rotate(week.keyId, { overlapHours: 168 })
    clock.advance(167 * HOUR_MS)
    assert.equal((await week.api.get(PATH)).http, 200)
    clock.advance(HOUR_MS)
    assertErrorCode(await week.api.get(PATH), 401, 'api_key_expired')
    for (const overlapHours of [-1, 168.5, '24']) {
      const answer = await service.admin.post(`/admin/v1/keys/${week.keyId}/rotate`, { overlapHours })
      assertErrorCode(answer, 400, 'validation_failed')
    }
  })

  it('does not extend a key that expires before the overlap', async () => {
    const expiresAt = new Date(clock.now().getTime() + HOUR_MS).toISOString()
    const old = await newKey({ expiresAt })
    await rotate(old.keyId, { overlapHours: 24 })
    clock.advance(HOUR_MS)
    assertErrorCode(await old.api.get(PATH), 401, 'api_key_expired')
  })

  it('rejects a second rotation, and the rotation of a revoked key', async () => {
    const { keyId } = await newKey()
    const fresh = await rotate(keyId)
    const again = await service.admin.post(`/admin/v1/keys/${keyId}/rotate`, {})
    assertErrorCode(again, 409, 'invalid_state')
    assert.match(again.body.message, new RegExp(fresh.keyId))
    await act(`/admin/v1/keys/${fresh.keyId}/revoke`)
    assertErrorCode(
      await service.admin.post(`/admin/v1/keys/${fresh.keyId}/rotate`, {}),
      409,
      'invalid_state',
    )
  })
})
