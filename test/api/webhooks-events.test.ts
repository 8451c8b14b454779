import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { Static } from 'typebox'
import type { DeliveryRecord } from '../../src/deliveries/schema.ts'
import type { Api, ApiResponse } from '../support/api.ts'
import {
  assertApiError,
  assertKeys,
  assertSameApiError,
  ISO_TIME,
  UNKNOWN_UUID,
  UUID_V7,
} from '../support/assertions.ts'
import { payWith } from '../support/builders.ts'
import { tickingClock } from '../support/fake-clock.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'
import { scriptedConsumer, verifies } from '../support/webhooks-rig.ts'

const clock = tickingClock()
const service = await testService({ after }, { clock })
const ENDPOINTS = '/api/v1/webhooks/endpoints'
const EVENTS = '/api/v1/events'
const REPLAYS = '/api/v1/webhooks/replays'

const shop = await service.newMerchant()
const other = await service.newMerchant()
const weak = await service.newMerchant(['checkout:write', 'checkout:read'])
const consumer = await scriptedConsumer({ after })

async function addEndpoint(api: Api, changes: object = {}) {
  const { http, body, text } = await api.post(ENDPOINTS, { url: consumer.url, ...changes })
  assert.equal(http, 201, text)
  return body.data
}

const setEnabled = (api: Api, uuid: string, enabled: boolean) =>
  api.send('PATCH', `${ENDPOINTS}/${uuid}`, {
    body: JSON.stringify({ enabled }),
    headers: { 'content-type': 'application/json' },
  })

const ids = ({ body }: ApiResponse): string[] => body.data.map(({ id }: { id: string }) => id)

type Delivery = Static<typeof DeliveryRecord>

const deliveriesOf = async (api: Api, event: string): Promise<Delivery[]> =>
  (await api.get(`${EVENTS}/${event}/deliveries`)).body.data

function only<Item>([one, ...more]: Item[]): Item {
  assert.equal(more.length, 0)
  return one ?? assert.fail('there is one')
}

/** The deliveries of an event once all have ended. */
const ended = (api: Api, event: string) =>
  eventually(
    () => deliveriesOf(api, event),
    (all) => all.length > 0 && all.every(({ status }) => status !== 'pending'),
    10_000,
  )

const endpoint = await addEndpoint(shop.api, { events: ['payment.successful'] })
const paid = await payWith(shop.api, 'card_success')
const [success] = ids(await shop.api.get(`${EVENTS}?type=payment.successful`))
assert.ok(success)

const range = () => {
  const now = clock.now().getTime()
  return { from: new Date(now - 3_600_000).toISOString(), to: new Date(now + 1_000).toISOString() }
}

/** The replay of a time range once all its deliveries exist. */
async function replayed(api: Api, body: object) {
  const asked = await api.post(`${EVENTS}/replay`, body)
  assert.deepEqual([asked.http, asked.body.data.status], [201, 'queued'], asked.text)
  const read = async () => (await api.get(`${REPLAYS}/${asked.body.data.uuid}`)).body.data
  return eventually(read, ({ status }) => status === 'done', 10_000)
}

const OPERATIONS: ((api: Api, uuid: string) => Promise<ApiResponse>)[] = [
  (api, uuid) => api.get(`${EVENTS}/${uuid}`),
  (api, uuid) => api.get(`${EVENTS}/${uuid}/deliveries`),
  (api, uuid) => api.post(`${EVENTS}/${uuid}/replay`, {}),
]

describe('access to events', () => {
  it('rejects operations on events without a key', async () => {
    const anonymous = service.apiWith(undefined)
    assertApiError(await anonymous.get(EVENTS), 'missing_api_key')
    assertApiError(await anonymous.post(`${EVENTS}/replay`, range()), 'missing_api_key')
    assertApiError(await anonymous.get(`${REPLAYS}/${UNKNOWN_UUID}`), 'missing_api_key')
    for (const call of OPERATIONS) assertApiError(await call(anonymous, success), 'missing_api_key')
  })

  it('answers the same for another merchant’s event as for an unknown one', async () => {
    for (const call of OPERATIONS) {
      const foreign = await call(other.api, success)
      assertSameApiError(foreign, await call(other.api, UNKNOWN_UUID), 'event_not_found')
      assertApiError(await call(other.api, 'no-uuid'), 'invalid_uuid')
    }
    const listed = await other.api.get(`${EVENTS}?resource=${paid.uuid}`)
    assert.deepEqual([listed.http, listed.body.data], [200, []])
    const named = { ...range(), endpoint: endpoint.uuid }
    const unknown = await other.api.post(`${EVENTS}/replay`, { ...named, endpoint: UNKNOWN_UUID })
    assertSameApiError(await other.api.post(`${EVENTS}/replay`, named), unknown, 'webhook_endpoint_not_found')
    const { uuid } = (await shop.api.post(`${EVENTS}/replay`, { ...range(), types: ['refund.failed'] })).body
      .data
    const replay = await other.api.get(`${REPLAYS}/${uuid}`)
    assertSameApiError(replay, await other.api.get(`${REPLAYS}/${UNKNOWN_UUID}`), 'replay_not_found')
    assertApiError(await other.api.get(`${REPLAYS}/no-uuid`), 'invalid_uuid')
    assert.equal((await replayed(other.api, range())).deliveries, 0)
  })

  it('requires the scope webhooks:read for events, and webhooks:write to replay them', async () => {
    assertApiError(await weak.api.get(EVENTS), 'insufficient_scope')
    assertApiError(await weak.api.post(`${EVENTS}/replay`, range()), 'insufficient_scope')
    assertApiError(await weak.api.get(`${REPLAYS}/${UNKNOWN_UUID}`), 'insufficient_scope')
    for (const call of OPERATIONS) assertApiError(await call(weak.api, success), 'insufficient_scope')
  })
})

describe('the list of events', () => {
  it('lists events as they are delivered, newest first', async () => {
    const { body } = await shop.api.get(EVENTS)
    for (const event of body.data) {
      assertKeys(event, ['id', 'type', 'apiVersion', 'mode', 'createdAt', 'resource', 'data'])
      assert.match(event.id, UUID_V7)
      assert.match(event.createdAt, ISO_TIME)
    }
    const times = body.data.map(({ createdAt }: { createdAt: string }) => createdAt)
    assert.deepEqual(times, times.toSorted().toReversed())
    assert.equal(body.meta.total, body.data.length)
    const [read] = body.data
    assert.deepEqual((await shop.api.get(`${EVENTS}/${read.id}`)).body.data, read)
  })

  it('filters events by type, resource and time', async () => {
    const list = async (query: string) => (await shop.api.get(`${EVENTS}?${query}`)).body
    const types = (body: { data: { type: string }[] }) => body.data.map(({ type }) => type)
    assert.deepEqual(types(await list('type=payment.successful')), ['payment.successful'])
    const ofPayment = await list(`resource=${paid.uuid}&sort=createdAt:asc`)
    assert.deepEqual(types(ofPayment), ['payment.pending', 'payment.processing', 'payment.successful'])
    assert.equal(ofPayment.meta.total, 3)
    assert.deepEqual(types(await list(`resource=${paid.uuid}&type=payment.pending`)), ['payment.pending'])
    assert.deepEqual(types(await list(`resource=${UNKNOWN_UUID}`)), [])
    const [first] = ofPayment.data
    const before = new Date(Date.parse(first.createdAt) - 1).toISOString()
    assert.deepEqual((await list(`createdTo=${before}&resource=${paid.uuid}`)).meta.total, 0)
    assert.deepEqual((await list(`createdFrom=${before}&type=payment.pending`)).meta.total, 1)
  })

  it('pages events by number and by cursor, in both orders', async () => {
    for (const sort of ['createdAt:asc', 'createdAt:desc']) {
      for (const filter of ['', `&resource=${paid.uuid}`, '&type=payment.pending']) {
        const whole = ids(await shop.api.get(`${EVENTS}?sort=${sort}${filter}`))
        const seen: string[] = []
        let next = `limit=1&sort=${sort}${filter}`
        while (next) {
          const page = await shop.api.get(`${EVENTS}?${next}`)
          assert.equal(page.body.meta.total, whole.length)
          seen.push(...ids(page))
          const { nextCursor } = page.body.meta
          next = nextCursor && `limit=1&sort=${sort}${filter}&cursor=${nextCursor}`
        }
        assert.deepEqual(seen, whole)
      }
    }
    const second = await shop.api.get(`${EVENTS}?limit=1&page=2`)
    assert.deepEqual(ids(second), ids(await shop.api.get(EVENTS)).slice(1, 2))
  })

  it('rejects invalid parameters of the event list', async () => {
    for (const query of ['type=payment.paid', 'limit=101', 'page=0', 'createdFrom=yesterday', 'cursor=abc'])
      assertApiError(await shop.api.get(`${EVENTS}?${query}`), 'validation_failed')
    assertApiError(await shop.api.get(`${EVENTS}?resource=abc`), 'invalid_uuid')
  })
})

describe('the deliveries of an event', () => {
  it('shows each attempt of a delivery: request, response and duration', async () => {
    const delivery = only(await ended(shop.api, success))
    assertKeys(delivery, [
      ...['endpoint', 'url', 'status', 'reason', 'message', 'nextAttemptAt', 'deliveredAt', 'attempts'],
    ])
    assert.deepEqual(
      [delivery.endpoint, delivery.url, delivery.status, delivery.reason, delivery.nextAttemptAt],
      [endpoint.uuid, consumer.url, 'delivered', null, null],
    )
    const one = only(delivery.attempts)
    assert.deepEqual([one.http, one.error, one.responseBody], [204, null, ''])
    assert.ok(one.durationMs >= 0)
    const received = consumer.received.find(({ event }) => event.id === success)
    assert.ok(received && verifies(received, endpoint.secret))
    for (const [name, value] of Object.entries(one.request.headers))
      assert.equal(received.headers[name], value)
    assert.equal(one.request.url, consumer.url)
    assert.ok(!JSON.stringify(delivery).includes('whsec_'))
  })

  it('shows no deliveries for an event without a subscribed endpoint', async () => {
    const [pending] = ids(await shop.api.get(`${EVENTS}?type=payment.pending`))
    assert.deepEqual(await deliveriesOf(shop.api, pending ?? ''), [])
  })

  it('shows the next attempt of a delivery, and why the previous ones failed', async () => {
    const { api } = await service.newMerchant()
    const { uuid } = await addEndpoint(api, { url: 'http://127.0.0.1:9/closed' })
    const test = await api.post(`${ENDPOINTS}/${uuid}/test`, {})
    const tried = await eventually(
      () => deliveriesOf(api, test.body.data.id),
      ([one]) => one !== undefined && one.attempts.length > 0,
      10_000,
    )
    const delivery = only(tried)
    assert.equal(delivery.status, 'pending')
    assert.match(delivery.nextAttemptAt ?? '', ISO_TIME)
    const one = only(delivery.attempts)
    assert.equal(one.http, null)
    assert.match(one.error ?? '', /connection/)
    await setEnabled(api, uuid, false)
    const dead = only(await ended(api, test.body.data.id))
    assert.deepEqual([dead.status, dead.reason], ['dead', 'disabled_by_merchant'])
    assert.equal(dead.message, 'You disabled the endpoint.')
    await api.send('DELETE', `${ENDPOINTS}/${uuid}`)
    assert.equal(
      (await deliveriesOf(api, test.body.data.id)).length,
      1,
      'readable after the endpoint is deleted',
    )
  })
})

describe('a test event', () => {
  it('delivers a test event to its endpoint only, whatever its subscriptions', async () => {
    const otherEndpoint = await addEndpoint(shop.api)
    const { http, body } = await shop.api.post(`${ENDPOINTS}/${endpoint.uuid}/test`, {})
    assert.equal(http, 201)
    const { id, type, resource } = body.data
    assert.equal(type, 'webhook.test')
    assert.equal(resource.uuid, endpoint.uuid)
    const deliveries = await ended(shop.api, id)
    assert.deepEqual(
      deliveries.map((one) => `${one.endpoint} ${one.status}`),
      [`${endpoint.uuid} delivered`],
    )
    assert.ok(!JSON.stringify(body.data).includes('whsec_'))
    await shop.api.send('DELETE', `${ENDPOINTS}/${otherEndpoint.uuid}`)
  })

  it('sends one test event per Idempotency-Key', async () => {
    const send = () =>
      shop.api.post(`${ENDPOINTS}/${endpoint.uuid}/test`, {}, { 'idempotency-key': 'test-1' })
    const [one, again] = await Promise.all([send(), send()])
    assert.deepEqual(one.body.data, again.body.data)
  })
})

describe('replaying events', () => {
  const receivedOf = (id: string) => consumer.received.filter(({ event }) => event.id === id)

  it('resends an event with the same id and body, once per Idempotency-Key', async () => {
    await ended(shop.api, success)
    const before = receivedOf(success).length
    const send = () => shop.api.post(`${EVENTS}/${success}/replay`, {}, { 'idempotency-key': 'replay-1' })
    const [one, again] = [await send(), await send()]
    assert.equal(one.http, 201)
    assertKeys(one.body.data, ['uuid', 'status', 'events', 'deliveries', 'createdAt', 'finishedAt'])
    assert.deepEqual([one.body.data.events, one.body.data.deliveries], [1, 1])
    assert.equal(one.body.message, '1 event in 1 delivery will be sent again.')
    assert.deepEqual(again.body.data, one.body.data)
    assert.equal(again.headers.get('idempotent-replayed'), 'true')
    const delivery = only(await ended(shop.api, success))
    assert.equal(delivery.attempts.length, before + 1)
    assert.equal(new Set(receivedOf(success).map(({ body }) => body)).size, 1)
  })

  it('replays an event to a named endpoint that is not subscribed to it', async () => {
    const [pending = ''] = ids(await shop.api.get(`${EVENTS}?type=payment.pending`))
    assert.equal((await shop.api.post(`${EVENTS}/${pending}/replay`, {})).body.data.deliveries, 0)
    const named = await shop.api.post(`${EVENTS}/${pending}/replay`, { endpoint: endpoint.uuid })
    assert.equal(named.body.data.deliveries, 1)
    await ended(shop.api, pending)
    assert.equal(receivedOf(pending).length, 1)
  })

  it('replays a time range to an endpoint that was disabled, without duplicates on request', async (t) => {
    const { api } = await service.newMerchant()
    const late = await scriptedConsumer(t)
    const { uuid } = await addEndpoint(api, { url: late.url })
    await setEnabled(api, uuid, false)
    await payWith(api, 'card_success')
    assertApiError(await api.post(`${EVENTS}/replay`, { ...range(), endpoint: uuid }), 'invalid_state')
    await setEnabled(api, uuid, true)
    const types = ['payment.pending', 'payment.processing', 'payment.successful']
    const missed = await replayed(api, { ...range(), types, endpoint: uuid })
    assert.deepEqual([missed.events, missed.deliveries], [3, 3])
    assert.match(missed.finishedAt, ISO_TIME)
    await eventually(
      () => late.received.length,
      (count) => count === 3,
      10_000,
    )
    assert.deepEqual(late.versions(), [1, 2, 3], 'in order')
    const [success = ''] = ids(await api.get(`${EVENTS}?type=payment.successful`))
    await ended(api, success)
    assert.equal((await replayed(api, { ...range(), types, onlyUndelivered: true })).deliveries, 0)
  })

  it('starts one replay of a time range per Idempotency-Key', async () => {
    const { api } = await service.newMerchant()
    const far = { from: '2020-01-01T00:00:00Z', to: '2020-01-02T00:00:00Z' }
    const send = (key: string) => api.post(`${EVENTS}/replay`, far, { 'idempotency-key': key })
    const [one, again] = await Promise.all([send('range-1'), send('range-1')])
    assert.equal(one.body.data.uuid, again.body.data.uuid)
  })

  it('rejects the replay of an invalid time range', async () => {
    const { from, to } = range()
    const issuesFor = async (body: object) =>
      assertApiError(await shop.api.post(`${EVENTS}/replay`, body), 'validation_failed')
    assert.deepEqual(await issuesFor({ from: to, to: from }), ['to: out_of_range'])
    assert.deepEqual((await issuesFor({})).toSorted(), ['from: required', 'to: required'])
    assert.equal((await issuesFor({ from, to, types: [] })).length, 1)
    assert.equal((await issuesFor({ from, to, types: ['*'] })).length, 1)
    const old = { from: '2020-01-01T00:00:00Z', to }
    assert.deepEqual(await issuesFor({ ...old, onlyUndelivered: true }), ['from: out_of_range'])
    // A value that cannot be converted to text is a type error of the caller, not an internal error.
    const unserializable = { from: 0, to: { toString: 1, valueOf: 2 } }
    assert.deepEqual(await issuesFor(unserializable), ['from: invalid_type', 'to: invalid_type'])
  })
})
