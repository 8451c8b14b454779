import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { API_ERRORS } from '../../src/core/errors.ts'
import type { Api } from '../support/api.ts'
import {
  assertApiError,
  assertKeys,
  assertSameApiError,
  ISO_TIME,
  UNKNOWN_UUID,
  UUID_V7,
} from '../support/assertions.ts'
import { chargeBody, initiateBody, newReference, payWith, saveMethod } from '../support/builders.ts'
import { tickingClock } from '../support/fake-clock.ts'
import { eventsOf, pathOf, postingsOf } from '../support/payment-records.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const PATH = '/api/v1/refunds'
const FEES = { sandbox: { GHS: { fixed: '3' } } }
const HOUR_MS = 3_600_000

const clock = tickingClock()
const service = await testService({ after }, { clock, env: { COWRY_FEES: JSON.stringify(FEES) } })
const { api, db } = service

const REFUND_FIELDS = [
  ...[
    'uuid',
    'status',
    'statusReason',
    'refundReference',
    'paymentUuid',
    'paymentReference',
    'amount',
    'currency',
  ],
  ...['source', 'gatewayReference', 'gatewayKey'],
  ...['reason', 'metadata', 'paymentGateway', 'isDuplicate', 'failure', 'createdAt', 'updatedAt'],
]

/** A partial refund gets a reference. */
async function refund(body: object, by: Api = api) {
  const answer = await by.post(PATH, {
    ...('amount' in body && { refundReference: newReference() }),
    ...body,
  })
  assert.equal(answer.http, 201, answer.text)
  return answer.body.data
}

async function readPayment(uuid: string, by: Api = api) {
  return (await by.get(`/api/v1/checkout/payments/${uuid}`)).body.data
}

async function refundedAmounts(reference: string, by: Api = api): Promise<string[]> {
  const { body } = await by.get(`/api/v1/sandbox/executions?reference=${reference}`)
  const refunds = body.data.filter(({ kind }: { kind: string }) => kind === 'refund')
  return refunds.map(({ amount }: { amount: string }) => amount)
}

const ended = (uuid: string) =>
  eventually(
    async () => (await api.get(`${PATH}/${uuid}`)).body.data,
    ({ status }) => status !== 'pending',
    10_000,
  )

async function balance(by: Api, currency: string) {
  const { availableBalance, pendingBalance } = (await by.get(`/api/v1/wallet/balance?currency=${currency}`))
    .body.data
  return [availableBalance, pendingBalance]
}

describe('POST /api/v1/refunds', () => {
  it('rejects a refund without a key', async () => {
    const answer = await service.apiWith(undefined).post(PATH, { reference: 'order' })
    assertApiError(answer, 'missing_api_key')
  })

  it('answers the same for a refund of another merchant’s payment as for an unknown one', async () => {
    const { uuid, reference } = await payWith(api, 'card_success')
    const other = await service.newMerchant()
    const theirs = await other.api.post(PATH, { uuid })
    assertSameApiError(theirs, await other.api.post(PATH, { uuid: UNKNOWN_UUID }), 'payment_not_found')
    const unknown = await other.api.post(PATH, { reference: 'no-such-reference' })
    assertSameApiError(await other.api.post(PATH, { reference }), unknown, 'payment_not_found')
    assert.equal((await readPayment(uuid)).status, 'successful')
  })

  it('requires the scope refunds:write to refund, and names it', async () => {
    const other = await service.newMerchant(['checkout:write', 'checkout:read', 'charges:write'])
    const answer = await other.api.post(PATH, { reference: 'order' })
    assertApiError(answer, 'insufficient_scope')
    assert.match(answer.body.message, /refunds:write/)
  })

  it('refunds the whole payment, and returns exactly the documented fields', async () => {
    const payment = await payWith(api, 'card_success')
    const body = { reference: payment.reference, reason: 'Broken', metadata: { ticket: 7 } }
    const answer = await api.post(PATH, body)
    assert.equal(answer.http, 201, answer.text)
    assertKeys(answer.body, ['status', 'message', 'data'])
    const { data } = answer.body
    assertKeys(data, REFUND_FIELDS)
    assert.match(data.uuid, UUID_V7)
    for (const time of [data.createdAt, data.updatedAt]) assert.match(time, ISO_TIME)
    assert.deepEqual(
      [data.status, data.amount, data.currency, data.reason, data.metadata, data.failure],
      ['successful', '1250.50', 'KES', 'Broken', { ticket: 7 }, null],
    )
    assert.deepEqual([data.paymentUuid, data.paymentReference], [payment.uuid, payment.reference])
    const { status, refundedAmount, amountPaid } = await readPayment(payment.uuid)
    assert.deepEqual([status, refundedAmount, amountPaid], ['refunded', '1250.50', '1250.50'])
    assert.deepEqual(await refundedAmounts(payment.reference), ['1250.50'])
  })

  it('refunds in parts: the first and the last move the payment, each emits an event', async () => {
    const { uuid, reference } = await payWith(api, 'card_success', { amount: 100 })
    const parts = [await refund({ uuid, amount: 30 }), await refund({ uuid, amount: 20.5 })]
    assert.equal((await readPayment(uuid)).status, 'partially_refunded')
    assert.equal((await readPayment(uuid)).refundedAmount, '50.50')
    parts.push(await refund({ uuid }))
    assert.deepEqual(
      parts.map(({ amount }) => amount),
      ['30.00', '20.50', '49.50'],
    )
    assert.deepEqual((await pathOf(db, uuid)).slice(-3), ['successful', 'partially_refunded', 'refunded'])
    const emittedEvents = (await eventsOf(db, uuid)).slice(-2)
    assert.deepEqual(
      emittedEvents.map(({ type, body }) => [type, body.data.status, body.data.refundedAmount]),
      [
        ['payment.refunded', 'partially_refunded', '30.00'],
        ['payment.refunded', 'refunded', '100.00'],
      ],
    )
    assert.deepEqual(await refundedAmounts(reference), ['30.00', '20.50', '49.50'])
    for (const part of parts) {
      const events = await eventsOf(db, part.uuid)
      assert.deepEqual(
        events.map(({ type, version }) => `${type} ${version}`),
        ['refund.pending 1', 'refund.successful 2'],
      )
      assert.deepEqual(events[1]?.body.data, part)
    }
  })

  it('refunds a charge, whose status then shows it', async () => {
    const token = await saveMethod(api, 'card_success')
    const charge = (await api.post('/api/v1/charges/recurring', chargeBody(token))).body.data
    assert.equal(charge.refundedAmount, '0.00')
    await refund({ uuid: charge.uuid, amount: 40 })
    const { data } = (await api.get(`/api/v1/charges/${charge.uuid}`)).body
    assert.deepEqual([data.status, data.refundedAmount], ['partially_refunded', '40.00'])
    const [last] = (await eventsOf(db, charge.uuid)).slice(-1)
    assert.equal(last?.type, 'charge.refunded')
    assert.equal(last?.body.data.refundedAmount, '40.00')
  })

  it('rejects a refund above the remaining amount, and returns that amount', async () => {
    const { uuid } = await payWith(api, 'card_success', { amount: 100 })
    await refund({ uuid, amount: 60 })
    const answer = await api.post(PATH, { uuid, refundReference: newReference(), amount: 40.01 })
    assertApiError(answer, 'refund_exceeds_amount')
    assert.match(answer.body.message, /40\.00 KES/)
    await refund({ uuid, amount: 40 })
    assertApiError(await api.post(PATH, { uuid }), 'invalid_state')
  })

  it('names the refund that was made if a refund of the whole payment is repeated', async () => {
    const { uuid } = await payWith(api, 'card_success', { amount: 100 })
    const first = await refund({ uuid })
    const again = await api.post(PATH, { uuid })
    assertApiError(again, 'invalid_state')
    assert.ok(
      again.body.message.endsWith(` Its latest refund is ${first.uuid}: 100.00 KES, successful.`),
      again.text,
    )
  })

  it('rejects the refund of an unpaid payment', async () => {
    for (const instrument of ['card_declined', 'mobile_cancelled']) {
      const { uuid } = await payWith(api, instrument)
      assertApiError(await api.post(PATH, { uuid }), 'invalid_state')
    }
    const open = await api.post('/api/v1/checkout/initiate-payment', initiateBody())
    assertApiError(await api.post(PATH, { uuid: open.body.data.uuid }), 'invalid_state')
  })

  it('rejects an invalid refund with all issues at once, and stores nothing', async () => {
    const { uuid, reference } = await payWith(api, 'card_success', {
      currency: 'XOF',
      amount: 500,
      country: 'SN',
    })
    const refusals: [object, keyof typeof API_ERRORS][] = [
      [{}, 'missing_reference'],
      [{ reference: null, uuid: null }, 'missing_reference'],
      [{ uuid: 'nonsense' }, 'invalid_uuid'],
      [{ reference: '' }, 'validation_failed'],
      [{ reference, amount: 0 }, 'amount_out_of_range'],
      [{ reference, amount: -5 }, 'amount_out_of_range'],
      [{ reference, amount: 1e12 }, 'amount_out_of_range'],
      [{ reference, amount: 1.5 }, 'amount_precision'],
      [{ reference, amount: '5' }, 'validation_failed'],
      [{ reference, amount: null }, 'validation_failed'],
      [{ reference, reason: 'a'.repeat(256) }, 'validation_failed'],
      [{ reference, reason: 'card 4242 4242 4242 4242' }, 'card_data_not_allowed'],
      [{ reference, metadata: { note: 'a'.repeat(501) } }, 'validation_failed'],
      [{ reference: 'no-such-reference' }, 'payment_not_found'],
      [{ reference, paymentReference: `${reference}-2` }, 'validation_failed'],
      [{ paymentUuid: uuid, uuid: UNKNOWN_UUID }, 'validation_failed'],
      [{ reference, refundReference: '' }, 'validation_failed'],
      [{ reference, refundReference: ' padded ' }, 'validation_failed'],
      [{ reference, refundReference: 'a'.repeat(101) }, 'validation_failed'],
      [{ reference, amont: 100 }, 'unknown_field'],
    ]
    const another = await payWith(api, 'card_success')
    for (const two of [another.reference, 'no-such-reference'])
      refusals.push([{ uuid, reference: two }, 'validation_failed'])
    for (const [body, code] of refusals) assertApiError(await api.post(PATH, body), code)
    const lossy = await api.postText(PATH, `{"reference":"${reference}","amount":1.0000000000000000001}`)
    assertApiError(lossy, 'amount_precision')
    const both = await api.post(PATH, { reference: '', amount: '5' })
    assert.deepEqual(assertApiError(both, 'validation_failed').length, 2)
    assert.equal((await api.get(`${PATH}?payment=${uuid}`)).body.meta.total, 0)
    await refund({ uuid, reference, amount: 500, reason: null, metadata: null })
  })

  it('repeats a refund for the same Idempotency-Key, also when nothing is left', async () => {
    const { reference } = await payWith(api, 'card_success')
    const headers = { 'idempotency-key': `refund-${reference}` }
    const answers = await Promise.all(Array.from({ length: 8 }, () => api.post(PATH, { reference }, headers)))
    for (const answer of answers) assert.equal(answer.http, 201, answer.text)
    assert.equal(new Set(answers.map(({ body }) => body.data.uuid)).size, 1)
    const replayed = answers.filter((answer) => answer.headers.get('idempotent-replayed') === 'true')
    assert.equal(replayed.length, 7)
    const late = await api.post(PATH, { reference }, headers)
    assert.deepEqual([late.http, late.body.data.status], [201, 'successful'])
    assert.deepEqual(await refundedAmounts(reference), ['1250.50'])
    assertApiError(await api.post(PATH, { reference, amount: 1 }, headers), 'idempotency_key_reused')
  })

  it('makes one refund of 20 identical concurrent partial refunds with one refundReference', async () => {
    const { uuid, reference } = await payWith(api, 'card_success', { amount: 100 })
    const body = { paymentReference: reference, refundReference: newReference(), amount: 30 }
    const answers = await Promise.all(Array.from({ length: 20 }, () => api.post(PATH, body)))
    for (const answer of answers) assert.equal(answer.http, 201, answer.text)
    assert.equal(new Set(answers.map((answer) => answer.body.data.uuid)).size, 1)
    const replayed = answers.filter((answer) => answer.headers.get('idempotent-replayed') === 'true')
    assert.equal(replayed.length, 19)
    assert.deepEqual(await refundedAmounts(reference), ['30.00'])
    const late = await api.post(PATH, body)
    assert.deepEqual([late.http, late.body.data.refundReference], [201, body.refundReference])
    assert.equal(late.body.data.uuid, answers[0]?.body.data.uuid)
    assert.equal((await readPayment(uuid)).refundedAmount, '30.00')
  })

  it('replays a refundReference when nothing is left, and points a new Idempotency-Key at its refund', async () => {
    const { uuid } = await payWith(api, 'card_success', { amount: 100 })
    const body = { paymentUuid: uuid, refundReference: newReference() }
    const first = await refund(body)
    const headers = { 'idempotency-key': newReference() }
    const again = await api.post(PATH, body, headers)
    assert.deepEqual([again.http, again.body.data.uuid], [201, first.uuid])
    assert.equal(again.headers.get('idempotent-replayed'), 'true')
    const keyed = await api.post(PATH, body, headers)
    assert.equal(keyed.body.data.uuid, first.uuid)
    const other = { ...body, refundReference: newReference() }
    assertApiError(await api.post(PATH, other, headers), 'idempotency_key_reused')
  })

  it('rejects a used refundReference with another body or for another payment, and names the refund', async () => {
    const one = await payWith(api, 'card_success', { amount: 100 })
    const two = await payWith(api, 'card_success', { amount: 100 })
    const body = { paymentUuid: one.uuid, refundReference: newReference(), amount: 30 }
    const made = await refund(body)
    for (const change of [{ amount: 31 }, { paymentUuid: two.uuid }, { reason: 'Another' }]) {
      const answer = await api.post(PATH, { ...body, ...change })
      assertApiError(answer, 'duplicate_reference')
      assert.match(answer.body.message, new RegExp(made.uuid))
    }
    assert.equal((await readPayment(one.uuid)).refundedAmount, '30.00')
    assert.equal((await readPayment(two.uuid)).refundedAmount, '0.00')
  })

  it('allows two merchants to use one refundReference', async () => {
    const { api: other } = await service.newMerchant()
    const refundReference = newReference()
    for (const by of [api, other]) {
      const { uuid } = await payWith(by, 'card_success')
      assert.equal((await refund({ uuid, refundReference }, by)).paymentUuid, uuid)
    }
  })

  it('rejects a partial refund that a retry could repeat, and says what to send', async () => {
    const { uuid } = await payWith(api, 'card_success', { amount: 100 })
    const answer = await api.post(PATH, { uuid, amount: 30 })
    assertApiError(answer, 'idempotency_required')
    assert.match(answer.body.message, /refundReference.*Idempotency-Key/)
    const keyed = await api.post(PATH, { uuid, amount: 30 }, { 'idempotency-key': newReference() })
    assert.equal(keyed.http, 201, keyed.text)
    const whole = await payWith(api, 'card_success', { amount: 100 })
    assert.equal((await api.post(PATH, { uuid: whole.uuid, amount: 100 })).http, 201)
  })

  it('says where the merchant’s own reference of a refund belongs', async () => {
    const answer = await api.post(PATH, { reference: 'my-own-refund-7', amount: 5 })
    assertApiError(answer, 'payment_not_found')
    assert.match(answer.body.message, /belongs in refundReference/)
  })

  it('fails a refund that the gateway declines, and allows another one', async () => {
    const { uuid, reference } = await payWith(api, 'card_refund_declined')
    for (let n = 0; n < 2; n += 1) {
      const { status, failure } = await refund({ uuid })
      assert.equal(status, 'failed')
      assert.equal(failure.code, 'refused_by_gateway')
      assert.ok(failure.message.length > 0)
    }
    assert.deepEqual(await refundedAmounts(reference), [])
    const payment = await readPayment(uuid)
    assert.deepEqual([payment.status, payment.refundedAmount], ['successful', '0.00'])
  })

  it('keeps a slow refund pending, reserves its amount, and completes it', async () => {
    const { uuid, reference } = await payWith(api, 'card_refund_pending', { amount: 100 })
    const pending = await refund({ uuid, amount: 70 })
    assert.deepEqual([pending.status, pending.statusReason], ['pending', null])
    const more = await api.post(PATH, { uuid, refundReference: newReference(), amount: 31 })
    assertApiError(more, 'refund_exceeds_amount')
    assert.equal((await readPayment(uuid)).status, 'successful')
    clock.advance(2_500)
    assert.equal((await ended(pending.uuid)).status, 'successful')
    assert.deepEqual(await refundedAmounts(reference), ['70.00'])
  })

  it('resolves a refund with a lost response by polling (F-28)', async () => {
    const { uuid, reference } = await payWith(api, 'card_refund_lost_answer')
    const lost = await refund({ uuid })
    assert.deepEqual([lost.status, lost.statusReason], ['pending', 'outcome_unknown'])
    clock.advance(60_000)
    assert.equal((await ended(lost.uuid)).status, 'successful')
    assert.deepEqual(await refundedAmounts(reference), ['1250.50'])
    assert.equal((await readPayment(uuid)).status, 'refunded')
  })
})

describe('refunds and the wallet', () => {
  it('debits available money first, then pending, keeps the fee, and goes below zero if necessary', async () => {
    const { api: shop } = await service.newMerchant()
    const pay = () => payWith(shop, 'card_success', { currency: 'GHS', amount: 100 })
    const first = await pay()
    clock.advance(25 * HOUR_MS)
    await eventually(
      () => balance(shop, 'GHS'),
      ([available]) => available === '97.00',
      15_000,
    )
    const second = await pay()
    assert.deepEqual(await balance(shop, 'GHS'), ['97.00', '97.00'])
    await refund({ uuid: second.uuid }, shop)
    assert.deepEqual(await balance(shop, 'GHS'), ['0.00', '94.00'])
    assert.deepEqual((await postingsOf(db, second.uuid)).slice(-3), [
      'refund available GHS -9700',
      'refund pending GHS -300',
      'refund gateway:sandbox GHS 10000',
    ])
    await refund({ uuid: first.uuid }, shop)
    assert.deepEqual(await balance(shop, 'GHS'), ['-6.00', '0.00'])
    clock.advance(25 * HOUR_MS)
    await pay()
    assert.deepEqual(await balance(shop, 'GHS'), ['-6.00', '97.00'])
  })
})

describe('reading refunds', () => {
  it('requires a key and the scope to read refunds', async () => {
    for (const path of [PATH, `${PATH}/${UNKNOWN_UUID}`]) {
      assertApiError(await service.apiWith(undefined).get(path), 'missing_api_key')
      const { api: other } = await service.newMerchant(['checkout:read'])
      assertApiError(await other.get(path), 'insufficient_scope')
    }
  })

  it('reads a refund as stored, and answers the same for another merchant’s as for an unknown one', async () => {
    const { uuid } = await payWith(api, 'card_success')
    const made = await refund({ uuid, amount: 1 })
    assert.deepEqual((await api.get(`${PATH}/${made.uuid}`)).body.data, made)
    const other = await service.newMerchant()
    const theirs = await other.api.get(`${PATH}/${made.uuid}`)
    assertSameApiError(theirs, await other.api.get(`${PATH}/${UNKNOWN_UUID}`), 'refund_not_found')
    assertApiError(await api.get(`${PATH}/nonsense`), 'invalid_uuid')
    assert.equal((await other.api.get(PATH)).body.meta.total, 0)
  })

  it('lists refunds newest first, by page and by cursor, filtered', async () => {
    const { api: shop } = await service.newMerchant()
    const paid = await payWith(shop, 'card_success', { amount: 10, reference: 'Order-77-Nairobi' })
    const other = await payWith(shop, 'card_refund_declined', { amount: 10, currency: 'USD' })
    const made = []
    for (let n = 1; n <= 3; n += 1)
      made.push(await refund({ uuid: paid.uuid, refundReference: `part-${n}`, amount: n }, shop))
    made.push(await refund({ uuid: other.uuid }, shop))
    const list = async (query: string) => (await shop.get(`${PATH}?${query}`)).body
    const uuids = async (query: string) => (await list(query)).data.map(({ uuid }: { uuid: string }) => uuid)
    const newest = made.map(({ uuid }) => uuid).reverse()
    assert.deepEqual(await uuids(''), newest)
    assert.deepEqual(await uuids('sort=createdAt:asc'), [...newest].reverse())
    const { meta } = await list('limit=3')
    assert.deepEqual([meta.total, meta.pageCount, meta.hasNext], [4, 2, true])
    assert.deepEqual(await uuids(`limit=3&cursor=${meta.nextCursor}`), newest.slice(3))
    assert.deepEqual(await uuids('limit=3&page=2'), newest.slice(3))
    assert.deepEqual(await uuids('status=failed'), [made[3]?.uuid])
    assert.deepEqual(await uuids('currency=USD'), [made[3]?.uuid])
    assert.deepEqual(await uuids(`payment=${paid.uuid}`), newest.slice(1))
    assert.deepEqual(await uuids('refundReference=part-2'), [made[1]?.uuid])
    assert.deepEqual(await uuids(`refundReference=part-2&payment=${other.uuid}`), [])
    assert.deepEqual(await uuids('refundReference=part'), [])
    assert.deepEqual(await uuids('search=77-nairobi'), newest.slice(1))
    assert.deepEqual(await uuids('search=77%25'), [])
    assert.deepEqual(await uuids(`createdFrom=${made[2]?.createdAt}`), newest.slice(0, 2))
    for (const query of ['limit=0', 'status=nonsense', 'payment=nonsense', 'search=', 'cursor=nonsense'])
      assert.equal((await shop.get(`${PATH}?${query}`)).http, 400, query)
  })
})
