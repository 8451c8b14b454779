import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { type Api, type ApiResponse, postUntilFree } from '../support/api.ts'
import {
  assertApiError,
  assertKeys,
  assertSameApiError,
  ISO_TIME,
  UNKNOWN_UUID,
  UUID_V7,
} from '../support/assertions.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after }, { role: 'api' })
const PATH = '/api/v1/webhooks/endpoints'
const URL_OF_SHOP = 'https://shop.example.com/hooks'

const KEYS = [
  ...['uuid', 'url', 'description', 'events', 'status', 'disabled', 'failingSince', 'previousSecretUntil'],
  ...['createdAt', 'updatedAt'],
]

const shop = await service.newMerchant()
const other = await service.newMerchant()
const weak = await service.newMerchant(['checkout:write', 'checkout:read', 'keys:write'])

const add = (api: Api, changes: object = {}, headers = {}) =>
  api.post(PATH, { url: URL_OF_SHOP, ...changes }, headers)
const patch = (api: Api, uuid: string, body: object) =>
  api.send('PATCH', `${PATH}/${uuid}`, {
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  })

async function added(api: Api = shop.api, changes: object = {}) {
  const { http, body, text } = await add(api, changes)
  assert.equal(http, 201, text)
  return body.data
}

const anonymous = service.apiWith(undefined)
const OPERATIONS: [string, (api: Api, uuid: string) => Promise<ApiResponse>][] = [
  ['GET', (api, uuid) => api.get(`${PATH}/${uuid}`)],
  ['PATCH', (api, uuid) => patch(api, uuid, { enabled: false })],
  ['DELETE', (api, uuid) => api.send('DELETE', `${PATH}/${uuid}`)],
  ['rotate-secret', (api, uuid) => api.post(`${PATH}/${uuid}/rotate-secret`, {})],
  ['test', (api, uuid) => api.post(`${PATH}/${uuid}/test`, {})],
]

describe('access to webhook endpoints', () => {
  it('requires a key for every operation on endpoints', async () => {
    assertApiError(await add(anonymous), 'missing_api_key')
    assertApiError(await anonymous.get(PATH), 'missing_api_key')
    for (const [, call] of OPERATIONS) assertApiError(await call(anonymous, UNKNOWN_UUID), 'missing_api_key')
  })

  it('answers the same for another merchant’s endpoint as for an unknown one', async () => {
    const { uuid } = await added()
    for (const [, call] of OPERATIONS) {
      const foreign = await call(other.api, uuid)
      assertSameApiError(foreign, await call(other.api, UNKNOWN_UUID), 'webhook_endpoint_not_found')
    }
    assert.deepEqual((await other.api.get(PATH)).body.data, [])
    assert.equal((await shop.api.get(`${PATH}/${uuid}`)).body.data.status, 'enabled')
  })

  it('requires the scope webhooks:read or webhooks:write for endpoints', async () => {
    assertApiError(await add(weak.api), 'insufficient_scope')
    assertApiError(await weak.api.get(PATH), 'insufficient_scope')
    for (const [, call] of OPERATIONS)
      assertApiError(await call(weak.api, UNKNOWN_UUID), 'insufficient_scope')
  })

  it('rejects an endpoint identifier that is not a uuid', async () => {
    for (const [, call] of OPERATIONS) assertApiError(await call(shop.api, 'no-uuid'), 'invalid_uuid')
  })
})

describe('creating a webhook endpoint', () => {
  it('returns a new endpoint with its secret, subscribed to all types by default', async () => {
    const { secret, ...endpoint } = await added()
    assertKeys(endpoint, KEYS)
    assert.match(endpoint.uuid, UUID_V7)
    assert.match(endpoint.createdAt, ISO_TIME)
    assert.deepEqual(endpoint.events, ['*'])
    assert.equal(endpoint.status, 'enabled')
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    assert.equal(Buffer.from(secret.slice('whsec_'.length), 'base64').length, 32)
    const read = await shop.api.get(`${PATH}/${endpoint.uuid}`)
    assert.deepEqual(read.body.data, endpoint, 'without the secret')
    const listed = await shop.api.get(PATH)
    assert.deepEqual(listed.body.data[0], endpoint, 'newest first')
    assert.equal(listed.body.meta.total, listed.body.data.length)
    assert.ok(!listed.text.includes('whsec_'))
  })

  it('removes duplicates from an endpoint’s types, and reduces them to * when it is listed', async () => {
    const twice = ['payment.successful', 'refund.failed', 'payment.successful']
    assert.deepEqual((await added(shop.api, { events: twice })).events, [
      'payment.successful',
      'refund.failed',
    ])
    assert.deepEqual((await added(shop.api, { events: ['refund.failed', '*'] })).events, ['*'])
  })

  it('takes patterns of types as they are given, and rejects an unknown one with the closest', async () => {
    const events = ['payment.*', 'payment_link.*', 'payment.failed']
    const { uuid, events: shown } = await added(shop.api, { events })
    assert.deepEqual(shown, events)
    assert.deepEqual((await patch(shop.api, uuid, { events: ['p2p.*'] })).body.data.events, ['p2p.*'])
    for (const [pattern, meant] of [
      ['paymnt.*', 'payment.*'],
      ['payments.*', 'payment.*'],
      ['refund*', 'refund.*'],
    ] as const) {
      const refused = await add(shop.api, { events: [pattern] })
      assert.deepEqual(assertApiError(refused, 'validation_failed'), ['events.0: not_allowed'])
      assert.ok(refused.body.error.details[0].message.endsWith(`Did you mean ${meant}?`), refused.text)
    }
    assertApiError(await add(shop.api, { events: ['*.failed'] }), 'validation_failed')
  })

  it('creates one endpoint per Idempotency-Key, and shows the secret again', async () => {
    const merchant = await service.newMerchant()
    const headers = { 'idempotency-key': 'endpoint-1' }
    const answers = await Promise.all([1, 2, 3].map(() => add(merchant.api, {}, headers)))
    for (const { http, body } of answers) {
      assert.equal(http, 201)
      assert.deepEqual(body.data, answers[0]?.body.data)
    }
    const replayed = answers.filter(({ headers: sent }) => sent.get('idempotent-replayed') === 'true')
    assert.equal(replayed.length, 2)
    assert.equal((await merchant.api.get(PATH)).body.meta.total, 1)
    assertApiError(await add(merchant.api, { description: 'another' }, headers), 'idempotency_key_reused')
    const uuid = answers[0]?.body.data.uuid
    await merchant.api.post(`${PATH}/${uuid}/rotate-secret`, {})
    assertApiError(await add(merchant.api, {}, headers), 'invalid_state')
  })

  it('rejects an invalid endpoint with all issues at once', async () => {
    const wrong = { url: '', description: 'x'.repeat(256), events: ['payment.paid'] }
    const issues = assertApiError(await shop.api.post(PATH, wrong), 'validation_failed')
    assert.deepEqual(issues.map((one) => one.split(/[.:]/)[0]).toSorted(), ['description', 'events', 'url'])
    assert.equal(assertApiError(await shop.api.post(PATH, {}), 'validation_failed').length, 1)
    assert.equal(assertApiError(await add(shop.api, { events: [] }), 'validation_failed').length, 1)
    assertApiError(await add(shop.api, { description: 'card 4242424242424242' }), 'card_data_not_allowed')
  })

  it('rejects an endpoint at an address that is not public, with the reason', async () => {
    const hidden = [
      'http://shop.example.com/',
      'https://10.0.0.7/',
      'https://169.254.169.254/',
      'ftp://x.example/',
    ]
    const odd = [
      'https://user:word@shop.example.com/',
      'https://shop.example.com:22/',
      'https://localhost../',
    ]
    for (const url of [...hidden, ...odd]) {
      const answer = await add(shop.api, { url })
      assert.deepEqual(assertApiError(answer, 'webhook_url_not_allowed'), ['url: webhook_url_not_allowed'])
      assert.match(answer.body.message, /^url /)
    }
  })

  it('accepts an endpoint on localhost in staging', async () => {
    assert.equal((await added(shop.api, { url: 'http://127.0.0.1:4000/hook' })).status, 'enabled')
  })

  it('allows at most twenty endpoints, also for parallel requests', async () => {
    const { api } = await service.newMerchant()
    const answers = await Promise.all(
      Array.from({ length: 23 }, () => postUntilFree(api, PATH, { url: URL_OF_SHOP })),
    )
    const refused = answers.filter(({ http }) => http !== 201)
    assert.equal(refused.length, 3)
    for (const answer of refused) assertApiError(answer, 'too_many_webhook_endpoints')
    const [first] = (await api.get(PATH)).body.data
    await api.send('DELETE', `${PATH}/${first.uuid}`)
    assert.equal((await add(api)).http, 201, 'a deleted endpoint does not count')
  })
})

describe('changing a webhook endpoint', () => {
  it('changes the named fields of an endpoint; null is the same as absent', async () => {
    const { uuid } = await added(shop.api, { description: 'Orders', events: ['payment.failed'] })
    const url = 'https://other.example.com/'
    const changed = (await patch(shop.api, uuid, { url, events: null })).body.data
    assertApiError(await patch(shop.api, uuid, { status: 'disabled' }), 'unknown_field')
    assert.deepEqual(
      [changed.url, changed.description, changed.events, changed.status],
      [url, 'Orders', ['payment.failed'], 'enabled'],
    )
    assert.equal((await patch(shop.api, uuid, { description: '' })).body.data.description, null)
    assert.deepEqual((await patch(shop.api, uuid, { events: ['*'] })).body.data.events, ['*'])
  })

  it('disables an endpoint with a reason, and enables it again', async () => {
    const { uuid } = await added()
    const { status, disabled } = (await patch(shop.api, uuid, { enabled: false })).body.data
    assert.equal(status, 'disabled')
    assert.equal(disabled.reason, 'disabled_by_merchant')
    assert.equal(disabled.message, 'You disabled the endpoint.')
    assertApiError(await shop.api.post(`${PATH}/${uuid}/test`, {}), 'invalid_state')
    const enabled = (await patch(shop.api, uuid, { enabled: true })).body.data
    assert.deepEqual([enabled.status, enabled.disabled], ['enabled', null])
  })

  it('rejects changes that a new endpoint could not have', async () => {
    const { uuid } = await added()
    assertApiError(await patch(shop.api, uuid, { url: 'https://10.1.2.3/' }), 'webhook_url_not_allowed')
    assertApiError(await patch(shop.api, uuid, { enabled: 'yes', events: ['*', 7] }), 'validation_failed')
    assert.equal((await shop.api.get(`${PATH}/${uuid}`)).body.data.url, URL_OF_SHOP)
  })

  it('deletes an endpoint and its secret', async () => {
    const { uuid } = await added()
    const deleted = await shop.api.send('DELETE', `${PATH}/${uuid}`)
    assert.equal(deleted.http, 200)
    const { status, disabled } = deleted.body.data
    assert.deepEqual([deleted.body.data.uuid, status, disabled.reason], [uuid, 'deleted', 'endpoint_deleted'])
    for (const [, call] of OPERATIONS)
      assertApiError(await call(shop.api, uuid), 'webhook_endpoint_not_found')
  })
})

describe('rotating an endpoint’s secret', () => {
  it('returns a new secret, and the time until which the old one signs too', async () => {
    const { uuid, secret } = await added()
    const rotated = await shop.api.post(`${PATH}/${uuid}/rotate-secret`, {})
    assert.equal(rotated.http, 201)
    assert.notEqual(rotated.body.data.secret, secret)
    const hours = (Date.parse(rotated.body.data.previousSecretUntil) - Date.now()) / 3_600_000
    assert.ok(hours > 23.9 && hours <= 24, `${hours} hours`)
    const { previousSecretUntil } = rotated.body.data
    const tooSoon = await shop.api.post(`${PATH}/${uuid}/rotate-secret`, {})
    assertApiError(tooSoon, 'invalid_state')
    assert.ok(tooSoon.body.message.includes(previousSecretUntil), 'the old secret signs until then')
    const atOnce = await shop.api.post(`${PATH}/${uuid}/rotate-secret`, { overlapHours: 0 })
    assert.equal(atOnce.body.data.previousSecretUntil, null)
    for (const overlapHours of [-1, 169, 1.5, '24'])
      assertApiError(
        await shop.api.post(`${PATH}/${uuid}/rotate-secret`, { overlapHours }),
        'validation_failed',
      )
  })

  it('rotates an endpoint’s secret once per Idempotency-Key', async () => {
    const { uuid } = await added()
    const rotate = () =>
      shop.api.post(`${PATH}/${uuid}/rotate-secret`, {}, { 'idempotency-key': `rotate-${uuid}` })
    const [one, again] = [await rotate(), await rotate()]
    assert.equal(again.body.data.secret, one.body.data.secret)
    assert.equal(again.headers.get('idempotent-replayed'), 'true')
    await shop.api.post(`${PATH}/${uuid}/rotate-secret`, { overlapHours: 0 })
    assertApiError(await rotate(), 'invalid_state')
  })
})
