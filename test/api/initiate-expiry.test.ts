import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { type Db, sql } from '../../src/kit/db/db.ts'
import type { Api } from '../support/api.ts'
import { assertApiError } from '../support/assertions.ts'
import { initiateBody } from '../support/builders.ts'
import { startCountingProvider } from '../support/counting-provider.ts'
import { tickingClock } from '../support/fake-clock.ts'
import { createPayer, headingOf, mainTextOf } from '../support/payer.ts'
import { eventsOf, movesOf, pathOf, postingsOf } from '../support/payment-records.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const MINUTE_MS = 60_000
// Slowly: a late payment comes two seconds after the expiry, which the job may see later on a busy machine.
const clock = tickingClock(0.05)
const service = await testService({ after }, { clock })
const { api } = service
const payer = createPayer()

async function initiate(from: Api = api) {
  return (await from.post('/api/v1/checkout/initiate-payment', initiateBody())).body.data
}

async function choose(checkoutUrl: string, instrument: string) {
  await payer.choose(await payer.open(checkoutUrl), instrument)
}

const awaitStatusPath = (db: Db, uuid: string, status: string) =>
  eventually(
    () => pathOf(db, uuid),
    (path) => path.at(-1) === status,
    15_000,
  )

describe('the expiry of an open checkout', () => {
  it('expires an unpaid checkout, and emits one event', async () => {
    const { uuid, reference } = await initiate()
    clock.advance(60 * MINUTE_MS)
    assert.deepEqual(await awaitStatusPath(service.db, uuid, 'expired'), ['pending', 'expired'])
    const verified = await api.get(`/api/v1/checkout/verify-payment?reference=${reference}`)
    assert.equal(verified.body.data.status, 'expired')
    assert.equal(verified.body.data.failure, null)
    assert.deepEqual(verified.body.data.attempts, [])
    const types = (await eventsOf(service.db, uuid)).map(({ type }) => type)
    assert.deepEqual(types, ['payment.pending', 'payment.expired'])
    const [expired] = await movesOf(service.db, uuid)
    assert.equal(expired?.proof, 'time')
    assert.equal(expired?.source, 'expiry')
  })

  it('rejects every payment of an expired checkout', async () => {
    const { uuid, reference, checkoutUrl } = await initiate()
    const page = await payer.open(checkoutUrl)
    clock.advance(60 * MINUTE_MS)
    // Immediately, before the expiry job runs: the time decides, not the job.
    const complete = await api.post(`/api/v1/sandbox/payments/${reference}/complete`, {
      instrument: 'card_success',
    })
    assertApiError(complete, 'invalid_state')
    await awaitStatusPath(service.db, uuid, 'expired')
    await payer.choose(page, 'mobile_success')
    const data = (await api.get(`/api/v1/checkout/payments/${uuid}`)).body.data
    assert.deepEqual(data.attempts, [])
    assert.equal(data.status, 'expired')
    assert.match(mainTextOf(await payer.open(checkoutUrl)), /expired/)
  })

  it('keeps a checkout open until its expiry', async () => {
    const { uuid, reference } = await initiate()
    clock.advance(59 * MINUTE_MS)
    const paid = await api.post(`/api/v1/sandbox/payments/${reference}/complete`, {
      instrument: 'card_success',
    })
    assert.equal(paid.body.data.status, 'successful')
    assert.deepEqual(await pathOf(service.db, uuid), ['pending', 'processing', 'successful'])
  })

  it('abandons a checkout at its expiry if the payer has cancelled, and expires one that the payer has resumed', async () => {
    const cancelled = await initiate()
    await payer.postForm(await payer.open(cancelled.checkoutUrl), '/cancel')
    const resumed = await initiate()
    const page = await payer.submit(await payer.open(resumed.checkoutUrl), '/cancel')
    await payer.submit(page, '/resume')
    assert.deepEqual(await pathOf(service.db, cancelled.uuid), ['pending'])
    clock.advance(60 * MINUTE_MS)
    await awaitStatusPath(service.db, resumed.uuid, 'expired')
    await awaitStatusPath(service.db, cancelled.uuid, 'abandoned')
    assert.equal(headingOf(await payer.open(cancelled.checkoutUrl)), 'Payment cancelled')
  })
})

const stopPolling = sql<unknown>`update attempts set due_at = null where payment_id = $1`

describe('the expiry of a checkout while the payer is acting', () => {
  it('checks the status before it expires a checkout, and accepts a payment made in time', async (t) => {
    // The provider sends no webhook and the resolver does not run, so only the expiry can find out.
    const provider = await startCountingProvider(t, clock)
    const withoutWebhooks = await testService(t, { clock, env: provider.env })
    const { uuid, checkoutUrl } = await initiate(withoutWebhooks.api)
    await choose(checkoutUrl, 'mobile_success')
    await withoutWebhooks.db.query(stopPolling, [uuid])
    clock.advance(60 * MINUTE_MS)
    assert.deepEqual(await awaitStatusPath(withoutWebhooks.db, uuid, 'successful'), [
      'pending',
      'processing',
      'successful',
    ])
    assert.equal((await movesOf(withoutWebhooks.db, uuid)).at(-1)?.source, 'expiry')
  })

  it('expires the checkout when the gateway reports no payment, and accepts a later one (F-35)', async () => {
    const { uuid, checkoutUrl } = await initiate()
    await choose(checkoutUrl, 'mobile_late_success')
    clock.advance(60 * MINUTE_MS)
    await awaitStatusPath(service.db, uuid, 'expired')
    assert.deepEqual(await postingsOf(service.db, uuid), [])
    clock.advance(2 * MINUTE_MS)
    assert.deepEqual(await awaitStatusPath(service.db, uuid, 'successful'), [
      ...['pending', 'processing', 'expired', 'successful'],
    ])
    assert.equal((await postingsOf(service.db, uuid)).length, 2)
    const verified = await api.get(`/api/v1/checkout/verify-payment?uuid=${uuid}`)
    assert.equal(verified.body.data.amountPaid, '1250.50')
  })

  it('does not expire a checkout while the gateway is unreachable, because elapsed time proves nothing', async (t) => {
    const provider = await startCountingProvider(t, clock)
    const cutOff = await testService(t, { clock, env: provider.env })
    const { uuid, checkoutUrl } = await initiate(cutOff.api)
    await choose(checkoutUrl, 'mobile_success')
    await provider.close()
    const untouched = await initiate(cutOff.api)
    clock.advance(61 * MINUTE_MS)
    await awaitStatusPath(cutOff.db, untouched.uuid, 'expired')
    assert.deepEqual(await pathOf(cutOff.db, uuid), ['pending', 'processing'])
  })
})
