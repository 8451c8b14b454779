import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Failpoint } from '../../src/kit/failpoints.ts'
import {
  assertApiError,
  assertKeys,
  assertNothingStored,
  assertSameApiError,
  ISO_TIME,
  UUID_V7,
} from '../support/assertions.ts'
import { chargeBody, initiateBody, payWith, saveMethod } from '../support/builders.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { api } = service

const completePath = (reference: string) =>
  `/api/v1/sandbox/payments/${encodeURIComponent(reference)}/complete`
const executionsPath = (reference: string) =>
  `/api/v1/sandbox/executions?reference=${encodeURIComponent(reference)}`
const CARD = { instrument: 'card_success' }

async function initiate(changes: Record<string, unknown> = {}) {
  return (await api.post('/api/v1/checkout/initiate-payment', initiateBody(changes))).body.data
}

async function makeCharge(): Promise<string> {
  const body = chargeBody(await saveMethod(api, 'card_success'))
  await api.post('/api/v1/charges/recurring', body)
  return body.reference
}

describe('parallel simulations of one payment’s payer', () => {
  it('runs one attempt to one outcome for parallel simulations', async () => {
    const { reference } = await initiate()
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => api.post(completePath(reference), CARD)),
    )
    // A call after the end gets an error; a call before the provider had the attempt sees it pending.
    for (const answer of answers) {
      if (answer.http === 200) assert.match(answer.body.data.status, /^(processing|successful)$/, answer.text)
      else assertApiError(answer, 'invalid_state')
    }
    const verified = await api.get(`/api/v1/checkout/verify-payment?reference=${reference}`)
    assert.equal(verified.body.data.status, 'successful')
    assert.equal(verified.body.data.attempts.length, 1)
    assert.equal((await api.get(executionsPath(reference))).body.data.length, 1)
  })
})

describe('parallel simulations by different channels', () => {
  it('does not pay an attempt of another channel that a parallel simulation has started', async (t) => {
    const reached = Promise.withResolvers<void>()
    const hit = async (point: Failpoint) => {
      if (point !== 'checkout.before_start') return
      reached.resolve()
      // Long enough for the second request to arrive before the attempt of the first one is recorded.
      await delay(300)
    }
    const own = await testService(t, { failpoints: { hit } })
    const { body } = await own.api.post('/api/v1/checkout/initiate-payment', initiateBody())
    const { reference } = body.data
    const mobile = own.api.post(completePath(reference), { instrument: 'mobile_cancelled' })
    await reached.promise
    const card = await own.api.post(completePath(reference), CARD)
    assert.equal((await mobile).http, 200)
    if (card.http === 200) assert.equal(card.body.data.channel, 'card', card.text)
    else assertApiError(card, 'invalid_state')
  })
})

describe('POST /api/v1/sandbox/payments/{reference}/complete', () => {
  it('rejects a simulation without a key', async () => {
    const { reference } = await initiate()
    assertApiError(await service.apiWith(undefined).post(completePath(reference), CARD), 'missing_api_key')
  })

  it('answers the same for another merchant’s payment as for an unknown one, and does not pay it', async () => {
    const { reference, uuid } = await initiate()
    const { api: other } = await service.newMerchant()
    const theirs = await other.post(completePath(reference), CARD)
    const unknown = await other.post(completePath('nothing'), CARD)
    assertSameApiError(theirs, unknown, 'payment_not_found')
    assert.equal((await api.get(`/api/v1/checkout/payments/${uuid}`)).body.data.status, 'pending')
  })

  it('requires the scope checkout:write to simulate a payer', async () => {
    const { api: reader } = await service.newMerchant(['checkout:read'])
    assertApiError(await reader.post(completePath('r'), CARD), 'insufficient_scope')
  })

  it('simulates the payer to the end and answers 200 with the payment record', async () => {
    const { reference, uuid } = await initiate({ reference: 'Order 7/ä?&#' })
    const answer = await api.post(completePath(reference), CARD)
    assert.equal(answer.http, 200, answer.text)
    assertKeys(answer.body, ['status', 'message', 'data'])
    const stored = await api.get(`/api/v1/checkout/payments/${uuid}`)
    assert.deepEqual(answer.body.data, stored.body.data)
    assert.equal(answer.body.data.status, 'successful')
  })

  it('rejects an unknown instrument, and lists the known ones', async () => {
    const { reference } = await initiate()
    await assertNothingStored(service.db, service.demoKey, async () => {
      const answer = await api.post(completePath(reference), { instrument: 'card_free' })
      assert.deepEqual(assertApiError(answer, 'validation_failed'), ['instrument: not_allowed'])
      assert.match(answer.body.error.details[0].message, /card_success, card_3ds, card_declined/)
      const missing = await api.post(completePath(reference), {})
      assert.deepEqual(assertApiError(missing, 'validation_failed'), ['instrument: required'])
    })
  })

  it('rejects the simulation of a final payment, and leaves it unchanged', async () => {
    const paid = await payWith(api, 'card_success')
    const answer = await api.post(completePath(paid.reference), { instrument: 'card_declined' })
    assertApiError(answer, 'invalid_state')
    assert.match(answer.body.message, /successful/)
    const stored = await api.get(`/api/v1/checkout/payments/${paid.uuid}`)
    assert.deepEqual(stored.body.data, paid)
  })

  it('says what the payment is, and fails if the payment was cancelled meanwhile', async () => {
    const { reference } = await initiate()
    const { body } = await api.post(completePath(reference), CARD)
    assert.equal(body.message, 'Checkout simulated. The payment is successful.')
    for (let round = 0; round < 5; round += 1) {
      const { reference: raced, uuid } = await initiate()
      const [completed] = await Promise.all([
        api.post(completePath(raced), CARD),
        api.post(`/api/v1/checkout/payments/${uuid}/cancel`, {}),
      ])
      const executions = (await api.get(executionsPath(raced))).body.data.length
      if (completed.http !== 200) assertApiError(completed, 'invalid_state')
      assert.equal(executions, completed.http === 200 ? 1 : 0, completed.text)
    }
  })

  it('rejects the simulation of a charge, which has no page', async () => {
    assertApiError(await api.post(completePath(await makeCharge()), CARD), 'payment_not_found')
  })

  it('collects once for two parallel simulations', async () => {
    const { reference, uuid } = await initiate()
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => api.post(completePath(reference), CARD)),
    )
    for (const { http, text } of answers) assert.ok(http === 200 || http === 409, text)
    assert.equal((await api.get(executionsPath(reference))).body.data.length, 1)
    assert.equal((await api.get(`/api/v1/checkout/payments/${uuid}`)).body.data.status, 'successful')
  })
})

describe('GET /api/v1/sandbox/executions', () => {
  it('rejects reading executions without a key', async () => {
    assertApiError(await service.apiWith(undefined).get(executionsPath('r')), 'missing_api_key')
  })

  it('answers the same for executions of another merchant’s payment as for an unknown one', async () => {
    const { reference } = await payWith(api, 'card_success')
    const { api: other } = await service.newMerchant()
    const theirs = await other.get(executionsPath(reference))
    assertSameApiError(theirs, await other.get(executionsPath('nothing')), 'payment_not_found')
  })

  it('requires a reference and the scope checkout:read to read executions', async () => {
    const answer = await api.get('/api/v1/sandbox/executions')
    assert.deepEqual(assertApiError(answer, 'validation_failed'), ['reference: required'])
    const { api: other } = await service.newMerchant(['charges:write'])
    assertApiError(await other.get(executionsPath('r')), 'insufficient_scope')
  })

  it('lists what the provider really collected', async () => {
    const paid = await payWith(api, 'transfer_success')
    const answer = await api.get(executionsPath(paid.reference))
    assert.equal(answer.http, 200)
    assertKeys(answer.body, ['status', 'message', 'data', 'meta'])
    const [execution, ...others] = answer.body.data
    assert.deepEqual(others, [])
    assertKeys(execution, ['uuid', 'kind', 'amount', 'currency', 'status', 'executedAt'])
    assert.match(execution.uuid, UUID_V7)
    assert.match(execution.executedAt, ISO_TIME)
    assert.deepEqual(
      { ...execution, uuid: '', executedAt: '' },
      {
        uuid: '',
        kind: 'checkout',
        amount: '1250.50',
        currency: 'KES',
        status: 'successful',
        executedAt: '',
      },
    )
    assert.equal(answer.body.meta.total, 1)
  })

  it('lists no executions before a payment, and after a decline', async () => {
    const { reference } = await initiate()
    assert.deepEqual((await api.get(executionsPath(reference))).body.data, [])
    await api.post(completePath(reference), { instrument: 'card_declined' })
    assert.deepEqual((await api.get(executionsPath(reference))).body.data, [])
  })

  it('marks the execution of a charge by its kind', async () => {
    const answer = await api.get(executionsPath(await makeCharge()))
    assert.deepEqual(
      answer.body.data.map(({ kind, amount }: { kind: string; amount: string }) => `${kind} ${amount}`),
      ['charge 100.00'],
    )
  })
})
