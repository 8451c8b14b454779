import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { fileContext } from '../support/gateways.ts'
import { makeLink } from '../support/links.ts'
import { createPayer } from '../support/payer.ts'
import {
  addAccount,
  addressOf,
  newMerchantAt,
  PROVIDERS,
  type ProviderName,
  VAULT_ENV,
} from '../support/providers.ts'
import { testService } from '../support/service.ts'

const NAMES = ['wave', 'paystack', 'flutterwave'] as const
const addresses = NAMES.map(async (name) =>
  addressOf(name, await PROVIDERS[name].start(fileContext({ after }))),
)
const env = Object.assign({}, VAULT_ENV, ...(await Promise.all(addresses)))
const service = await testService({ after }, { env })

describe('the form of a payment link', () => {
  const openForm = async (name: ProviderName, others: readonly ProviderName[] = []) => {
    const merchant = await newMerchantAt(service, name)
    for (const other of others) await addAccount(service, merchant.uuid, other)
    const link = await makeLink(merchant.api, PROVIDERS[name].paymentTerms)
    const payer = createPayer()
    const page = await payer.open(new URL(new URL(link.url).pathname, service.url).href)
    return { merchant, link, payer, page }
  }

  it('asks for no e-mail address where no gateway is sent one, and the payment goes to no other gateway', async () => {
    const { merchant, link, payer, page } = await openForm('wave')
    assert.doesNotMatch(page.html, /name="email"/)
    const names = { firstname: 'Amina', lastname: 'Diop' }
    const { location } = await payer.postForm(page, new URL(page.url).pathname, names)
    assert.match(location ?? '', /\/pay\/[0-9A-Za-z]{43}/)
    const [payment] = (await merchant.api.get(`/api/v1/payment-links/${link.uuid}/payments`)).body.data
    assert.match(payment.customer.email, /^[a-z0-9-]+@no-email\.invalid$/)
    await addAccount(service, merchant.uuid, 'flutterwave')
    const checkout = await payer.open(location ?? '')
    assert.match(checkout.html, /value="mobile_money"/)
    assert.doesNotMatch(checkout.html, /value="card"/, 'Flutterwave needs an e-mail address')
  })

  it('asks for the e-mail address where one of the gateways needs it', async () => {
    for (const page of [(await openForm('paystack')).page, (await openForm('wave', ['flutterwave'])).page])
      assert.match(page.html, /name="email"/)
  })
})
