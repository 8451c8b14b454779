import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { type FeeTable, type Money, money } from '../../src/core/money.ts'
import type { Gateway } from '../../src/gateways/gateway.ts'
import { systemRandom } from '../../src/kit/random.ts'
import { settleDueMoney } from '../../src/ledger/service.ts'
import { creditOf } from '../../src/outcomes/apply.ts'
import type { PaymentsApp } from '../../src/payments/app.ts'
import type { Api } from '../support/api.ts'
import { chargeBody, payWith, saveMethod } from '../support/builders.ts'
import { tickingClock } from '../support/fake-clock.ts'
import { postingsOf } from '../support/payment-records.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const FEES = {
  sandbox: {
    KES: { percent: '1.5', fixed: '10' },
    XOF: { percent: '1.49' },
    NGN: { percent: '1.5', fixed: '100' },
    '*': { percent: '2.9' },
  },
}
const HOUR_MS = 3_600_000
const clock = tickingClock()
const service = await testService({ after }, { clock, env: { COWRY_FEES: JSON.stringify(FEES) } })

async function balanceOf(api: Api, currency: string) {
  const { data } = (await api.get(`/api/v1/wallet/balance?currency=${currency}`)).body
  return { pending: data.pendingBalance, available: data.availableBalance }
}

describe('fees', () => {
  it('take the table of fees before the fee that the provider reports, and that one before none', () => {
    const paid = money(100_000n, 'NGN')
    const reported = money(1_500n, 'NGN')
    const table = new Map([['paystack', new Map([['NGN', { partsPerMillion: 20_000n, fixedMinor: 0n }]])]])
    const creditAt = (fees: FeeTable, fee?: Money) =>
      creditOf({ settings: { fees } } as PaymentsApp, { name: 'paystack' } as Gateway, paid, {
        reported: fee,
      })
    const facts = [
      creditAt(table as FeeTable, reported),
      creditAt(new Map(), reported),
      creditAt(new Map()),
    ].map(({ feeMinor, settlementMinor }) => [feeMinor, settlementMinor])
    assert.deepEqual(facts, [
      [2_000n, 98_000n],
      [1_500n, 98_500n],
      [null, 100_000n],
    ])
  })

  it('charges a percentage and a fixed part as fee, rounded half up, and credits the rest to the wallet', async () => {
    const { api } = await service.newMerchant()
    const data = await payWith(api, 'card_success', { amount: 1250.5, currency: 'KES' })
    // 1.5 % of 1250.50 is 18.7575; the fixed part adds 10.
    assert.equal(data.amountPaid, '1250.50')
    assert.equal(data.fee, '28.76')
    assert.equal(data.netAmount, '1221.74')
    assert.deepEqual(await balanceOf(api, 'KES'), { pending: '1221.74', available: '0.00' })
    assert.deepEqual(await postingsOf(service.db, data.uuid), [
      'capture gateway:sandbox KES -125050',
      'capture pending KES 122174',
      'capture fees KES 2876',
    ])
  })

  it('rounds a fee to whole units where the currency has no decimals, half a unit up', async () => {
    const { api } = await service.newMerchant()
    const data = await payWith(api, 'card_success', { amount: 5000, currency: 'XOF', country: 'SN' })
    assert.equal(data.fee, '75.00')
    assert.equal(data.netAmount, '4925.00')
    assert.deepEqual(await balanceOf(api, 'XOF'), { pending: '4925.00', available: '0.00' })
  })

  it('charges no fee when it would be less than half a minor unit', async () => {
    const { api } = await service.newMerchant()
    const data = await payWith(api, 'card_success', { amount: 0.01, currency: 'USD' })
    assert.equal(data.fee, '0.00')
    assert.equal(data.netAmount, '0.01')
  })

  it('never charges a fee above the amount of the payment', async () => {
    const { api } = await service.newMerchant()
    const data = await payWith(api, 'card_success', { amount: 50, currency: 'NGN' })
    assert.equal(data.fee, '50.00')
    assert.equal(data.netAmount, '0.00')
    assert.deepEqual(await balanceOf(api, 'NGN'), { pending: '0.00', available: '0.00' })
    assert.deepEqual(await postingsOf(service.db, data.uuid), [
      'capture gateway:sandbox NGN -5000',
      'capture fees NGN 5000',
    ])
  })

  it('charges the same fee for a recurring charge', async () => {
    const { api } = await service.newMerchant()
    const token = await saveMethod(api, 'card_success', { amount: 100, currency: 'KES' })
    const body = chargeBody(token, { amount: 1250.5 })
    const { data } = (await api.post('/api/v1/charges/recurring', body)).body
    assert.equal(data.fee, '28.76')
    assert.equal(data.netAmount, '1221.74')
    // 100 minus 11.50, and 1250.50 minus 28.76.
    assert.deepEqual(await balanceOf(api, 'KES'), { pending: '1310.24', available: '0.00' })
  })

  it('shows no fee before a payment is paid', async () => {
    const { api } = await service.newMerchant()
    const data = await payWith(api, 'card_declined')
    assert.equal(data.fee, null)
    assert.equal(data.netAmount, null)
    assert.deepEqual(await balanceOf(api, 'KES'), { pending: '0.00', available: '0.00' })
  })
})

describe('settlement of collected money', () => {
  const app = { db: service.db, clock, random: systemRandom(clock), mode: 'test' as const }

  it('moves the net amount from pending to available after a day, once', async () => {
    const { api } = await service.newMerchant()
    await settleDueMoney(app)
    const data = await payWith(api, 'card_success', { amount: 1000, currency: 'KES' })
    clock.advance(24 * HOUR_MS - 60_000)
    await settleDueMoney(app)
    assert.deepEqual(await balanceOf(api, 'KES'), { pending: '975.00', available: '0.00' })
    clock.advance(61_000)
    await Promise.all([settleDueMoney(app), settleDueMoney(app)])
    await eventually(
      () => balanceOf(api, 'KES'),
      ({ pending, available }) => pending === '0.00' && available === '975.00',
      10_000,
    )
    assert.deepEqual((await postingsOf(service.db, data.uuid)).slice(3), [
      'settlement pending KES -97500',
      'settlement available KES 97500',
    ])
  })

  it('settles in the background after COWRY_SETTLEMENT_HOURS', async (t) => {
    const prompt = await testService(t, { env: { COWRY_SETTLEMENT_HOURS: '0' } })
    await payWith(prompt.api, 'card_success')
    await eventually(
      () => balanceOf(prompt.api, 'KES'),
      ({ available }) => available === '1250.50',
      15_000,
    )
    assert.equal((await balanceOf(prompt.api, 'KES')).pending, '0.00')
  })
})
