import assert from 'node:assert/strict'
import { it } from 'node:test'
import { networksOf } from '../core/networks.ts'
import type { Gateway, Rail } from '../gateways/gateway.ts'
import { fixedGateways } from '../gateways/registry.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { findOffer } from './offer.ts'

const notHere = () => Promise.reject(new Error('not in this test'))

function gateway(name: string, rail: Omit<Rail, 'currency' | 'channels'>): Gateway {
  return {
    name,
    rails: [{ currency: 'UGX', countries: ['UG'], channels: ['mobile_money'], ...rail }],
    behavior: { keyRetentionHours: 24, cachesErrors: false, lookupByReference: true },
    startCheckout: notHere,
    verify: notHere,
    parseWebhook: () => ({ kind: 'forged' }),
  }
}

it('the page says that a number is saved only of networks whose gateway can charge it again', async () => {
  const [mtn, airtel] = networksOf('UG')
  assert.deepEqual([mtn?.name, airtel?.name], ['MTN MoMo', 'Airtel Money'])
  const codes = networksOf('UG').map(({ code }) => code)
  const all = gateway('all', { prompts: true })
  const saving = gateway('saving', { prompts: true, saves: true, networks: codes.slice(0, 1) })
  const offerOf = async (...list: Gateway[]) => {
    // A boundary: an offer needs no more of the service and of the payment.
    const app = { gateways: fixedGateways(list) } as unknown as PaymentsApp
    const payment = {
      merchantId: '',
      currency: 'UGX',
      country: 'UG',
      amountMinor: 100n,
      customerEmail: 'a@b.c',
    }
    const offer = await findOffer(app, payment as PaymentRow)
    return [offer.savesMobileMoney, offer.networks.filter(({ isSaved }) => isSaved).map(({ name }) => name)]
  }
  assert.deepEqual(await offerOf(saving, all), [true, ['MTN MoMo']])
  assert.deepEqual(await offerOf(all, saving), [false, []])
  assert.deepEqual(await offerOf(saving), [true, ['MTN MoMo']])
})
