// Providers whose payers stay on our page: a prompt on the phone, or the account for a bank transfer.

import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { after, describe, it } from 'node:test'
import type { FakeProvider } from '../gateways/conformance.ts'
import {
  attemptOf,
  deliver,
  fileContext,
  postponePolls,
  readPayment,
  startPaying,
} from '../support/gateways.ts'
import { eventually } from '../support/process.ts'
import { addressOf, newMerchantAt, PROVIDERS, type ProviderName } from '../support/providers.ts'
import { testService } from '../support/service.ts'

const NAMES = ['paystack', 'flutterwave', 'pawapay'] as const

const fakes = new Map<ProviderName, FakeProvider>()
for (const name of NAMES) fakes.set(name, await PROVIDERS[name].start(fileContext({ after })))
const addresses = [...fakes].map(([name, fake]) => addressOf(name, fake))
const service = await testService({ after }, { env: Object.assign({}, ...addresses) })
const { db } = service

function fakeOf(name: ProviderName): FakeProvider {
  const fake = fakes.get(name)
  assert.ok(fake)
  return fake
}

const isSuccessful = ({ status }: { status: string }) => status === 'successful'

const PROMPTS = [
  [
    'paystack',
    { amount: 125.5, currency: 'GHS', country: 'GH' },
    '23355',
    'mtn_gh',
    'MTN MoMo',
    'Insufficient Funds',
  ],
  [
    'flutterwave',
    { amount: 125, currency: 'KES', country: 'KE' },
    '25471',
    'mpesa_ke',
    'M-Pesa',
    'Insufficient Funds',
  ],
  ['pawapay', PROVIDERS.pawapay.paymentTerms, '26076', 'mtn_zm', 'MTN MoMo', 'INSUFFICIENT_BALANCE'],
] as const

describe('mobile money on our page', { concurrency: true }, () => {
  for (const [name, terms, prefix, network, title, decline] of PROMPTS)
    it(`shows the network of ${name} on our page, and after a decline another prompt is paid once`, async () => {
      const { api } = await newMerchantAt(service, name)
      const form = () =>
        `channel=mobile_money&phone=%2B${prefix}${randomInt(1_000_000, 10_000_000)}&network=${network}`
      const { uuid, page, pressed } = await startPaying(api, terms, form())
      assert.equal(pressed.headers.get('location'), page)
      assert.ok((await service.apiWith(undefined).get(page)).text.includes(title))
      const declined = await attemptOf(db, uuid)
      await fakeOf(name).finish(declined.key, { kind: 'declines', how: decline })
      await eventually(
        () => readPayment(api, uuid),
        ({ status }) => status === 'pending',
        60_000,
      )
      assert.match((await service.apiWith(undefined).get(page)).text, /not enough money|balance|funds/i)
      const again = await api.postText(`${page}/attempts`, form(), {
        'content-type': 'application/x-www-form-urlencoded',
      })
      assert.equal(again.http, 303, again.text)
      const { key } = await attemptOf(db, uuid)
      assert.notEqual(key, declined.key)
      await fakeOf(name).finish(key, { kind: 'pays' })
      await eventually(() => readPayment(api, uuid), isSuccessful, 60_000)
      assert.deepEqual(
        [await fakeOf(name).executions(declined.key), await fakeOf(name).executions(key)],
        [0, 1],
      )
    })
})

describe('a bank transfer at paystack', () => {
  it('is shown on our page with the account alone, and a webhook completes the payment', async () => {
    const merchant = await newMerchantAt(service, 'paystack')
    const started = await startPaying(merchant.api, PROVIDERS.paystack.paymentTerms, 'bank_transfer')
    assert.equal(started.pressed.headers.get('location'), started.page)
    const { text } = await service.apiWith(undefined).get(started.page)
    assert.match(text, /Test Bank/)
    assert.match(text, /1260257501/)
    assert.doesNotMatch(text, /Write this reference/)
    await postponePolls(db, started.uuid)
    const { key } = await attemptOf(db, started.uuid)
    await fakeOf('paystack').finish(key, { kind: 'pays' })
    const webhook = await fakeOf('paystack').webhook(key)
    await deliver(merchant.api, `/hooks/paystack/${merchant.uuid}`, webhook)
    await eventually(() => readPayment(merchant.api, started.uuid), isSuccessful, 15_000)
  })
})
