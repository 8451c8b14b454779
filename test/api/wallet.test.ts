import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { CURRENCY_CODES } from '../../src/core/currency.ts'
import type { Api } from '../support/api.ts'
import { assertErrorCode } from '../support/assertions.ts'
import { payWith } from '../support/builders.ts'
import { testService } from '../support/service.ts'

const FEES = { sandbox: { KES: { percent: '1.5', fixed: '10' }, XOF: { percent: '2' } } }
const service = await testService({ after }, { env: { COWRY_FEES: JSON.stringify(FEES) } })

const PATH = '/api/v1/wallet/balance'

async function balance(api: Api, query = '') {
  const answer = await api.get(`${PATH}${query}`)
  assert.equal(answer.http, 200, answer.text)
  return answer.body.data
}

async function merchantIn(baseCurrency: string | undefined) {
  const merchant = await service.admin.post('/admin/v1/merchants', { name: 'Wallet Shop', baseCurrency })
  const { uuid } = merchant.body.data
  const key = await service.admin.post(`/admin/v1/merchants/${uuid}/keys`, { scopes: ['*'] })
  return service.apiWith(key.body.data.apiKey)
}

describe('GET /api/v1/wallet/balance', () => {
  it('rejects the balance without a key', async () => {
    assertErrorCode(await service.apiWith(undefined).get(PATH), 401, 'missing_api_key')
  })

  it('never shows another merchant’s balance', async () => {
    const [rich, poor] = [await merchantIn('KES'), await merchantIn('KES')]
    await payWith(rich, 'card_success', { amount: 1000 })
    assert.equal((await balance(rich)).pendingBalance, '975.00')
    assert.equal((await balance(poor)).pendingBalance, '0.00')
    assert.equal((await balance(poor, '?currency=KES')).pendingBalance, '0.00')
  })

  it('shows zero in the base currency for a new merchant, USD by default', async () => {
    const answer = await (await merchantIn(undefined)).get(PATH)
    const zero = { currency: 'USD', availableBalance: '0.00', pendingBalance: '0.00' }
    const { updatedAt } = answer.body.data
    assert.deepEqual(answer.body, {
      status: 'success',
      message: 'Wallet balance retrieved.',
      data: { ...zero, balances: [zero], updatedAt },
    })
    assert.equal(new Date(updatedAt).toISOString(), updatedAt)
    assert.equal((await balance(await merchantIn('XOF'))).currency, 'XOF')
  })

  it('credits the net amount as pending, without the fee', async () => {
    const api = await merchantIn('KES')
    const paid = await payWith(api, 'card_success', { amount: 1250.5 })
    // 1.5 % of 1250.50 is 18.7575, rounded half up; the fixed part adds 10.
    assert.deepEqual([paid.amountPaid, paid.fee, paid.netAmount], ['1250.50', '28.76', '1221.74'])
    const { currency, availableBalance, pendingBalance } = await balance(api)
    assert.deepEqual(
      { currency, availableBalance, pendingBalance },
      { currency: 'KES', availableBalance: '0.00', pendingBalance: '1221.74' },
    )
  })

  it('credits nothing for a declined, open or underpaid payment', async () => {
    const api = await merchantIn('KES')
    for (const instrument of ['card_declined', 'mobile_cancelled', 'transfer_underpaid'])
      await payWith(api, instrument)
    assert.equal((await balance(api)).pendingBalance, '0.00')
  })

  it('shows each currency separately, the base currency first, all with two decimals', async () => {
    const api = await merchantIn('NGN')
    await payWith(api, 'card_success', { amount: 100, currency: 'USD' })
    await payWith(api, 'card_success', { amount: 5000, currency: 'XOF', country: 'SN' })
    await payWith(api, 'card_success', { amount: 0.01, currency: 'ZAR' })
    const { updatedAt, ...shown } = await balance(api)
    assert.ok(Date.parse(updatedAt) <= Date.now())
    assert.deepEqual(shown, {
      currency: 'NGN',
      availableBalance: '0.00',
      pendingBalance: '0.00',
      balances: [
        { currency: 'USD', availableBalance: '0.00', pendingBalance: '100.00' },
        { currency: 'XOF', availableBalance: '0.00', pendingBalance: '4900.00' },
        { currency: 'ZAR', availableBalance: '0.00', pendingBalance: '0.01' },
      ],
    })
  })

  it('filters the balance by currency', async () => {
    const api = await merchantIn('USD')
    await payWith(api, 'card_success', { amount: 100, currency: 'USD' })
    await payWith(api, 'card_success', { amount: 7, currency: 'EUR' })
    const { updatedAt, ...shown } = await balance(api, '?currency=EUR')
    const euros = { currency: 'EUR', availableBalance: '0.00', pendingBalance: '7.00' }
    assert.deepEqual(shown, { ...euros, balances: [euros] })
    assert.ok(updatedAt)
    for (const currency of CURRENCY_CODES.filter((code) => code !== 'EUR' && code !== 'USD')) {
      const none = { currency, availableBalance: '0.00', pendingBalance: '0.00' }
      const { updatedAt: at, ...empty } = await balance(api, `?currency=${currency}`)
      assert.deepEqual(empty, { ...none, balances: [none] })
      assert.ok(at)
    }
  })

  it('rejects the balance of a currency outside the 28', async () => {
    for (const currency of ['', 'JPY', 'usd', 'US', 'USDT', 'USD%20', '%00', 'USD%00', 'toString', '840']) {
      assertErrorCode(await service.api.get(`${PATH}?currency=${currency}`), 400, 'invalid_currency')
    }
    assertErrorCode(await service.api.get(`${PATH}?currency=USD&currency=USD`), 400, 'validation_failed')
  })

  it('follows a change of the base currency', async () => {
    const merchant = await service.newMerchant()
    await payWith(merchant.api, 'card_success', { amount: 5, currency: 'GHS' })
    const changed = await service.admin.send('PATCH', `/admin/v1/merchants/${merchant.uuid}`, {
      body: JSON.stringify({ baseCurrency: 'GHS' }),
      headers: { 'content-type': 'application/json' },
    })
    assert.equal(changed.http, 200)
    // A new key, because the cache of the old one is up to a few seconds old.
    const key = await service.admin.post(`/admin/v1/merchants/${merchant.uuid}/keys`, { scopes: ['*'] })
    const shown = await balance(service.apiWith(key.body.data.apiKey))
    assert.deepEqual([shown.currency, shown.pendingBalance], ['GHS', '5.00'])
  })
})
