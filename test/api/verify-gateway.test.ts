import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { type Db, sql } from '../../src/kit/db/db.ts'
import type { Api } from '../support/api.ts'
import { chargeBody, initiateBody, saveMethod } from '../support/builders.ts'
import { startCountingProvider } from '../support/counting-provider.ts'
import { tickingClock } from '../support/fake-clock.ts'
import { choiceOf, createPayer } from '../support/payer.ts'
import { movesOf, pathOf, postingsOf } from '../support/payment-records.ts'
import { testService } from '../support/service.ts'

const clock = tickingClock()
const provider = await startCountingProvider({ after }, clock)
const service = await testService({ after }, { clock, env: provider.env })
const { api } = service

async function chooseOnPage(checkoutUrl: string, instrument: string): Promise<void> {
  const payer = createPayer()
  const pressed = await payer.postForm(await payer.open(checkoutUrl), '/attempts', choiceOf(instrument))
  assert.equal(pressed.http, 303)
}

const stopPolling = sql<unknown>`update attempts set due_at = null where payment_id = $1`

/** A payment with a prompt on the payer's phone and no background polls: only verify can find the outcome. */
async function prompted(db: Db, from: Api, instrument: string) {
  const { data } = (await from.post('/api/v1/checkout/initiate-payment', initiateBody())).body
  await chooseOnPage(data.checkoutUrl, instrument)
  await db.query(stopPolling, [data.uuid])
  const verify = async () => {
    const answer = await from.get(`/api/v1/checkout/verify-payment?reference=${data.reference}`)
    assert.equal(answer.http, 200, answer.text)
    return answer.body.data
  }
  return { uuid: data.uuid, reference: data.reference, verify }
}

/** How many status checks the work sent to the provider. */
async function statusChecksBy(work: () => Promise<unknown>): Promise<number> {
  const before = provider.statusChecks()
  await work()
  return provider.statusChecks() - before
}

const inParallel = <Result>(count: number, work: () => Promise<Result>) =>
  Promise.all(Array.from({ length: count }, work))

describe('verifying a pending payment', () => {
  it('checks the status at the gateway, and returns its outcome', async () => {
    const { uuid, verify } = await prompted(service.db, api, 'mobile_success')
    const waiting = await verify()
    assert.equal(waiting.status, 'processing')
    assert.equal(waiting.statusReason, 'awaiting_customer')
    assert.equal(waiting.attempts[0].status, 'awaiting_customer')
    assert.equal(waiting.attempts[0].endedAt, null)
    clock.advance(4_000)
    const paid = await verify()
    assert.equal(paid.status, 'successful')
    assert.equal(paid.statusReason, null)
    assert.equal((await movesOf(service.db, uuid)).at(-1)?.source, 'verify')
  })

  it('checks at most once in three seconds, and shares one status check between parallel calls (single flight)', async () => {
    const { uuid, verify } = await prompted(service.db, api, 'mobile_success')
    const first = await statusChecksBy(() => inParallel(10, verify))
    assert.equal(first, 1)
    assert.equal(await statusChecksBy(() => inParallel(5, verify)), 0, 'the window is not over')
    clock.advance(3_500)
    let answers: { status: string }[] = []
    const later = await statusChecksBy(async () => {
      answers = await inParallel(10, verify)
    })
    assert.equal(later, 1)
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set(['successful']))
    assert.deepEqual(await pathOf(service.db, uuid), ['pending', 'processing', 'successful'])
    assert.equal((await postingsOf(service.db, uuid)).length, 2, 'one credit')
  })

  it('checks no status of a payment that is final or has no attempt', async () => {
    const { verify } = await prompted(service.db, api, 'mobile_success')
    clock.advance(4_000)
    await verify()
    clock.advance(4_000)
    assert.equal(await statusChecksBy(verify), 0)
    const { data } = (await api.post('/api/v1/checkout/initiate-payment', initiateBody())).body
    assert.equal(await statusChecksBy(() => api.get(`/api/v1/checkout/verify-payment?uuid=${data.uuid}`)), 0)
  })

  it('finds a decline, after which the payer may retry', async () => {
    const { verify } = await prompted(service.db, api, 'mobile_cancelled')
    clock.advance(4_000)
    const data = await verify()
    assert.equal(data.status, 'pending')
    assert.equal(data.failure, null)
    assert.equal(data.attempts[0].status, 'declined')
    assert.equal(data.attempts[0].failureCode, 'customer_cancelled')
  })

  it('checks no status when the stored payment is read', async () => {
    const { uuid } = await prompted(service.db, api, 'mobile_success')
    clock.advance(4_000)
    const read = () => api.get(`/api/v1/checkout/payments/${uuid}`)
    assert.equal(await statusChecksBy(read), 0)
    assert.equal((await read()).body.data.status, 'processing')
  })

  it('trusts no malformed response, and none about another amount (F-32, F-34)', async () => {
    for (const kind of ['500_after', 'html', 'garbage', 'drop_after']) {
      const { verify } = await prompted(service.db, api, 'mobile_success')
      clock.advance(4_000)
      await provider.addFault({ kind, on: 'verify', times: 1 })
      assert.equal((await verify()).status, 'processing', kind)
      clock.advance(4_000)
      assert.equal((await verify()).status, 'successful', kind)
    }
    for (const kind of ['wrong_amount', 'wrong_currency', 'wrong_key']) {
      const { uuid, verify } = await prompted(service.db, api, 'mobile_success')
      clock.advance(4_000)
      await provider.addFault({ kind, on: 'verify', times: 1 })
      const data = await verify()
      assert.equal(data.status, 'processing', kind)
      assert.equal(data.statusReason, 'amount_mismatch', kind)
      assert.equal(data.attempts[0].status, 'amount_mismatch', kind)
      assert.equal(data.amountPaid, null, kind)
      const credits = (await postingsOf(service.db, uuid)).filter((line) =>
        / (pending|available|fees) /.test(line),
      )
      assert.deepEqual(credits, [], kind)
    }
  })
})

describe('verifying with an unreachable gateway', () => {
  it('returns the stored payment, and concludes only from a failed first call that nothing happened (F-27)', async (t) => {
    const away = await startCountingProvider(t, clock)
    const shop = await testService(t, { clock, env: away.env })
    const token = await saveMethod(shop.api, 'card_success')
    const { verify } = await prompted(shop.db, shop.api, 'mobile_success')
    await away.close()

    const stored = await verify()
    assert.equal(stored.status, 'processing', 'elapsed time proves nothing')
    assert.equal(stored.statusReason, 'awaiting_customer')

    const charge = await shop.api.post('/api/v1/charges/recurring', chargeBody(token))
    assert.equal(charge.http, 201)
    assert.equal(charge.body.data.status, 'failed')
    assert.deepEqual(
      { ...charge.body.data.failure, message: '' },
      { code: 'provider_unavailable', message: '', category: 'technical', retryable: true },
    )
    assert.equal((await movesOf(shop.db, charge.body.data.uuid)).at(-1)?.proof, 'not_sent')

    const { data } = (await shop.api.post('/api/v1/checkout/initiate-payment', initiateBody())).body
    await chooseOnPage(data.checkoutUrl, 'card')
    const open = (await shop.api.get(`/api/v1/checkout/verify-payment?uuid=${data.uuid}`)).body.data
    assert.equal(open.status, 'pending', 'the payer may retry')
    assert.equal(open.attempts[0].failureCode, 'provider_unavailable')
  })
})
