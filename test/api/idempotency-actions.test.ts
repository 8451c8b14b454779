// Every POST of the OpenAPI document takes an Idempotency-Key. This file has two requests for each, and fails when a new
// operation has none.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import type { ApiResponse } from '../support/api.ts'
import { assertApiError, assertNothingStored } from '../support/assertions.ts'
import { CUSTOMER, chargeBody, initiateBody, newReference, payWith, saveMethod } from '../support/builders.ts'
import { newProposal, requireTwoPeople } from '../support/cases.ts'
import { linkBody, makeLink } from '../support/links.ts'
import { operationsOf } from '../support/openapi.ts'
import { ACCOUNTS, BANK, dataOf, PAYMENTS, p2pActions, p2pBody, WALLET } from '../support/p2p.ts'
import { testService } from '../support/service.ts'
import { createTestFailpoints } from '../support/test-failpoints.ts'

// Without background jobs only requests change records.
const failpoints = createTestFailpoints()
const env = { COWRY_RATE_LIMIT: '0' }
const service = await testService({ after }, { role: 'api', env, failpoints: failpoints })
const { db } = service
const { api, uuid: merchant } = await service.newMerchant()
await requireTwoPeople(service.admin, merchant, 50_000)
const { requestTransfer, act, confirm } = p2pActions(api)
await dataOf(api.post(ACCOUNTS, WALLET))
const token = await saveMethod(api, 'card_success')

const withKey = (key: string) => ({ 'idempotency-key': key })
const isReplay = (answer: ApiResponse) => answer.headers.get('idempotent-replayed') === 'true'

interface Request {
  path: string
  body?: unknown
}

const send = ({ path, body = {} }: Request, key: string) => api.post(path, body, withKey(key))

const V1 = '/api/v1'
const CUSTOMERS = `${V1}/customers`
const ENDPOINTS = `${V1}/webhooks/endpoints`
const KEYS = `${V1}/api-keys`
const SANDBOX = `${V1}/sandbox/payments`

/** Two records that `make` creates, and the same action on each. */
async function aboutTwo(make: () => Promise<string>, verb = ''): Promise<[Request, Request]> {
  return [{ path: `${await make()}${verb}` }, { path: `${await make()}${verb}` }]
}

/** One record that `make` creates, and two bodies for it. */
async function aboutOne(path: string, body: object, other: object): Promise<[Request, Request]> {
  return [
    { path, body },
    { path, body: other },
  ]
}

const newLink = async () => `${V1}/payment-links/${(await makeLink(api)).uuid}`
const newTransfer = async () => `${PAYMENTS}/${(await requestTransfer()).uuid}`
const newEmail = () => `${randomUUID()}@example.com`
const newCustomer = async () =>
  `${CUSTOMERS}/${(await dataOf(api.post(CUSTOMERS, { ...CUSTOMER, email: newEmail() }))).uuid}`
const newMethod = async () => {
  const { customer, paymentMethod } = await payWith(api, 'card_success', {
    customer: { ...CUSTOMER, email: newEmail() },
  })
  return `${CUSTOMERS}/${customer.uuid}/payment-methods/${paymentMethod.uuid}`
}
// No server listens there, and no job delivers here.
const newEndpoint = async () =>
  `${ENDPOINTS}/${(await dataOf(api.post(ENDPOINTS, { url: `http://127.0.0.1:9/${randomUUID()}` }))).uuid}`
const newKey = async () =>
  `${KEYS}/${(await dataOf(api.post(KEYS, { name: 'One', scopes: ['wallet:read'] }))).keyId}`
const newPaid = async () => `${SANDBOX}/${(await payWith(api, 'card_success')).reference}`
const newCheckout = async () => {
  const { uuid } = await dataOf(api.post(`${V1}/checkout/initiate-payment`, initiateBody()))
  return `${V1}/checkout/payments/${uuid}`
}
const newCase = async () => {
  const { uuid } = await payWith(api, 'transfer_underpaid')
  return `${V1}/cases/${(await dataOf(api.get(`${V1}/cases?payment=${uuid}`)))[0].uuid}`
}
const newOpen = async () => {
  const { reference } = await dataOf(api.post(`${V1}/checkout/initiate-payment`, initiateBody()))
  return `${SANDBOX}/${reference}`
}
const newMarked = async () => {
  const { uuid } = await requestTransfer()
  await dataOf(act(uuid, 'mark-paid'))
  return `${PAYMENTS}/${uuid}`
}
const someEvent = async () => `${V1}/events/${(await dataOf(api.get(`${V1}/events?limit=1`)))[0].id}`

const REQUESTS: Record<string, (path: string) => Promise<[Request, Request]>> = {
  [`${V1}/checkout/initiate-payment`]: (path) => aboutOne(path, initiateBody(), initiateBody()),
  [`${V1}/charges/recurring`]: (path) => aboutOne(path, chargeBody(token), chargeBody(token)),
  [`${V1}/refunds`]: async (path) => {
    const { reference } = await payWith(api, 'card_success')
    return aboutOne(path, { reference, amount: 1 }, { reference, amount: 2 })
  },
  [`${V1}/checkout/payments/{uuid}/cancel`]: () => aboutTwo(newCheckout, '/cancel'),
  [`${V1}/cases/{uuid}/resolve`]: async () => {
    const body = { resolution: 'accept', note: 'Enough.' }
    return [
      { path: `${await newCase()}/resolve`, body },
      { path: `${await newCase()}/resolve`, body },
    ]
  },
  // From this amount on a second person decides.
  [`${V1}/cases/{uuid}/reject`]: () =>
    aboutTwo(async () => `${V1}/cases/${await newProposal(api, 50_000)}`, '/reject'),
  [`${V1}/payment-links`]: (path) => aboutOne(path, linkBody(), linkBody({ title: 'Another' })),
  [`${V1}/payment-links/{uuid}/deactivate`]: () => aboutTwo(newLink, '/deactivate'),
  [ACCOUNTS]: (path) => aboutOne(path, WALLET, BANK),
  [PAYMENTS]: (path) => aboutOne(path, p2pBody(), p2pBody()),
  [`${PAYMENTS}/{uuid}/mark-paid`]: () => aboutTwo(newTransfer, '/mark-paid'),
  [`${PAYMENTS}/{uuid}/confirm`]: async () =>
    aboutOne(`${await newTransfer()}/confirm`, { receivedAmount: 100 }, { receivedAmount: 200 }),
  [`${PAYMENTS}/{uuid}/reject`]: async () =>
    aboutOne(`${await newMarked()}/reject`, { reason: 'Not here' }, { reason: 'Not there' }),
  [`${PAYMENTS}/{uuid}/cancel`]: () => aboutTwo(newTransfer, '/cancel'),
  [CUSTOMERS]: (path) =>
    aboutOne(path, { ...CUSTOMER, email: newEmail() }, { ...CUSTOMER, email: newEmail() }),
  [`${CUSTOMERS}/{uuid}/block`]: async () =>
    aboutOne(`${await newCustomer()}/block`, { reason: 'This' }, { reason: 'That' }),
  [`${CUSTOMERS}/{uuid}/unblock`]: () => aboutTwo(newCustomer, '/unblock'),
  [`${CUSTOMERS}/{uuid}/payment-methods/{methodUuid}/default`]: () => aboutTwo(newMethod, '/default'),
  [ENDPOINTS]: (path) => aboutOne(path, { url: 'http://127.0.0.1:9/a' }, { url: 'http://127.0.0.1:9/b' }),
  [`${ENDPOINTS}/{uuid}/rotate-secret`]: async () =>
    aboutOne(`${await newEndpoint()}/rotate-secret`, { overlapHours: 1 }, { overlapHours: 0 }),
  [`${ENDPOINTS}/{uuid}/test`]: () => aboutTwo(newEndpoint, '/test'),
  [`${V1}/events/{uuid}/replay`]: async () => {
    const endpoint = (await newEndpoint()).slice(ENDPOINTS.length + 1)
    return aboutOne(`${await someEvent()}/replay`, {}, { endpoint })
  },
  [`${V1}/events/replay`]: (path) => {
    const [from, to] = ['2026-01-01T00:00:00.000Z', '2026-01-01T01:00:00.000Z']
    return aboutOne(path, { from, to }, { from, to, types: ['refund.failed'] })
  },
  [KEYS]: (path) =>
    aboutOne(path, { name: 'One', scopes: ['wallet:read'] }, { name: 'Two', scopes: ['wallet:read'] }),
  [`${KEYS}/{keyId}/rotate`]: () => aboutTwo(newKey, '/rotate'),
  [`${KEYS}/{keyId}/revoke`]: () => aboutTwo(newKey, '/revoke'),
  [`${SANDBOX}/{reference}/complete`]: async () =>
    aboutOne(`${await newOpen()}/complete`, { instrument: 'card_declined' }, { instrument: 'card_success' }),
  [`${SANDBOX}/{reference}/dispute`]: async () =>
    aboutOne(`${await newPaid()}/dispute`, { outcome: 'open' }, { outcome: 'lost' }),
  [`${SANDBOX}/{reference}/reverse`]: () => aboutTwo(newPaid, '/reverse'),
  [`${V1}/sandbox/clock/advance`]: (path) => aboutOne(path, { seconds: 1 }, { seconds: 2 }),
}

describe('an Idempotency-Key on every POST (F-05, F-48)', () => {
  const posts = operationsOf(service.openApi()).filter(({ method }) => method === 'POST')

  for (const { name, path } of posts) {
    it(`executes once, repeats the record and rejects another request with the same key: ${name}`, async () => {
      const requests = REQUESTS[path]
      assert.ok(requests, `there are no two requests of ${name}`)
      const [request, other] = await requests(path)
      const key = randomUUID()
      const first = await send(request, key)
      assert.ok(first.http < 300, first.text)
      assert.equal(isReplay(first), false)
      await assertNothingStored(db, service.demoKey, async () => {
        const again = await send(request, key)
        assert.deepEqual([again.http, isReplay(again)], [first.http, true], again.text)
        const { uuid, keyId, id } = first.body.data
        assert.deepEqual([again.body.data.uuid, again.body.data.keyId, again.body.data.id], [uuid, keyId, id])
        assertApiError(await send(other, key), 'idempotency_key_reused')
      })
      // Only the key was wrong. A client that lost the response gets the record with the same request.
      const otherKey = randomUUID()
      const triggered = failpoints.arm('api.before_send', 'throw')
      assert.equal((await send(other, otherKey)).http, 500)
      await triggered
      const accepted = await send(other, otherKey)
      assert.deepEqual([accepted.http, isReplay(accepted)], [first.http, true], accepted.text)
    })
  }

  it('rejects the Idempotency-Key of one operation on another with 422', async () => {
    const key = randomUUID()
    const transfer = await newTransfer()
    await dataOf(send({ path: `${transfer}/mark-paid` }, key))
    assertApiError(await send({ path: `${transfer}/reject` }, key), 'idempotency_key_reused')
    assertApiError(await send({ path: `${await newLink()}/deactivate` }, key), 'idempotency_key_reused')
  })
})

describe('a repeated change with its Idempotency-Key', () => {
  it('does not repeat a change when the record was changed since', async () => {
    const customer = await newCustomer()
    const key = randomUUID()
    assert.equal((await dataOf(send({ path: `${customer}/block` }, key))).status, 'blocked')
    await dataOf(api.post(`${customer}/unblock`, {}))
    assert.equal((await dataOf(send({ path: `${customer}/block` }, key))).status, 'active')

    const { uuid } = await requestTransfer()
    const part = { path: `${PAYMENTS}/${uuid}/confirm`, body: { receivedAmount: 3000 } }
    assert.equal((await dataOf(send(part, key.toUpperCase()))).transferStatus, 'underpaid')
    await dataOf(confirm(uuid, 5000))
    const again = await dataOf(send(part, key.toUpperCase()))
    assert.deepEqual([again.status, again.amountReceived], ['successful', '5000.00'])
  })

  it('releases the Idempotency-Key of a rejected change', async () => {
    const key = randomUUID()
    const { uuid } = await requestTransfer()
    const reject = { path: `${PAYMENTS}/${uuid}/reject`, body: {} }
    assertApiError(await send(reject, key), 'invalid_state')
    await dataOf(act(uuid, 'mark-paid'))
    const rejected = await send(reject, key)
    assert.deepEqual([rejected.http, isReplay(rejected)], [200, false])

    const reference = newReference()
    const complete = { path: `${SANDBOX}/${reference}/complete`, body: { instrument: 'card_success' } }
    const other = randomUUID()
    assertApiError(await send(complete, other), 'payment_not_found')
    await dataOf(api.post(`${V1}/checkout/initiate-payment`, initiateBody({ reference })))
    assert.equal((await dataOf(send(complete, other))).status, 'successful')
  })

  it('executes parallel repetitions of a change once', async () => {
    const customer = await newCustomer()
    const key = randomUUID()
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => send({ path: `${customer}/block`, body: { reason: 'Once' } }, key)),
    )
    assert.deepEqual(
      answers.map(({ http }) => http),
      answers.map(() => 200),
    )
    assert.equal(answers.filter((answer) => !isReplay(answer)).length, 1)
  })
})
