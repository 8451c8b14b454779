import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { formatApiKey } from '../../src/api-keys/key-format.ts'
import { sql } from '../../src/kit/db/db.ts'
import type { Api } from '../support/api.ts'
import { assertApiError, assertKeys } from '../support/assertions.ts'
import { chargeBody, initiateBody, payWith, saveMethod } from '../support/builders.ts'
import { startConsumer } from '../support/consumer.ts'
import { tickingClock } from '../support/fake-clock.ts'
import { createPayer } from '../support/payer.ts'
import { pathOf } from '../support/payment-records.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const PATH = '/api/v1/sandbox/clock'
const HOUR = 3_600
const DAY = 24 * HOUR
// An advance keeps the order of what becomes due while its eight seconds last; on a busy machine it needs more of them.
const clock = tickingClock(0.25)
const service = await testService({ after }, { clock })
const lockPayment = sql`select from payments where id = $1 for update`

const newApi = async () => (await service.newMerchant()).api

async function advance(api: Api, body: { seconds: number } | { to: string }) {
  const answer = await api.post(`${PATH}/advance`, body)
  assert.equal(answer.http, 200, answer.text)
  // On a busy machine the background does the rest.
  if (!answer.body.data.isCaughtUp)
    await eventually(
      () => read(api, PATH),
      ({ isCaughtUp }) => isCaughtUp,
      60_000,
    )
  return answer.body.data
}

async function initiate(api: Api, changes: Record<string, unknown> = {}) {
  const answer = await api.post('/api/v1/checkout/initiate-payment', initiateBody(changes))
  assert.equal(answer.http, 201, answer.text)
  return answer.body.data
}

const read = async (api: Api, path: string) => (await api.get(path)).body.data
const readPayment = (api: Api, uuid: string) => read(api, `/api/v1/checkout/payments/${uuid}`)

async function balances(api: Api) {
  const { availableBalance, pendingBalance } = await read(api, '/api/v1/wallet/balance?currency=KES')
  return { available: availableBalance, pending: pendingBalance }
}

describe('POST /api/v1/sandbox/clock/advance', () => {
  it('rejects an advance and a read without a key', async () => {
    const anonymous = service.apiWith(undefined)
    assertApiError(await anonymous.post(`${PATH}/advance`, { seconds: 1 }), 'missing_api_key')
    assertApiError(await anonymous.get(PATH), 'missing_api_key')
  })

  it('rejects a live key', async () => {
    const live = formatApiKey({ mode: 'live', id: 'a'.repeat(12), secret: 'b'.repeat(43) })
    const answer = await service.apiWith(live).post(`${PATH}/advance`, { seconds: 1 })
    assertApiError(answer, 'mode_mismatch')
  })

  it('lets no time pass for another merchant', async () => {
    const [mine, theirs] = [await newApi(), await newApi()]
    const [expiring, other] = [await initiate(mine), await initiate(theirs)]
    const paid = await payWith(theirs, 'card_success')
    await advance(mine, { seconds: 10 * 365 * DAY })
    assert.equal((await readPayment(mine, expiring.uuid)).status, 'expired')
    const untouched = await readPayment(theirs, other.uuid)
    assert.deepEqual([untouched.status, untouched.expiresAt], ['pending', other.expiresAt])
    assert.equal((await balances(theirs)).available, '0.00')
    const saved = await readPayment(theirs, paid.uuid)
    assert.equal(saved.paymentMethod.status, 'active')
    const clock = await read(theirs, PATH)
    assert.deepEqual([clock.advancedSeconds, clock.lastAdvancedAt], [0, null])
  })

  it('requires the scope checkout:write to advance, and checkout:read to read', async () => {
    const { api: reader } = await service.newMerchant(['checkout:read'])
    assertApiError(await reader.post(`${PATH}/advance`, { seconds: 1 }), 'insufficient_scope')
    assert.equal((await reader.get(PATH)).http, 200)
    const { api: writer } = await service.newMerchant(['refunds:write'])
    assertApiError(await writer.get(PATH), 'insufficient_scope')
  })

  it('names an unknown field, a missing amount of time, both at once, and a time that is not ahead', async () => {
    const api = await newApi()
    const send = (body: object) => api.post(`${PATH}/advance`, body)
    assert.match((await send({ second: 5 })).text, /unknown_field.*seconds/s)
    const soon = new Date(Date.now() + 60_000).toISOString()
    for (const body of [{}, { seconds: 60, to: soon }, { seconds: null }])
      assert.deepEqual(assertApiError(await send(body), 'validation_failed'), ['seconds: validation_failed'])
    for (const to of ['2020-01-01T00:00:00.000Z', '2100-01-01T00:00:00.000Z'])
      assert.deepEqual(assertApiError(await send({ to }), 'validation_failed'), ['to: validation_failed'])
    for (const seconds of [0, -60, 1.5, 11 * 365 * DAY])
      assert.equal((await send({ seconds })).http, 400, String(seconds))
    assert.equal((await read(api, PATH)).advancedSeconds, 0)
  })

  it('adds up advances that run at the same time', async () => {
    const api = await newApi()
    const { uuid, expiresAt } = await initiate(api)
    await Promise.all(Array.from({ length: 5 }, () => advance(api, { seconds: 10 * 60 })))
    const { status, expiresAt: now } = await readPayment(api, uuid)
    assert.deepEqual([status, Date.parse(expiresAt) - Date.parse(now)], ['pending', 50 * 60_000])
    await advance(api, { seconds: 10 * 60 })
    assert.deepEqual(await pathOf(service.db, uuid), ['pending', 'expired'])
  })

  it('waits for a payment that a request has locked, and advances the others meanwhile', async () => {
    const api = await newApi()
    const [locked, free] = [await initiate(api), await initiate(api)]
    let advancing: Promise<unknown> | undefined
    await service.db.transaction(async (tx) => {
      await tx.query(lockPayment, [locked.uuid])
      advancing ??= advance(api, { seconds: 10 * 60 })
      await eventually(
        () => readPayment(api, free.uuid),
        ({ expiresAt }) => expiresAt !== free.expiresAt,
        5_000,
      )
      assert.equal((await readPayment(api, locked.uuid)).expiresAt, locked.expiresAt)
    })
    await advancing
    for (const { uuid, expiresAt } of [locked, free]) {
      const now = await readPayment(api, uuid)
      assert.equal(Date.parse(expiresAt) - Date.parse(now.expiresAt), 10 * 60_000)
    }
  })

  it('lets payments and charges succeed beside advances', async () => {
    const api = await newApi()
    const token = await saveMethod(api, 'card_success')
    const charge = async () => (await api.post('/api/v1/charges/recurring', chargeBody(token))).body.data
    const charges = Promise.all(Array.from({ length: 12 }, charge))
    const paid = Promise.all(Array.from({ length: 6 }, () => payWith(api, 'card_success')))
    for (const seconds of [60, HOUR / 2, 60]) await advance(api, { seconds })
    for (const { status } of [...(await charges), ...(await paid)]) assert.equal(status, 'successful')
  })

  it('responds within its time while an endpoint hangs, and says that work is left', async (t) => {
    const api = await newApi()
    const consumer = await startConsumer(t, { react: () => 'hang' })
    const endpoint = await api.post('/api/v1/webhooks/endpoints', { url: consumer.url })
    consumer.setSecret(endpoint.body.data.secret)
    const { uuid } = await initiate(api)
    const startedAt = clock.now().getTime()
    const answer = await api.post(`${PATH}/advance`, { seconds: 2 * HOUR })
    assert.ok(clock.now().getTime() - startedAt < 14_000)
    assert.deepEqual([answer.http, answer.body.data.isCaughtUp], [200, false])
    assert.equal(answer.body.data.advancedSeconds, 2 * HOUR)
    await eventually(
      () => readPayment(api, uuid),
      ({ status }) => status === 'expired',
      10_000,
    )
  })

  it('adds up the advances, and advances once for one Idempotency-Key', async () => {
    const api = await newApi()
    const headers = { 'idempotency-key': 'one-hour' }
    const first = await api.post(`${PATH}/advance`, { seconds: HOUR }, headers)
    const again = await api.post(`${PATH}/advance`, { seconds: HOUR }, headers)
    assert.equal(again.headers.get('idempotent-replayed'), 'true')
    assert.deepEqual(
      [first, again].map(({ body }) => body.data.advancedSeconds),
      [HOUR, HOUR],
    )
    assertApiError(await api.post(`${PATH}/advance`, { seconds: 1 }, headers), 'idempotency_key_reused')
    const clock = await advance(api, { seconds: 60 })
    assert.equal(clock.advancedSeconds, HOUR + 60)
    assertKeys(clock, ['advancedSeconds', 'lastAdvancedAt', 'nextDueAt', 'isCaughtUp'])
    assert.deepEqual(await read(api, PATH), clock)
  })
})

describe('time that passes by the test clock', () => {
  it('expires a checkout at its expiresAt, and not before', async () => {
    const api = await newApi()
    const { uuid } = await initiate(api)
    await advance(api, { seconds: HOUR / 2 })
    const halfway = await readPayment(api, uuid)
    assert.equal(halfway.status, 'pending')
    assert.equal((await read(api, PATH)).nextDueAt, halfway.expiresAt)
    await advance(api, { to: halfway.expiresAt })
    const expired = await readPayment(api, uuid)
    assert.equal(expired.status, 'expired')
    // Nothing is dated before the creation.
    assert.ok(expired.expiresAt > expired.createdAt)
    assert.ok(Date.parse(expired.expiresAt) <= Date.now())
  })

  it('ends a phone prompt that is never answered, and expires its checkout', async () => {
    const api = await newApi()
    const { uuid, checkoutUrl } = await initiate(api)
    await startPrompt(checkoutUrl, 'mobile_timeout')
    await advance(api, { seconds: 6 * 60 })
    const declined = await readPayment(api, uuid)
    assert.deepEqual([declined.status, declined.attempts[0].failureCode], ['pending', 'customer_timeout'])
    await advance(api, { seconds: HOUR })
    assert.deepEqual(await pathOf(service.db, uuid), ['pending', 'processing', 'pending', 'expired'])
  })

  it('finds the late payment of a prompt that is approved after the checkout has expired', async () => {
    const api = await newApi()
    const { uuid, checkoutUrl } = await initiate(api)
    await startPrompt(checkoutUrl, 'mobile_late_success')
    await advance(api, { seconds: 2 * HOUR })
    assert.equal((await readPayment(api, uuid)).status, 'successful')
    assert.deepEqual(await pathOf(service.db, uuid), ['pending', 'processing', 'expired', 'successful'])
  })

  it('settles pending money, with its event and its line in the statement', async () => {
    const api = await newApi()
    const { amountPaid } = await payWith(api, 'card_success')
    await advance(api, { seconds: 23 * HOUR })
    assert.deepEqual(await balances(api), { available: '0.00', pending: amountPaid })
    await advance(api, { seconds: 2 * HOUR })
    assert.deepEqual(await balances(api), { available: amountPaid, pending: '0.00' })
    assert.equal((await read(api, '/api/v1/events?type=wallet.settled')).length, 1)
    const lines = await read(api, '/api/v1/wallet/transactions')
    assert.deepEqual(lines.map(({ type }: { type: string }) => type).toSorted(), [
      'capture',
      'settlement',
      'settlement',
    ])
  })

  it('expires a saved card, which then cannot be charged', async () => {
    const api = await newApi()
    const token = await saveMethod(api, 'card_success')
    await advance(api, { seconds: 365 * DAY })
    assert.equal((await api.post('/api/v1/charges/recurring', chargeBody(token))).http, 201)
    await advance(api, { seconds: 5 * 365 * DAY })
    const refused = await api.post('/api/v1/charges/recurring', chargeBody(token))
    assertApiError(refused, 'recurring_token_inactive')
    assert.equal((await read(api, '/api/v1/events?type=payment_method.expired')).length, 1)
  })

  it('resolves a charge whose response got lost, executed once', async () => {
    const api = await newApi()
    const token = await saveMethod(api, 'card_lost_answer_later')
    const charge = await api.post('/api/v1/charges/recurring', chargeBody(token))
    await advance(api, { seconds: 60 })
    assert.equal((await read(api, `/api/v1/charges/${charge.body.data.uuid}`)).status, 'successful')
    const path = `/api/v1/sandbox/executions?reference=${charge.body.data.reference}`
    assert.equal((await read(api, path)).length, 1)
  })

  it('completes a refund that takes a moment', async () => {
    const api = await newApi()
    const { uuid } = await payWith(api, 'card_refund_pending')
    const refund = await api.post('/api/v1/refunds', { paymentUuid: uuid })
    assert.equal(refund.body.data.status, 'pending', refund.text)
    await advance(api, { seconds: 60 })
    const path = `/api/v1/refunds/${refund.body.data.uuid}`
    await eventually(
      () => read(api, path),
      ({ status }) => status === 'successful',
      10_000,
    )
    assert.equal((await readPayment(api, uuid)).status, 'refunded')
  })

  it('opens a case about a refund that fails after its success', async () => {
    const api = await newApi()
    const { uuid } = await payWith(api, 'card_refund_fails_later')
    await api.post('/api/v1/refunds', { paymentUuid: uuid })
    await advance(api, { seconds: 60 })
    const cases = await eventually(
      () => read(api, '/api/v1/cases'),
      ({ length }) => length > 0,
      10_000,
    )
    assert.deepEqual(
      cases.map(({ kind }: { kind: string }) => kind),
      ['refund_failed_late'],
    )
  })

  it('retries a webhook delivery until its attempts are used up, each of them signed with the real time', async (t) => {
    const api = await newApi()
    const consumer = await startConsumer(t, { react: () => 500 })
    const endpoint = await api.post('/api/v1/webhooks/endpoints', {
      url: consumer.url,
      events: ['payment.pending'],
    })
    assert.equal(endpoint.http, 201, endpoint.text)
    consumer.setSecret(endpoint.body.data.secret)
    await initiate(api)
    await eventually(
      () => consumer.receipts.length,
      (count) => count === 1,
      10_000,
    )
    await advance(api, { seconds: 10 * 60 })
    assert.equal(consumer.receipts.length, 3)
    const failing = await read(api, `/api/v1/webhooks/endpoints/${endpoint.body.data.uuid}`)
    assert.equal(failing.failingSince, failing.createdAt)
    await advance(api, { seconds: 5 * DAY })
    assert.equal(consumer.receipts.length, 10)
    assert.deepEqual(consumer.errors, [])
    const [event] = await read(api, '/api/v1/events?type=payment.pending')
    const [delivery] = await read(api, `/api/v1/events/${event.uuid ?? event.id}/deliveries`)
    assert.equal(delivery.reason, 'attempts_exhausted')
  })

  for (const [instrument, path, money] of [
    ['card_dispute_won_later', ['pending', 'processing', 'successful', 'disputed', 'successful'], 'kept'],
    ['card_dispute_lost_later', ['pending', 'processing', 'successful', 'disputed', 'reversed'], 'returned'],
  ] as const)
    it(`opens a dispute and ends it, and the money is ${money}: ${instrument}`, async () => {
      const api = await newApi()
      const { uuid, amountPaid } = await payWith(api, instrument)
      await advance(api, { seconds: 25 * HOUR })
      assert.equal((await readPayment(api, uuid)).status, 'disputed')
      await advance(api, { seconds: 7 * DAY })
      assert.deepEqual(await pathOf(service.db, uuid), [...path])
      const { available } = await balances(api)
      assert.equal(available.startsWith('-') || available === '0.00', money === 'returned')
      if (money === 'kept') assert.equal(available, amountPaid)
    })

  it('opens and ends a dispute of a charge within one advance', async () => {
    const api = await newApi()
    const token = await saveMethod(api, 'card_dispute_lost_later')
    const charge = await api.post('/api/v1/charges/recurring', chargeBody(token))
    await advance(api, { seconds: 30 * DAY })
    const { uuid } = charge.body.data
    assert.deepEqual(await pathOf(service.db, uuid), ['processing', 'successful', 'disputed', 'reversed'])
  })

  it('opens a case about a payment that is processing for longer than the limit', async () => {
    const api = await newApi()
    const { uuid, checkoutUrl } = await initiate(api)
    await startPrompt(checkoutUrl, 'mobile_timeout')
    // A gateway whose credentials were removed, so the outcome stays unknown.
    await service.db.script(`update attempts set gateway = 'paystack' where payment_id = '${uuid}'`)
    await advance(api, { seconds: 20 * HOUR })
    assert.deepEqual(await read(api, '/api/v1/cases'), [])
    await advance(api, { seconds: 6 * HOUR })
    assert.equal((await readPayment(api, uuid)).statusReason, 'needs_review')
    assert.equal((await read(api, '/api/v1/events?type=payment.needs_review')).length, 1)
  })

  it('expires a payment link', async () => {
    const api = await newApi()
    const expiresAt = new Date(Date.now() + 7 * DAY * 1_000).toISOString()
    const body = { title: 'Ticket', amount: 100, currency: 'KES', usage: 'multi', expiresAt }
    const link = await api.post('/api/v1/payment-links', body)
    assert.equal(link.http, 201, link.text)
    await advance(api, { to: expiresAt })
    assert.equal((await read(api, `/api/v1/payment-links/${link.body.data.uuid}`)).status, 'expired')
  })
})

/** The payer chooses mobile money on the page, and does nothing more. */
async function startPrompt(checkoutUrl: string, instrument: string): Promise<void> {
  const payer = createPayer()
  await payer.choose(await payer.open(checkoutUrl), instrument)
}
