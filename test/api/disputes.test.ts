import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { systemRandom } from '../../src/kit/random.ts'
import { settleDueMoney } from '../../src/ledger/service.ts'
import type { Api } from '../support/api.ts'
import { assertErrorCode } from '../support/assertions.ts'
import { chargeBody, initiateBody, newReference, payWith, saveMethod } from '../support/builders.ts'
import { tickingClock } from '../support/fake-clock.ts'
import { eventsOf, pathOf, postingsOf } from '../support/payment-records.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const DAY_MS = 24 * 3_600_000
const clock = tickingClock()
const service = await testService({ after }, { clock, env: { COWRY_RATE_LIMIT: '0' } })

/** Moves the clock to the settlement; a background job may settle earlier. */
async function settleAll(): Promise<void> {
  clock.advance(2 * DAY_MS)
  await settleDueMoney({ db: service.db, clock, random: systemRandom(clock), mode: 'test' })
}

const pathTo = (reference: string, verb: 'dispute' | 'reverse') =>
  `/api/v1/sandbox/payments/${encodeURIComponent(reference)}/${verb}`

async function simulateDispute(api: Api, reference: string, outcome: 'open' | 'won' | 'lost') {
  const answer = await api.post(pathTo(reference, 'dispute'), { outcome })
  assert.equal(answer.http, 200, answer.text)
  return answer.body.data
}

async function balance(api: Api, currency = 'KES') {
  const { body } = await api.get(`/api/v1/wallet/balance?currency=${currency}`)
  return [body.data.availableBalance, body.data.pendingBalance]
}

async function statement(api: Api): Promise<string[]> {
  const { body } = await api.get('/api/v1/wallet/transactions?sort=createdAt:asc')
  return body.data.map(
    (line: Record<string, unknown>) =>
      `${line.number} ${line.type} ${line.balance} ${line.amount} → ${line.availableBalance} ${line.pendingBalance}`,
  )
}

describe('POST /api/v1/sandbox/payments/{reference}/dispute', () => {
  it('rejects a simulated dispute without a key', async () => {
    for (const verb of ['dispute', 'reverse'] as const) {
      const answer = await service.apiWith(undefined).post(pathTo('order-1', verb), { outcome: 'open' })
      assertErrorCode(answer, 401, 'missing_api_key')
    }
  })

  it('answers the same for a dispute of another merchant’s payment as for an unknown one', async () => {
    const [owner, otherMerchant] = [await service.newMerchant(), await service.newMerchant()]
    const paid = await payWith(owner.api, 'card_success')
    for (const verb of ['dispute', 'reverse'] as const) {
      const body = verb === 'dispute' ? { outcome: 'open' } : {}
      const foreign = await otherMerchant.api.post(pathTo(paid.reference, verb), body)
      const unknown = await otherMerchant.api.post(pathTo('no-such-order', verb), body)
      assertErrorCode(foreign, 404, 'payment_not_found')
      assert.deepEqual(
        { ...foreign.body, error: { ...foreign.body.error, requestId: '' } },
        { ...unknown.body, error: { ...unknown.body.error, requestId: '' } },
      )
    }
    assert.deepEqual(await pathOf(service.db, paid.uuid), ['pending', 'processing', 'successful'])
  })

  it('requires the scope and one of the three outcomes of a dispute', async () => {
    const { api } = await service.newMerchant(['checkout:read'])
    assertErrorCode(
      await api.post(pathTo('order-1', 'dispute'), { outcome: 'open' }),
      403,
      'insufficient_scope',
    )
    assertErrorCode(await api.post(pathTo('order-1', 'reverse'), {}), 403, 'insufficient_scope')
    for (const body of [{}, { outcome: 'maybe' }, { outcome: null }, { outcome: 1 }])
      assertErrorCode(await service.api.post(pathTo('order-1', 'dispute'), body), 400, 'validation_failed')
  })

  it('rejects a dispute of an unpaid payment, and of one already decided', async () => {
    const { api } = await service.newMerchant()
    const declined = await payWith(api, 'card_declined')
    assertErrorCode(
      await api.post(pathTo(declined.reference, 'dispute'), { outcome: 'open' }),
      409,
      'invalid_state',
    )
    assertErrorCode(await api.post(pathTo(declined.reference, 'reverse'), {}), 409, 'invalid_state')
    const { reference } = await payWith(api, 'card_success')
    assertErrorCode(await api.post(pathTo(reference, 'dispute'), { outcome: 'won' }), 409, 'invalid_state')
    await simulateDispute(api, reference, 'lost')
    for (const outcome of ['open', 'won'])
      assertErrorCode(await api.post(pathTo(reference, 'dispute'), { outcome }), 409, 'invalid_state')
  })

  it('reserves the money while a dispute is open, and returns it as available when it is won', async () => {
    const { api } = await service.newMerchant()
    const { reference, uuid } = await payWith(api, 'card_success', { amount: 100 })
    assert.deepEqual(await balance(api), ['0.00', '100.00'])
    assert.equal((await simulateDispute(api, reference, 'open')).status, 'disputed')
    assert.deepEqual(await balance(api), ['0.00', '0.00'])
    assert.equal((await simulateDispute(api, reference, 'won')).status, 'successful')
    assert.deepEqual(await balance(api), ['100.00', '0.00'])
    assert.deepEqual(await statement(api), [
      '1 capture pending 100.00 → 0.00 100.00',
      '2 dispute pending -100.00 → 0.00 0.00',
      '3 dispute_won available 100.00 → 100.00 0.00',
    ])
    assert.deepEqual(
      (await eventsOf(service.db, uuid)).map(({ type, body }) => `${type} ${body.data.status}`).slice(-3),
      ['payment.successful successful', 'payment.disputed disputed', 'payment.successful successful'],
    )
    // Nothing is left to settle: the dispute took the pending amount.
    await settleAll()
    assert.equal((await statement(api)).length, 3)
    assert.deepEqual(await balance(api), ['100.00', '0.00'])
  })

  it('debits the money for the gateway when a dispute is lost', async () => {
    const { api } = await service.newMerchant()
    const { reference, uuid } = await payWith(api, 'card_success', { amount: 100 })
    await simulateDispute(api, reference, 'open')
    const lost = await simulateDispute(api, reference, 'lost')
    assert.deepEqual([lost.status, lost.amountPaid, lost.refundedAmount], ['reversed', '100.00', '0.00'])
    assert.deepEqual(await balance(api), ['0.00', '0.00'])
    assert.deepEqual(await postingsOf(service.db, uuid), [
      'capture gateway:sandbox KES -10000',
      'capture pending KES 10000',
      'dispute pending KES -10000',
      'dispute disputed KES 10000',
      'reversal disputed KES -10000',
      'reversal gateway:sandbox KES 10000',
    ])
    assert.deepEqual(await pathOf(service.db, uuid), [
      'pending',
      'processing',
      'successful',
      'disputed',
      'reversed',
    ])
  })

  it('debits a chargeback without a dispute, below zero if necessary, and reports it', async () => {
    const { api } = await service.newMerchant()
    const first = await payWith(api, 'card_success', { amount: 40 })
    await settleAll()
    await eventually(
      () => balance(api),
      ([available]) => available === '40.00',
      20_000,
    )
    const part = { paymentReference: first.reference, refundReference: 'part', amount: 15 }
    const refunded = await api.post('/api/v1/refunds', part)
    assert.equal(refunded.http, 201, refunded.text)
    await eventually(
      () => balance(api),
      ([available]) => available === '25.00',
      10_000,
    )
    const second = await payWith(api, 'card_success', { amount: 10 })
    const answer = await api.post(pathTo(second.reference, 'reverse'), {})
    assert.equal(answer.body.data.status, 'reversed')
    assert.deepEqual(await balance(api), ['15.00', '10.00'])
    // Of 40, 25 can still be disputed: 15 available and 10 pending.
    assert.equal((await simulateDispute(api, first.reference, 'lost')).status, 'reversed')
    assert.deepEqual(await balance(api), ['0.00', '0.00'])
    const third = await payWith(api, 'card_success', { amount: 5 })
    assert.equal((await simulateDispute(api, third.reference, 'open')).status, 'disputed')
    assert.deepEqual(await balance(api), ['0.00', '0.00'])
  })

  it('disputes a charge in the same way as a payment', async () => {
    const { api } = await service.newMerchant()
    const token = await saveMethod(api, 'card_success', { amount: 1 })
    const reference = newReference()
    const charged = await api.post('/api/v1/charges/recurring', chargeBody(token, { amount: 60, reference }))
    assert.equal(charged.body.data.status, 'successful')
    await simulateDispute(api, reference, 'open')
    await simulateDispute(api, reference, 'lost')
    const types = (await eventsOf(service.db, charged.body.data.uuid)).map(({ type }) => type)
    assert.deepEqual(types.slice(-2), ['charge.disputed', 'charge.reversed'])
    const read = await api.get(`/api/v1/charges/${charged.body.data.uuid}`)
    assert.equal(read.body.data.status, 'reversed')
    assert.deepEqual(await balance(api), ['0.00', '1.00'])
  })

  it('explains why a dispute or a reversal cannot be simulated', async () => {
    const { api } = await service.newMerchant()
    const initiated = await api.post('/api/v1/checkout/initiate-payment', initiateBody())
    const open = initiated.body.data.reference
    const { reference } = await payWith(api, 'card_success')
    const refused = async (name: string, verb: 'dispute' | 'reverse', body: object, sentence: RegExp) => {
      const answer = await api.post(pathTo(name, verb), body)
      assertErrorCode(answer, 409, 'invalid_state')
      assert.match(answer.body.message, sentence)
    }
    await refused(open, 'reverse', {}, /is pending; only what was paid in the sandbox can be reversed\.$/)
    await refused(open, 'dispute', { outcome: 'open' }, /is pending; .* can be disputed\.$/)
    await refused(reference, 'dispute', { outcome: 'won' }, /^No dispute about this payment is open/)
    assert.equal((await api.post(pathTo(reference, 'reverse'), {})).http, 200)
    await refused(reference, 'dispute', { outcome: 'open' }, /has taken the money of this payment back/)
  })

  it('opens another dispute after the first was won', async () => {
    const { api } = await service.newMerchant()
    const { reference, uuid } = await payWith(api, 'card_success', { amount: 100 })
    for (const outcome of ['open', 'won', 'open', 'lost'] as const)
      await simulateDispute(api, reference, outcome)
    assert.deepEqual((await pathOf(service.db, uuid)).slice(-5), [
      'successful',
      'disputed',
      'successful',
      'disputed',
      'reversed',
    ])
    assert.deepEqual(await balance(api), ['0.00', '0.00'])
  })
})

describe('GET /api/v1/disputes', () => {
  const PATH = '/api/v1/disputes'

  it('requires a key with both scopes', async () => {
    assertErrorCode(await service.apiWith(undefined).get(PATH), 401, 'missing_api_key')
    const { api } = await service.newMerchant(['checkout:read'])
    assertErrorCode(await api.get(PATH), 403, 'insufficient_scope')
  })

  it('lists the nearest deadline first, page by page, and nothing of another merchant', async () => {
    const [{ api }, other] = [await service.newMerchant(), await service.newMerchant()]
    const references: string[] = []
    for (let n = 0; n < 3; n += 1) {
      const { reference } = await payWith(api, 'card_success')
      await simulateDispute(api, reference, 'open')
      references.push(reference)
    }
    const reversed = await payWith(api, 'card_success')
    assert.equal((await api.post(pathTo(reversed.reference, 'reverse'), {})).http, 200)
    const listed: Record<string, unknown>[] = []
    for (let cursor = ''; ; ) {
      const { body } = await api.get(`${PATH}?limit=2${cursor && `&cursor=${cursor}`}`)
      listed.push(...body.data)
      if (!body.meta.nextCursor) break
      cursor = encodeURIComponent(body.meta.nextCursor)
    }
    assert.deepEqual(
      listed.map(({ paymentReference }) => paymentReference),
      [...references, reversed.reference],
    )
    const [first, , , last] = listed
    assert.deepEqual(
      [first?.status, first?.amount, first?.heldAmount, first?.closedAt, first?.paymentGateway],
      ['open', '1250.50', '1250.50', null, 'sandbox'],
    )
    assert.equal(
      Math.round((Date.parse(String(first?.respondBy)) - Date.parse(String(first?.openedAt))) / DAY_MS),
      7,
    )
    assert.deepEqual([last?.status, last?.respondBy], ['lost', null])
    const { body } = await api.get(`${PATH}?status=open&payment=${first?.paymentUuid}`)
    assert.equal(body.meta.total, 1)
    assert.deepEqual((await other.api.get(PATH)).body.data, [])
    assert.equal((await api.get(`${PATH}/export?status=open`)).text.trim().split('\r\n').length, 4)
  })
})

describe('a dispute about a payment whose refund failed late', () => {
  /** A card payment of 1250.50 KES whose refund failed after its success, and the case about it. */
  async function failedLater(part: { amount?: number; refundReference?: string }) {
    const { api } = await service.newMerchant()
    const payment = await payWith(api, 'card_refund_fails_later')
    const refund = await api.post('/api/v1/refunds', { paymentUuid: payment.uuid, ...part })
    assert.equal(refund.http, 201, refund.text)
    const { body } = await eventually(
      () => api.get(`/api/v1/cases?payment=${payment.uuid}`),
      (answer) => answer.body.data.length === 1,
      20_000,
    )
    const path = `/api/v1/cases/${body.data[0].uuid}/resolve`
    const accept = async () => {
      const answer = await api.post(path, { resolution: 'accept', note: 'Back in the wallet.' })
      assert.equal(answer.http, 200, answer.text)
    }
    return { api, payment, accept }
  }

  const TAKE_BACK = {
    reverse: (api: Api, reference: string) => api.post(pathTo(reference, 'reverse'), {}),
    lose: async (api: Api, reference: string) => {
      await simulateDispute(api, reference, 'open')
      return api.post(pathTo(reference, 'dispute'), { outcome: 'lost' })
    },
  }

  it('leaves the merchant nothing of what the provider took back, before or after the case is accepted', async () => {
    const check = async (part: object, how: keyof typeof TAKE_BACK, isBefore: boolean) => {
      const { api, payment, accept } = await failedLater(part)
      if (!isBefore) await accept()
      const answer = await TAKE_BACK[how](api, payment.reference)
      assert.equal(answer.body.data.status, 'reversed', answer.text)
      if (isBefore) await accept()
      assert.deepEqual(await balance(api), ['0.00', '0.00'], `${how} ${isBefore}`)
    }
    await Promise.all([
      check({}, 'reverse', true),
      check({}, 'lose', false),
      check({ amount: 400, refundReference: 'part' }, 'reverse', false),
    ])
  })
})
