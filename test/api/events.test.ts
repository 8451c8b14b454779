import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { EVENT, type StoredEvent, toEventRow } from '../../src/events/event.ts'
import { sql } from '../../src/kit/db/db.ts'
import { assertKeys, ISO_TIME, UUID_V7 } from '../support/assertions.ts'
import { CUSTOMER, chargeBody, initiateBody, payWith, saveMethod } from '../support/builders.ts'
import { createPayer } from '../support/payer.ts'
import { eventsOf, movesOf, pathOf } from '../support/payment-records.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { api, db } = service

/** A checkout that was declined once and then paid. */
async function payAfterDecline() {
  const declined = await payWith(api, 'card_declined', { metadata: { order: 7 } })
  const path = `/api/v1/sandbox/payments/${declined.reference}/complete`
  return (await api.post(path, { instrument: 'card_success' })).body.data
}

async function charge(instrument: string) {
  const customer = { ...CUSTOMER, email: `${instrument}@example.com` }
  const token = await saveMethod(api, instrument, { customer })
  const answer = await api.post('/api/v1/charges/recurring', chargeBody(token, { customer }))
  return answer.body.data
}

describe('events of payments', () => {
  it('writes one event per status, in the order of the statuses', async () => {
    const { uuid } = await payAfterDecline()
    const path = await pathOf(db, uuid)
    const events = await eventsOf(db, uuid)
    assert.deepEqual(
      events.map(({ type }) => type),
      [
        ...['payment.pending', 'payment.processing', 'payment.pending', 'payment.processing'],
        'payment.successful',
      ],
    )
    assert.deepEqual(
      events.map(({ type }) => type),
      path.map((status) => `payment.${status}`),
    )
  })

  it('writes an event body of the documented shape', async () => {
    const { uuid } = await payAfterDecline()
    for (const { id, type, version, resourceType, createdAt, body } of await eventsOf(db, uuid)) {
      assertKeys(body, ['id', 'type', 'apiVersion', 'mode', 'createdAt', 'resource', 'data'])
      assert.match(id, UUID_V7)
      assert.equal(body.id, id)
      assert.equal(body.type, type)
      assert.equal(body.apiVersion, '1.0')
      assert.equal(body.mode, 'test')
      assert.match(body.createdAt, ISO_TIME)
      assert.equal(body.createdAt, createdAt.toISOString())
      assert.equal(resourceType, 'payment')
      assert.deepEqual(body.resource, { type: 'payment', uuid, version })
      assert.equal(body.data.uuid, uuid)
      assert.equal(`payment.${body.data.status}`, type)
    }
  })

  it('increments the version by one, so that a consumer can drop stale events', async () => {
    const { uuid } = await payAfterDecline()
    const versions = (await eventsOf(db, uuid)).map(({ body }) => body.resource.version)
    assert.deepEqual(versions, [1, 2, 3, 4, 5])
  })

  it('contains the record as the API returns it at that moment, without secrets', async () => {
    const shown = await payAfterDecline()
    const last = (await eventsOf(db, shown.uuid)).at(-1)
    assert.deepEqual(last?.body.data, {
      ...shown,
      accessCode: null,
      checkoutUrl: null,
      paymentMethod: { ...shown.paymentMethod, recurringToken: null },
    })
    const [first] = await eventsOf(db, shown.uuid)
    assert.equal(first?.body.data.customer.uuid, shown.customer.uuid, 'the customer existed before')
    assert.deepEqual(first?.body.data.attempts, [])
    assert.deepEqual(first?.body.data.metadata, { order: 7 })
  })

  it('contains the charge in the event of a charge', async () => {
    const paid = await charge('card_success')
    const events = await eventsOf(db, paid.uuid)
    assert.deepEqual(
      events.map(({ type, body }) => `${type} ${body.resource.type} ${body.resource.version}`),
      ['charge.processing charge 1', 'charge.successful charge 2'],
    )
    assert.deepEqual(events.at(-1)?.body.data, paid)
    assert.equal(events[0]?.body.data.statusReason, 'outcome_unknown')
  })

  it('contains the reason in the event of a failed charge', async () => {
    const failed = await charge('card_declined_later')
    const last = (await eventsOf(db, failed.uuid)).at(-1)
    assert.equal(last?.type, 'charge.failed')
    assert.deepEqual(last?.body.data.failure, failed.failure)
    assert.equal(last?.body.data.failure.code, 'insufficient_funds')
  })

  it('emits an event when the merchant cancels, and none when the payer cancels', async () => {
    const { data } = (await api.post('/api/v1/checkout/initiate-payment', initiateBody())).body
    const payer = createPayer()
    await payer.postForm(await payer.open(data.checkoutUrl), '/cancel')
    assert.equal((await eventsOf(db, data.uuid)).length, 1)
    await api.post(`/api/v1/checkout/payments/${data.uuid}/cancel`, {})
    const types = (await eventsOf(db, data.uuid)).map(({ type }) => type)
    assert.deepEqual(types, ['payment.pending', 'payment.abandoned'])
    const [abandoned] = await movesOf(db, data.uuid)
    assert.equal(abandoned?.proof, 'merchant')
  })
})

const selectEvents = sql<StoredEvent>`select ${EVENT.select()} from events`

describe('the stored events', () => {
  it('have less than a third of the bytes of their JSON, of a charge', async () => {
    const { uuid } = await charge('card_success')
    for (const event of await eventsOf(db, uuid)) {
      const [stored, json] = [event.packed?.length ?? Number.NaN, JSON.stringify(event.body).length]
      assert.ok(stored * 3 < json, `${event.type}: ${stored} of ${json}`)
    }
  })

  it('stores no access code, no recurring token and no gateway token in an event', async () => {
    const paid = await payAfterDecline()
    const recovered = await charge('card_auth_required_later')
    const secrets = [
      paid.accessCode,
      paid.paymentMethod.recurringToken,
      recovered.recovery.checkoutUrl.split('/').at(-1),
    ]
    const events = await db.query(selectEvents)
    assert.ok(events.length > 10)
    for (const event of events) {
      const text = JSON.stringify(toEventRow(event).body)
      assert.ok(!secrets.some((secret) => text.includes(secret)))
      assert.doesNotMatch(text, /rtk_[0-9A-Za-z]|tok_[0-9a-f]|\/pay\//)
    }
  })
})
