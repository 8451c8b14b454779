import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { Api } from '../support/api.ts'
import { assertKeys } from '../support/assertions.ts'
import { CUSTOMER, chargeBody, saveMethod } from '../support/builders.ts'
import { createPayer, mainTextOf } from '../support/payer.ts'
import { eventsOf, movesOf, pathOf, postingsOf } from '../support/payment-records.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const PATH = '/api/v1/charges/recurring'

/** A charge of 100 KES to a card with this behaviour on later charges. */
async function chargeWith(api: Api, instrument: string) {
  const customer = { ...CUSTOMER, email: `${instrument}@example.com` }
  const token = await saveMethod(api, instrument, { customer })
  const startedAt = Date.now()
  const answer = await api.post(PATH, chargeBody(token, { customer, amount: 100 }))
  assert.equal(answer.http, 201, answer.text)
  return { data: answer.body.data, message: answer.body.message, tookMs: Date.now() - startedAt }
}

const executionsOf = async (api: Api, reference: string) =>
  (await api.get(`/api/v1/sandbox/executions?reference=${reference}`)).body.data

const statusOf = async (api: Api, uuid: string) => (await api.get(`/api/v1/charges/${uuid}`)).body.data.status

describe('a charge that the bank declines', () => {
  it('answers a declined charge with 201, failed, the reason and the possible next step', async () => {
    const { data } = await chargeWith(service.api, 'card_declined_later')
    assert.equal(data.status, 'failed')
    assertKeys(data.failure, ['code', 'message', 'category', 'retryable'])
    assert.deepEqual(
      { ...data.failure, message: '' },
      { code: 'insufficient_funds', message: '', category: 'soft', retryable: true },
    )
    assert.equal(data.amountPaid, null)
    assert.equal(data.fee, null)
    assert.equal(data.netAmount, null)
    assert.equal(data.paidAt, null)
    assert.equal(data.recovery, null)
    assert.deepEqual(await executionsOf(service.api, data.reference), [])
    assert.deepEqual(await postingsOf(service.db, data.uuid), [])
    const [failed] = await movesOf(service.db, data.uuid)
    assert.equal(failed?.proof, 'declined')
  })
})

describe('a charge that requires authentication by the customer', () => {
  it('fails the charge with authentication_required and returns a checkout for the customer', async () => {
    const { data } = await chargeWith(service.api, 'card_auth_required_later')
    assert.equal(data.status, 'failed')
    assert.equal(data.failure.code, 'authentication_required')
    assertKeys(data.recovery, ['uuid', 'reference', 'checkoutUrl'])
    assert.equal(data.recovery.reference, `recovery-${data.uuid}`)
    assert.ok(data.recovery.checkoutUrl.startsWith(`${service.publicUrl}/pay/`))

    const payer = createPayer()
    const page = await payer.open(data.recovery.checkoutUrl)
    assert.match(mainTextOf(page), /Pay KSh 100 to Demo Shop/)
    await payer.choose(page, 'mobile_success')
    const readStatus = async () => (await fetch(`${data.recovery.checkoutUrl}/status`)).json()
    await eventually(readStatus, (answer) => (answer as { status: string }).status === 'successful', 15_000)
    assert.deepEqual(
      await executionsOf(service.api, data.reference),
      [],
      'the charge itself collected nothing',
    )
    assert.equal(await statusOf(service.api, data.uuid), 'failed')
  })

  it('returns the same checkout on every read, and opens one only', async () => {
    const { data } = await chargeWith(service.api, 'card_auth_required_later')
    const read = await service.api.get(`/api/v1/charges/${data.uuid}`)
    assert.deepEqual(read.body.data.recovery, data.recovery)
    const verified = await service.api.get(`/api/v1/checkout/verify-payment?reference=recovery-${data.uuid}`)
    assert.equal(verified.body.data.checkoutUrl, data.recovery.checkoutUrl)
    assert.equal(verified.body.data.status, 'pending')
    assert.equal(verified.body.data.sourceAmount, '100.00')
  })
})

describe('a charge with a slow gateway', () => {
  it('waits five seconds for a slow gateway and answers successful', async () => {
    const { data, tookMs } = await chargeWith(service.api, 'card_slow_later')
    assert.equal(data.status, 'successful')
    assert.ok(tookMs >= 4_900, `answered after ${tookMs} ms`)
    assert.equal((await executionsOf(service.api, data.reference)).length, 1)
  })

  it('answers processing after its time limit, and the charge succeeds in the background, once', async (t) => {
    const hasty = await testService(t, { env: { COWRY_GATEWAY_TIMEOUT_MS: '700' } })
    const { data, tookMs } = await chargeWith(hasty.api, 'card_slow_later')
    assert.equal(data.status, 'processing')
    assert.equal(data.statusReason, 'outcome_unknown')
    assert.ok(tookMs < 4_500, `answered after ${tookMs} ms`)
    await eventually(
      () => statusOf(hasty.api, data.uuid),
      (status) => status === 'successful',
      10_000,
    )
    assert.equal((await executionsOf(hasty.api, data.reference)).length, 1)
  })
})

describe('a charge whose response is lost (F-28)', () => {
  it('resolves a charge with a lost response within ten seconds: one execution, one credit, one event', async () => {
    const shop = await service.newMerchant()
    const { data, message } = await chargeWith(shop.api, 'card_lost_answer_later')
    assert.equal(data.status, 'processing')
    assert.equal(data.statusReason, 'outcome_unknown')
    assert.equal(data.failure, null)
    assert.equal(data.amountPaid, null)
    assert.match(message, /processing/i)

    // Read the database only, because a request could trigger a status check.
    await eventually(
      () => pathOf(service.db, data.uuid),
      (path) => path.at(-1) === 'successful',
      10_000,
    )
    assert.deepEqual(await pathOf(service.db, data.uuid), ['processing', 'successful'])
    assert.equal((await executionsOf(shop.api, data.reference)).length, 1)
    assert.deepEqual(await postingsOf(service.db, data.uuid), [
      'capture gateway:sandbox KES -10000',
      'capture pending KES 10000',
    ])
    const types = (await eventsOf(service.db, data.uuid)).map(({ type }) => type)
    assert.deepEqual(types, ['charge.processing', 'charge.successful'])

    const wallet = await shop.api.get('/api/v1/wallet/balance?currency=KES')
    assert.equal(wallet.body.data.pendingBalance, '1350.50', 'the first payment and this charge')
    const read = await shop.api.get(`/api/v1/charges/${data.uuid}`)
    assert.equal(read.body.data.statusReason, null)
    assert.equal(read.body.data.amountPaid, '100.00')
  })

  it('resolves a charge with a lost response when the merchant verifies it', async () => {
    const { data } = await chargeWith(service.api, 'card_lost_answer_later')
    assert.equal(data.status, 'processing')
    const verify = () => service.api.get(`/api/v1/checkout/verify-payment?uuid=${data.uuid}`)
    // The resolver may have checked a moment ago; another check then waits for its interval.
    await eventually(verify, (answer) => answer.body.data.status === 'successful', 5_000)
    assert.equal((await executionsOf(service.api, data.reference)).length, 1)
  })
})
