import assert from 'node:assert/strict'
import { it } from 'node:test'
import { networksOf } from '../core/networks.ts'
import type { Gateway, Rail } from '../gateways/gateway.ts'
import { fixedGateways } from '../gateways/registry.ts'
import { isLostPageUnpayable } from '../outcomes/schedule.ts'
import type { PaymentsApp } from '../payments/app.ts'
import type { AttemptRow } from '../payments/attempt.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { findOffer, requireOffered } from './offer.ts'

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

// A boundary: an offer needs no more of the service and of the payment.
const appOf = (...list: Gateway[]) => ({ gateways: fixedGateways(list) }) as unknown as PaymentsApp
const PAYMENT = {
  merchantId: '',
  currency: 'UGX',
  country: 'UG',
  amountMinor: 100n,
  customerEmail: 'a@b.c',
} as PaymentRow

it('the page says that a number is saved only of networks whose gateway can charge it again', async () => {
  const [mtn, airtel] = networksOf('UG')
  assert.deepEqual([mtn?.name, airtel?.name], ['MTN MoMo', 'Airtel Money'])
  const codes = networksOf('UG').map(({ code }) => code)
  const all = gateway('all', { prompts: true })
  const saving = gateway('saving', { prompts: true, saves: true, networks: codes.slice(0, 1) })
  const offerOf = async (...list: Gateway[]) => {
    const offer = await findOffer(appOf(...list), PAYMENT)
    return [offer.savesMobileMoney, offer.networks.filter(({ isSaved }) => isSaved).map(({ name }) => name)]
  }
  assert.deepEqual(await offerOf(saving, all), [true, ['MTN MoMo']])
  assert.deepEqual(await offerOf(all, saving), [false, []])
  assert.deepEqual(await offerOf(saving), [true, ['MTN MoMo']])
})

it('payers of a network on the page of a gateway that prompts others enter no number', async () => {
  const [mtn = '', airtel = ''] = networksOf('UG').map(({ code }) => code)
  const mixed = gateway('mixed', { prompts: true, networks: [mtn, airtel], pageNetworks: [airtel] })
  const offer = await findOffer(appOf(mixed), PAYMENT)
  assert.deepEqual(
    offer.networks.map(({ code, hasPage }) => [code, hasPage]),
    [
      [mtn, false],
      [airtel, true],
    ],
  )
  const choose = (network: string) =>
    requireOffered(appOf(mixed), PAYMENT, { channel: 'mobile_money', network })
  await assert.rejects(choose(mtn), { code: 'validation_failed' })
  assert.equal((await choose(airtel)).length, 1)
})

it('a lost page is unpayable without a number, and with one if the network or the gateway has only pages', () => {
  const [mtn = '', airtel = ''] = networksOf('UG').map(({ code }) => code)
  const mixed = gateway('mixed', { prompts: true, networks: [mtn, airtel], pageNetworks: [airtel] })
  const paged = { ...mixed, behavior: { ...mixed.behavior, lostPageIsUnpayable: true as const } }
  const choice = { channel: 'mobile_money', phone: '+256771234567' } as const
  const isUnpayable = (network: string, isTyped: boolean, by: Gateway = paged) => {
    const { phone, ...unnumbered } = choice
    const attempt = { operation: 'checkout', choice: { ...(isTyped ? choice : unnumbered), network } }
    // A boundary: no more of the attempt is read.
    return isLostPageUnpayable(by, attempt as AttemptRow)
  }
  assert.deepEqual([isUnpayable(mtn, true), isUnpayable(airtel, true)], [false, true])
  assert.deepEqual([isUnpayable(mtn, false), isUnpayable(airtel, false)], [true, true])
  const onlyPages = { ...paged, rails: gateway('pages', { needsPhone: true }).rails }
  assert.equal(isUnpayable(mtn, true, onlyPages), true)
})
