import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { assertApiError, assertKeys, ISO_TIME } from '../support/assertions.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { admin } = service
const merchant = await service.newMerchant()
const PATH = `/admin/v1/merchants/${merchant.uuid}/keys`

const KEY_FIELDS = [
  'keyId',
  'merchantUuid',
  'name',
  'prefix',
  'mode',
  'scopes',
  'allowedIps',
  'rateLimit',
  'status',
  'replacedBy',
  'createdAt',
  'expiresAt',
  'lastUsedAt',
  'revokedAt',
]

describe('API keys managed by operators', () => {
  it('lets an operator create a key with every setting', async () => {
    const settings = {
      name: 'Point of sale',
      scopes: ['wallet:read', 'customers:read'],
      allowedIps: ['127.0.0.1', '10.0.0.0/8', '2001:db8::/32'],
      rateLimit: { perSecond: 10, burst: 50 },
      expiresAt: '2100-01-01T00:00:00.000Z',
    }
    const answer = await admin.post(PATH, settings)
    assert.equal(answer.http, 201, answer.text)
    assertKeys(answer.body.data, [...KEY_FIELDS, 'apiKey'])
    const { apiKey, keyId, createdAt, ...rest } = answer.body.data
    assert.deepEqual(rest, {
      merchantUuid: merchant.uuid,
      ...settings,
      prefix: `cowry_test_${keyId}_…`,
      mode: 'test',
      status: 'active',
      replacedBy: null,
      lastUsedAt: null,
      revokedAt: null,
    })
    assert.match(createdAt, ISO_TIME)
    assert.ok(apiKey.startsWith(`cowry_test_${keyId}_`))
    assert.equal((await service.apiWith(apiKey).get('/api/v1/wallet/balance')).http, 200)
  })

  it('reports all validation issues of an operator’s new key at once', async () => {
    const bad: [object, string[]][] = [
      [{ scopes: [] }, ['scopes: too_short']],
      [{ scopes: ['everything'] }, ['scopes.0: not_allowed']],
      [{ scopes: 'wallet:read' }, ['scopes: invalid_type']],
      [{ name: '' }, ['name: too_short']],
      [{ expiresAt: '2001-01-01T00:00:00Z' }, ['expiresAt: out_of_range']],
      [{ expiresAt: 'tomorrow' }, ['expiresAt: invalid_format']],
      [{ allowedIps: ['127.0.0.1', 'localhost'] }, ['allowedIps.1: invalid']],
      [
        { allowedIps: ['10.0.0.0/33', 'fe80::1%eth0', '1.2.3', ''] },
        ['0', '1', '2', '3'].map((at) => `allowedIps.${at}: invalid`),
      ],
      [{ rateLimit: { perSecond: 0, burst: 5 } }, ['rateLimit.perSecond: out_of_range']],
      [{ rateLimit: { perSecond: 10, burst: 5 } }, ['rateLimit.burst: out_of_range']],
      [{ rateLimit: { perSecond: 1.5 } }, ['rateLimit.burst: required', 'rateLimit.perSecond: invalid_type']],
    ]
    for (const [body, issues] of bad) {
      const answer = await admin.post(PATH, body)
      assert.deepEqual(assertApiError(answer, 'validation_failed').sort(), issues, answer.text)
    }
  })

  it('lists the keys of one merchant to operators, newest first, without their secrets', async () => {
    const other = await service.newMerchant()
    const made = (await admin.post(PATH, { name: 'newest' })).body.data
    const { http, body } = await admin.get(`${PATH}?limit=100`)
    assert.equal(http, 200)
    const { apiKey, ...shown } = made
    assert.ok(apiKey)
    assert.deepEqual(body.data[0], shown)
    for (const key of body.data) {
      assertKeys(key, KEY_FIELDS)
      assert.equal(key.merchantUuid, merchant.uuid)
    }
    assert.equal(body.meta.total, body.data.length)
    const theirs = await admin.get(`/admin/v1/merchants/${other.uuid}/keys`)
    assert.equal(theirs.body.meta.total, 1)
  })

  it('rotates a key without a body, because no field is required', async () => {
    const { keyId } = (await admin.post(PATH, {})).body.data
    const rotated = await admin.send('POST', `/admin/v1/keys/${keyId}/rotate`)
    assert.equal(rotated.http, 201, rotated.text)
  })

  it('revokes a key idempotently for operators', async () => {
    const { keyId } = (await admin.post(PATH, {})).body.data
    const first = await admin.send('POST', `/admin/v1/keys/${keyId}/revoke`)
    const second = await admin.send('POST', `/admin/v1/keys/${keyId}/revoke`)
    assert.equal(first.http, 200, first.text)
    assert.equal(first.body.data.status, 'revoked')
    assert.match(first.body.data.revokedAt, ISO_TIME)
    assert.deepEqual(second.body, first.body)
  })

  it('answers 404 to operators for an unknown key', async () => {
    for (const keyId of ['000000000000', 'x', 'A'.repeat(40)]) {
      assertApiError(await admin.send('POST', `/admin/v1/keys/${keyId}/revoke`), 'api_key_not_found')
      assertApiError(await admin.post(`/admin/v1/keys/${keyId}/rotate`, {}), 'api_key_not_found')
    }
    for (const keyId of ['%00', 'a-b', 'A'.repeat(41)])
      assertApiError(await admin.send('POST', `/admin/v1/keys/${keyId}/revoke`), 'validation_failed')
  })

  it('answers bad JSON of operators with the same errors as that of merchants', async () => {
    const path = '/admin/v1/merchants'
    assertApiError(await admin.postText(path, '{"name":'), 'malformed_json')
    assertApiError(
      await admin.postText(path, '{}', { 'content-type': 'text/plain' }),
      'unsupported_media_type',
    )
    assertApiError(await admin.postText(path, ' '.repeat(66_000)), 'payload_too_large')
    assertApiError(await admin.send('DELETE', path), 'method_not_allowed')
    assertApiError(await admin.get('/admin/v1/nothing'), 'route_not_found')
  })
})
