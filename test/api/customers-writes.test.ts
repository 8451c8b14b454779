import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import type { Api, ApiResponse } from '../support/api.ts'
import {
  assertApiError,
  assertNothingStored,
  assertSameApiError,
  UNKNOWN_UUID,
  UUID_V7,
} from '../support/assertions.ts'
import { untilBlocked } from '../support/blocked-sessions.ts'
import { CUSTOMER, chargeBody, initiateBody, payWith } from '../support/builders.ts'
import { createPayer } from '../support/payer.ts'
import { eventsOf } from '../support/payment-records.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after }, { env: { COWRY_RATE_LIMIT: '0' } })
const { db } = service

const CUSTOMERS = '/api/v1/customers'
const INITIATE = '/api/v1/checkout/initiate-payment'
const CHARGE = '/api/v1/charges/recurring'
const PERSON = { email: 'zuri@example.com', firstname: 'Zuri', lastname: 'Mwangi' }
const JSON_TYPE = { 'content-type': 'application/json' }

const patch = (api: Api, path: string, body: object) =>
  api.send('PATCH', path, { body: JSON.stringify(body), headers: JSON_TYPE })

async function create(api: Api, changes: object = {}) {
  const answer = await api.post(CUSTOMERS, { ...PERSON, ...changes })
  assert.equal(answer.http, 201, answer.text)
  return answer.body.data
}

describe('writes to customers', () => {
  it('requires a key with the scope, and a customer of the merchant, for every write', async () => {
    const [mine, theirs] = [await service.newMerchant(), await service.newMerchant()]
    const reader = await service.newMerchant(['customers:read'])
    const { uuid } = await create(theirs.api)
    const writes = (customer: string): ((api: Api) => ReturnType<Api['get']>)[] => [
      (api) => patch(api, `${CUSTOMERS}/${customer}`, { firstname: 'Ama' }),
      (api) => api.post(`${CUSTOMERS}/${customer}/block`, {}),
      (api) => api.post(`${CUSTOMERS}/${customer}/unblock`, {}),
      (api) => api.send('DELETE', `${CUSTOMERS}/${customer}/payment-methods/${UNKNOWN_UUID}`),
      (api) => api.post(`${CUSTOMERS}/${customer}/payment-methods/${UNKNOWN_UUID}/default`, {}),
    ]
    const unknown = writes(UNKNOWN_UUID)
    for (const [index, write] of writes(uuid).entries()) {
      assertApiError(await write(service.apiWith(undefined)), 'missing_api_key')
      assertApiError(await write(reader.api), 'insufficient_scope')
      const missing = await unknown[index]?.(mine.api)
      assert.ok(missing)
      assertSameApiError(await write(mine.api), missing, 'customer_not_found')
    }
    for (const write of writes('not-a-uuid')) assertApiError(await write(mine.api), 'invalid_uuid')
    assertApiError(await service.apiWith(undefined).post(CUSTOMERS, PERSON), 'missing_api_key')
    assertApiError(await reader.api.post(CUSTOMERS, PERSON), 'insufficient_scope')
    assert.equal((await theirs.api.get(`${CUSTOMERS}/${uuid}`)).body.data.firstname, 'Zuri')
  })
})

describe('creating a customer', () => {
  it('creates a customer, returns the record as reading does, and emits one event', async () => {
    const { api } = await service.newMerchant()
    const customer = await create(api, {
      country: 'ke',
      phone: '+254712345678',
      metadata: { tier: 1, x: null },
    })
    assert.match(customer.uuid, UUID_V7)
    assert.equal(customer.country, 'KE')
    assert.deepEqual(customer.metadata, { tier: 1, x: null })
    assert.deepEqual((await api.get(`${CUSTOMERS}/${customer.uuid}`)).body.data, customer)
    const events = await eventsOf(db, customer.uuid)
    assert.deepEqual(
      events.map(({ type, version }) => `${type} ${version}`),
      ['customer.created 1'],
    )
    assert.deepEqual(events[0]?.body.data, customer)
    assert.deepEqual((await api.get(`${CUSTOMERS}?search=zuri`)).body.data, [customer])
  })

  it('rejects a known e-mail in any case, and names the customer', async () => {
    const { api } = await service.newMerchant()
    const { uuid } = await create(api)
    const again = await api.post(CUSTOMERS, { ...PERSON, email: 'Zuri@Example.com' })
    assert.deepEqual(assertApiError(again, 'customer_exists'), ['email: customer_exists'])
    assert.ok(again.body.message.includes(uuid), again.body.message)
  })

  it('creates one customer per Idempotency-Key, also for parallel requests', async () => {
    const { api } = await service.newMerchant()
    const key = { 'Idempotency-Key': 'zuri-1' }
    const answers = await Promise.all(Array.from({ length: 8 }, () => api.post(CUSTOMERS, PERSON, key)))
    assert.deepEqual([...new Set(answers.map(({ http }) => http))], [201])
    assert.equal(new Set(answers.map(({ body }) => body.data.uuid)).size, 1)
    const fresh = answers.filter(({ headers }) => headers.get('idempotent-replayed') === null)
    assert.equal(fresh.length, 1)
    const other = await api.post(CUSTOMERS, { ...PERSON, firstname: 'Ama' }, key)
    assertApiError(other, 'idempotency_key_reused')
    // A rejected request stores nothing and releases its key.
    const refused = { 'Idempotency-Key': 'zuri-2' }
    assertApiError(await api.post(CUSTOMERS, PERSON, refused), 'customer_exists')
    const used = await api.post(CUSTOMERS, { ...PERSON, email: 'second@example.com' }, refused)
    assert.equal(used.http, 201, used.text)
  })

  it('creates one customer and one event when parallel requests create and pay with the same e-mail', async () => {
    const { api } = await service.newMerchant()
    const work = Array.from({ length: 10 }, (_, n) =>
      n % 2 ? api.post(CUSTOMERS, PERSON) : api.post(INITIATE, initiateBody({ customer: PERSON })),
    )
    for (const answer of await Promise.all(work)) assert.ok([201, 409].includes(answer.http), answer.text)
    const [customer, ...others] = (await api.get(CUSTOMERS)).body.data
    assert.deepEqual(others, [])
    assert.equal((await eventsOf(db, customer.uuid)).length, 1)
  })

  it('rejects an invalid customer with all issues at once, and stores nothing', async () => {
    const { api } = await service.newMerchant()
    await assertNothingStored(db, service.demoKey, async () => {
      const wrong = { email: 'nobody', firstname: ' ', country: 'QQ', phone: '0712 345 678', metadata: [] }
      assert.deepEqual(assertApiError(await api.post(CUSTOMERS, wrong), 'validation_failed').sort(), [
        'country: invalid_format',
        'email: invalid_format',
        'firstname: invalid_format',
        'lastname: required',
        'metadata: invalid_type',
        'phone: invalid_format',
      ])
      const card = await api.post(CUSTOMERS, { ...PERSON, lastname: '4242 4242 4242 4242' })
      assert.deepEqual(assertApiError(card, 'card_data_not_allowed'), ['lastname: card_data_not_allowed'])
      const mailbox = await api.post(CUSTOMERS, { ...PERSON, email: '4242424242424242@example.com' })
      assert.deepEqual(assertApiError(mailbox, 'card_data_not_allowed'), ['email: card_data_not_allowed'])
      const many = Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, n]))
      assertApiError(await api.post(CUSTOMERS, { ...PERSON, metadata: many }), 'validation_failed')
    })
  })
})

describe('the event of a new customer', () => {
  it('emits customer.created with the first payment only, with the record of that moment', async () => {
    const { api } = await service.newMerchant()
    const person = { ...PERSON, country: 'ke' }
    const { customer } = (await api.post(INITIATE, initiateBody({ customer: person }))).body.data
    const shown = (await api.get(`${CUSTOMERS}/${customer.uuid}`)).body.data
    await api.post(INITIATE, initiateBody({ customer: { ...person, firstname: 'Zuriel' } }))
    const events = await eventsOf(db, customer.uuid)
    assert.equal(events.length, 1)
    const { body, id } = events[0] ?? assert.fail('there is one')
    assert.deepEqual(body, {
      id,
      type: 'customer.created',
      apiVersion: '1.0',
      mode: 'test',
      createdAt: shown.createdAt,
      resource: { type: 'customer', uuid: customer.uuid, version: 1 },
      data: shown,
    })
  })
})

describe('changing a customer', () => {
  it('changes only the given fields of a customer, and the search finds the new values', async () => {
    const { api } = await service.newMerchant()
    const before = await create(api, { country: 'KE', phone: '+254712345678' })
    const path = `${CUSTOMERS}/${before.uuid}`
    const { body } = await patch(api, path, { firstname: 'Amani', phone: null })
    assert.deepEqual(body.data, { ...before, firstname: 'Amani', updatedAt: body.data.updatedAt })
    assert.ok(body.data.updatedAt >= before.updatedAt)
    assert.equal((await api.get(`${CUSTOMERS}?search=amani`)).body.meta.total, 1)
    assert.equal((await api.get(`${CUSTOMERS}?search=zuri%20`)).body.meta.total, 0)
    const cleared = (await patch(api, path, { country: '', phone: '' })).body.data
    assert.deepEqual([cleared.country, cleared.phone], [null, null])
    assert.deepEqual((await api.get(path)).body.data, cleared)
  })

  it('merges metadata by key: a value replaces, null removes, other keys stay', async () => {
    const { api } = await service.newMerchant()
    const { uuid } = await create(api, { metadata: { a: 1, b: { c: 2 }, d: 3 } })
    const changes = { b: { e: 4 }, d: null, f: 5 }
    const { body } = await patch(api, `${CUSTOMERS}/${uuid}`, { metadata: changes })
    assert.deepEqual(body.data.metadata, { a: 1, b: { e: 4 }, f: 5 })
    const many = (from: number) =>
      Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`k${from + n}`, n]))
    assert.equal((await patch(api, `${CUSTOMERS}/${uuid}`, { metadata: many(0) })).http, 200)
    const beyond = await patch(api, `${CUSTOMERS}/${uuid}`, { metadata: many(40) })
    assert.deepEqual(assertApiError(beyond, 'validation_failed'), ['metadata: too_long'])
  })

  it('loses none of the parallel changes to a customer', async () => {
    const { api } = await service.newMerchant()
    const { uuid } = await create(api)
    const keys = Array.from({ length: 12 }, (_, n) => `key${n}`)
    await Promise.all(keys.map((key) => patch(api, `${CUSTOMERS}/${uuid}`, { metadata: { [key]: 1 } })))
    const { metadata } = (await api.get(`${CUSTOMERS}/${uuid}`)).body.data
    assert.deepEqual(Object.keys(metadata).sort(), keys.sort())
  })

  it('moves an e-mail with all saved methods, unless another customer has it', async () => {
    const { api } = await service.newMerchant()
    const paid = await payWith(api, 'card_success')
    const path = `${CUSTOMERS}/${paid.customer.uuid}`
    await create(api)
    const taken = await patch(api, path, { email: 'ZURI@example.com' })
    assert.deepEqual(assertApiError(taken, 'customer_exists'), ['email: customer_exists'])
    assert.equal((await patch(api, path, { email: 'New@example.com' })).body.data.email, 'New@example.com')
    const token = paid.paymentMethod.recurringToken
    assertApiError(await api.post(CHARGE, chargeBody(token)), 'customer_mismatch')
    const customer = { ...CUSTOMER, email: 'new@example.com' }
    const charge = await api.post(CHARGE, chargeBody(token, { customer }))
    assert.equal(charge.body.data.status, 'successful')
    assert.equal(charge.body.data.customer.uuid, paid.customer.uuid)
  })
})

describe('a blocked customer', () => {
  it('rejects payments and charges of a blocked customer until unblocked, and still answers retries of accepted ones', async () => {
    const { api } = await service.newMerchant()
    const paid = await payWith(api, 'card_success')
    const token = paid.paymentMethod.recurringToken
    const [accepted, charged] = [initiateBody(), chargeBody(token)]
    await api.post(INITIATE, accepted)
    await api.post(CHARGE, charged)
    const path = `${CUSTOMERS}/${paid.customer.uuid}`
    const { body } = await api.post(`${path}/block`, { reason: 'Two chargebacks' })
    assert.equal(`${body.data.status}: ${body.data.statusReason}`, 'blocked: Two chargebacks')

    await assertNothingStored(db, service.demoKey, async () => {
      const key = { 'Idempotency-Key': 'blocked-1' }
      assertApiError(await api.post(INITIATE, initiateBody(), key), 'customer_blocked')
      assertApiError(await api.post(CHARGE, chargeBody(token), key), 'customer_blocked')
    })
    for (const [operation, request] of [
      [INITIATE, accepted],
      [CHARGE, charged],
    ] as const) {
      const replay = await api.post(operation, request)
      assert.equal(`${replay.http} ${replay.headers.get('idempotent-replayed')}`, '201 true')
    }
    const refused = await api.post(INITIATE, { ...accepted, amount: 7 })
    assertApiError(refused, 'duplicate_reference')

    const active = (await api.post(`${path}/unblock`, {})).body.data
    assert.equal(`${active.status} ${active.statusReason}`, 'active null')
    assert.equal((await api.post(INITIATE, initiateBody())).http, 201)
    assert.equal((await api.post(CHARGE, chargeBody(token))).body.data.status, 'successful')
  })

  it('shows a blocked customer a polite refusal on an open checkout, in the payer’s language', async () => {
    const { api } = await service.newMerchant()
    const { checkoutUrl, customer, reference } = (await api.post(INITIATE, initiateBody())).body.data
    await api.post(`${CUSTOMERS}/${customer.uuid}/block`, {})
    const payer = createPayer()
    const refused = await payer.choose(await payer.open(checkoutUrl), 'card')
    assert.match(refused.html, /role="alert"[^>]*><p>Another Shop cannot take this payment from you/)
    const french = await payer.open(`${checkoutUrl}?problem=refused&lang=fr`)
    assert.match(french.html, /ne peut pas accepter ce paiement/)
    const played = await api.post(`/api/v1/sandbox/payments/${reference}/complete`, {
      instrument: 'card_success',
    })
    assertApiError(played, 'customer_blocked')
    const verified = await api.get(`/api/v1/checkout/verify-payment?reference=${reference}`)
    assert.equal(verified.body.data.status, 'pending')
    assert.deepEqual(verified.body.data.attempts, [])
  })

  it('does not interrupt the attempt of a customer who is blocked meanwhile, and credits it', async () => {
    const { api } = await service.newMerchant()
    const { checkoutUrl, customer, uuid } = (await api.post(INITIATE, initiateBody())).body.data
    const payer = createPayer()
    const cardPage = await payer.goToCardPage(await payer.open(checkoutUrl))
    await api.post(`${CUSTOMERS}/${customer.uuid}/block`, {})
    await payer.submit(cardPage, '', { instrument: 'card_success', action: 'pay' })
    const { data } = (await api.get(`/api/v1/checkout/payments/${uuid}`)).body
    assert.equal(data.status, 'successful')
  })

  it('applies the transaction that commits first, the block or the payment', async () => {
    const { api, uuid } = await service.newMerchant()
    const { paymentMethod, customer } = await payWith(api, 'card_success')
    const token = paymentMethod.recurringToken
    const block = sql`update customers set status = 'blocked' where merchant_id = $1 and id = $2`
    const whileBlocking = async (ends: 'commit' | 'rollback', send: () => Promise<ApiResponse>) => {
      let request: Promise<ApiResponse> | undefined
      const blocking = db.transaction(async (tx) => {
        await tx.query(block, [uuid, customer.uuid])
        request = send()
        await untilBlocked(tx)
        if (ends === 'rollback') throw new Error('rolled back')
      })
      await blocking.catch((error: Error) => assert.equal(error.message, 'rolled back'))
      const answer = await request
      return answer?.body.error?.code ?? answer?.http
    }
    const initiate = () => api.post(INITIATE, initiateBody())
    const charge = () => api.post(CHARGE, chargeBody(token))
    for (const send of [initiate, charge]) assert.equal(await whileBlocking('rollback', send), 201)
    assert.equal(await whileBlocking('commit', initiate), 'customer_blocked')
    await api.post(`${CUSTOMERS}/${customer.uuid}/unblock`, {})
    assert.equal(await whileBlocking('commit', charge), 'customer_blocked')
  })

  it('keeps the time and reason of a block when it is repeated', async () => {
    const { api } = await service.newMerchant()
    const { uuid } = await create(api)
    const first = (await api.post(`${CUSTOMERS}/${uuid}/block`, { reason: 'Fraud' })).body.data
    const again = (await api.post(`${CUSTOMERS}/${uuid}/block`, {})).body.data
    assert.deepEqual(again, first)
    const long = await api.post(`${CUSTOMERS}/${uuid}/block`, { reason: 'x'.repeat(256) })
    assert.deepEqual(assertApiError(long, 'validation_failed'), ['reason: too_long'])
    const card = await api.post(`${CUSTOMERS}/${uuid}/block`, { reason: 'used 4242424242424242' })
    assertApiError(card, 'card_data_not_allowed')
  })
})
