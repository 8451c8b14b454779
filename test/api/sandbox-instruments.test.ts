import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { money } from '../../src/core/money.ts'
import { SANDBOX_INSTRUMENTS } from '../../src/gateways/sandbox/index.ts'
import { duplicatePostings } from '../../src/ledger/service.ts'
import { closeAttempt } from '../../src/payments/update-attempt.ts'
import { assertApiError, assertKeys } from '../support/assertions.ts'
import { CUSTOMER, initiateBody, payWith } from '../support/builders.ts'
import { createPayer } from '../support/payer.ts'
import { eventsOf, movesOf, pathOf, postingsOf } from '../support/payment-records.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { api } = service
const completePath = (reference: string) => `/api/v1/sandbox/payments/${reference}/complete`
const customerFor = (name: string) => ({ ...CUSTOMER, email: `${name}@example.com` })

const CREDIT = ['capture gateway:sandbox KES -125050', 'capture pending KES 125050']

describe('sandbox instruments', () => {
  it('has the fourteen instruments of the contract, four with special refunds, two that open cases, and two that are disputed', () => {
    assert.deepEqual(
      SANDBOX_INSTRUMENTS.map(({ name }) => name),
      [
        ...['card_success', 'card_3ds', 'card_declined', 'card_insufficient_funds', 'card_unknown_status'],
        ...['card_declined_later', 'card_auth_required_later', 'card_lost_answer_later', 'card_slow_later'],
        ...['card_refund_declined', 'card_refund_pending', 'card_refund_lost_answer'],
        ...['card_refund_fails_later', 'card_dispute_won_later', 'card_dispute_lost_later', 'mobile_success'],
        ...['mobile_cancelled', 'mobile_timeout', 'mobile_late_success', 'transfer_success'],
        ...['transfer_underpaid', 'transfer_overpaid'],
      ],
    )
  })

  for (const instrument of [
    'card_success',
    'card_3ds',
    'card_declined_later',
    'card_auth_required_later',
    'card_lost_answer_later',
    'card_slow_later',
  ]) {
    it(`collects with ${instrument} and saves the method`, async () => {
      const data = await payWith(api, instrument, { customer: customerFor(instrument) })
      assert.equal(data.status, 'successful')
      assert.equal(data.statusReason, null)
      assert.equal(data.amountPaid, '1250.50')
      assert.equal(data.paymentMethod.type, 'card')
      assert.match(data.paymentMethod.recurringToken, /^rtk_/)
      assert.deepEqual(outline(data.attempts), ['card succeeded null'])
      assert.deepEqual(await postingsOf(service.db, data.uuid), CREDIT)
      assert.deepEqual(await pathOf(service.db, data.uuid), ['pending', 'processing', 'successful'])
    })
  }

  for (const [instrument, channel] of [
    ['mobile_success', 'mobile_money'],
    ['transfer_success', 'bank_transfer'],
  ] as const) {
    it(`collects with ${instrument} and saves no method`, async () => {
      const data = await payWith(api, instrument)
      assert.equal(data.status, 'successful')
      assert.equal(data.paymentMethod, null)
      assert.deepEqual(outline(data.attempts), [`${channel} succeeded null`])
      assert.deepEqual(await postingsOf(service.db, data.uuid), CREDIT)
    })
  }

  for (const [instrument, channel, code] of [
    ['card_declined', 'card', 'do_not_honor'],
    ['card_insufficient_funds', 'card', 'insufficient_funds'],
    ['mobile_cancelled', 'mobile_money', 'customer_cancelled'],
    ['mobile_timeout', 'mobile_money', 'customer_timeout'],
  ] as const) {
    it(`declines ${instrument} with ${code}, and the customer may retry`, async () => {
      const data = await payWith(api, instrument)
      assert.equal(data.status, 'pending')
      assert.equal(data.failure, null, 'the payment itself has not failed')
      assert.equal(data.amountPaid, null)
      assert.equal(data.paymentMethod, null)
      assert.deepEqual(outline(data.attempts), [`${channel} declined ${code}`])
      assert.deepEqual(await postingsOf(service.db, data.uuid), [])
      const again = await api.post(completePath(data.reference), { instrument: 'card_success' })
      assert.equal(again.body.data.status, 'successful')
      assert.deepEqual(outline(again.body.data.attempts), [
        `${channel} declined ${code}`,
        'card succeeded null',
      ])
    })
  }

  it('accepts the late payment of mobile_late_success after the checkout has expired', async () => {
    const data = await payWith(api, 'mobile_late_success')
    assert.equal(data.status, 'successful')
    assert.equal(data.amountPaid, '1250.50')
    assert.equal(data.failure, null)
    const moves = await movesOf(service.db, data.uuid)
    assert.deepEqual(
      moves.map(({ to, proof }) => `${to} ${proof}`),
      ['processing null', 'expired expired_verified', 'successful gateway'],
    )
    assert.deepEqual(await postingsOf(service.db, data.uuid), CREDIT)
    const types = (await eventsOf(service.db, data.uuid)).map(({ type }) => type)
    assert.deepEqual(types, [
      'payment.pending',
      'payment.processing',
      'payment.expired',
      'payment.successful',
    ])
  })

  it('credits nothing for transfer_underpaid, and holds what arrived as unmatched', async () => {
    const data = await payWith(api, 'transfer_underpaid')
    assert.equal(data.status, 'processing')
    assert.equal(data.statusReason, 'amount_mismatch')
    assert.equal(data.amountPaid, null)
    assert.equal(data.paidAt, null)
    assert.deepEqual(outline(data.attempts), ['bank_transfer amount_mismatch null'])
    assert.deepEqual(await postingsOf(service.db, data.uuid), [
      'unmatched_capture gateway:sandbox KES -112545',
      'unmatched_capture unmatched KES 112545',
    ])
    const executions = await api.get(`/api/v1/sandbox/executions?reference=${data.reference}`)
    assert.equal(executions.body.data[0].amount, '1125.45')
    assertApiError(
      await api.post(completePath(data.reference), { instrument: 'card_success' }),
      'invalid_state',
    )
  })
})

function outline(attempts: { channel: string; status: string; failureCode: string | null }[]): string[] {
  return attempts.map(({ channel, status, failureCode }) => `${channel} ${status} ${failureCode}`)
}

describe('several attempts of one checkout', () => {
  it('allows five attempts: the fifth decline fails the checkout with its reason', async () => {
    const { reference } = initiateBody()
    await api.post('/api/v1/checkout/initiate-payment', initiateBody({ reference }))
    const decline = async (instrument: string) =>
      (await api.post(completePath(reference), { instrument })).body.data
    for (let n = 1; n <= 4; n += 1) assert.equal((await decline('card_declined')).status, 'pending', `${n}`)
    const failed = await decline('card_insufficient_funds')
    assert.equal(failed.status, 'failed')
    assertKeys(failed.failure, ['code', 'message', 'category', 'retryable'])
    assert.equal(failed.failure.code, 'insufficient_funds')
    assert.equal(failed.failure.category, 'soft')
    assert.equal(failed.attempts.length, 5)
    assert.equal((await movesOf(service.db, failed.uuid)).at(-1)?.proof, 'declined')
    assertApiError(await api.post(completePath(reference), { instrument: 'card_success' }), 'invalid_state')
  })

  it('cancels the open prompt on the payer’s phone before another method is tried', async () => {
    const { data } = (await api.post('/api/v1/checkout/initiate-payment', initiateBody())).body
    const payer = createPayer()
    const page = await payer.open(data.checkoutUrl)
    await payer.choose(page, 'mobile_timeout')
    const paid = await api.post(completePath(data.reference), { instrument: 'card_success' })
    assert.equal(paid.body.data.status, 'successful')
    assert.deepEqual(outline(paid.body.data.attempts), [
      'mobile_money declined customer_cancelled',
      'card succeeded null',
    ])
    assert.deepEqual(await postingsOf(service.db, data.uuid), CREDIT)
  })

  it('records a second success as duplicate_success and does not credit it', async () => {
    const shop = await service.newMerchant()
    const declined = await payWith(shop.api, 'card_declined')
    await shop.api.post(completePath(declined.reference), { instrument: 'card_success' })
    // The provider reverses its decline: the proof of the first attempt arrives after the second has paid.
    const closed = await closeAttempt(service.db, {
      merchantId: shop.uuid,
      attemptId: declined.attempts[0].uuid,
      status: 'duplicate_success',
      failureCode: null,
      failureMessage: null,
      paidMinor: 125_050n,
      paidCurrency: 'KES',
      gatewayReference: null,
      dueAt: null,
      nextPollAt: null,
      statusReason: null,
      entryId: declined.attempts[0].uuid,
      postings: duplicatePostings('sandbox', money(125_050n, 'KES')),
      at: new Date(),
    })
    assert.ok(closed)
    const data = (await shop.api.get(`/api/v1/checkout/payments/${declined.uuid}`)).body.data
    assert.equal(data.status, 'successful')
    assert.deepEqual(outline(data.attempts), ['card duplicate_success null', 'card succeeded null'])
    assert.deepEqual((await postingsOf(service.db, data.uuid)).sort(), [
      ...CREDIT,
      'duplicate_capture duplicates KES 125050',
      'duplicate_capture gateway:sandbox KES -125050',
    ])
    const wallet = await shop.api.get('/api/v1/wallet/balance?currency=KES')
    assert.equal(wallet.body.data.pendingBalance, '1250.50')
  })
})
