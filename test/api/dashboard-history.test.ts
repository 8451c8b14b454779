// What happened to a payment and what it waits for, as people read it: in words, with names, and with amounts as everywhere else.

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { INSTRUMENT_NAMES } from '../../src/gateways/sandbox/instruments.ts'
import { initiateBody, payWith } from '../support/builders.ts'
import { signInAs, type Visitor } from '../support/dashboard.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })

let merchant: Awaited<ReturnType<typeof service.newMerchant>>
let owner: Visitor

before(async () => {
  merchant = await service.newMerchant()
  owner = await signInAs(service, merchant.uuid)
})

/** The words of the history, without tags. */
async function historyOf(uuid: string): Promise<string> {
  const { text } = await owner.get(`/app/payments/${uuid}`)
  const [, list] = /<ol class="timeline">(.*?)<\/ol>/s.exec(text) ?? []
  assert.ok(list, `no history of ${uuid}`)
  return list.replaceAll(/<[^>]*>/g, ' ')
}

async function assertWords(uuid: string, about: string): Promise<void> {
  const text = await historyOf(uuid)
  assert.doesNotMatch(text, /[a-z]+_[a-z]/, about)
  assert.doesNotMatch(text, /KES|\d\.\d{3}/, about)
}

describe('the history of a payment', () => {
  it('has no code of the API, however the payment was paid, declined or refunded', async () => {
    for (const instrument of INSTRUMENT_NAMES) {
      const { uuid, paidAt } = await payWith(merchant.api, instrument, { amount: 5644.05 })
      if (paidAt !== null) await merchant.api.post('/api/v1/refunds', { uuid, amount: 10 })
      await assertWords(uuid, instrument)
    }
  })

  it('has no code of the API in a payment that is pending, cancelled, disputed or decided as a case', async () => {
    const { api } = merchant
    const { data } = (await api.post('/api/v1/checkout/initiate-payment', initiateBody())).body
    assert.match(await historyOf(data.uuid), /The payment was created\./)
    const cancelled = await api.post(`/api/v1/checkout/payments/${data.uuid}/cancel`, {})
    assert.equal(cancelled.http, 200, cancelled.text)
    assert.match(await historyOf(data.uuid), /The merchant cancelled the payment\./)
    await assertWords(data.uuid, 'cancelled')
    const disputed = await payWith(api, 'card_success')
    await api.post(`/api/v1/sandbox/payments/${disputed.reference}/dispute`, { outcome: 'lost' })
    await assertWords(disputed.uuid, 'disputed')
    const under = await payWith(api, 'transfer_underpaid')
    const [found] = (await api.get(`/api/v1/cases?payment=${under.uuid}`)).body.data
    const decision = { resolution: 'accept', note: 'The rest comes in cash' }
    assert.equal((await api.post(`/api/v1/cases/${found.uuid}/resolve`, decision)).http, 200)
    assert.match(
      await historyOf(under.uuid),
      /The case was decided: Accept the money\s+The rest comes in cash/,
    )
    await assertWords(under.uuid, 'case')
  })

  it('names the people who asked for a refund and approved it, and reports no API request', async () => {
    const { uuid } = await payWith(merchant.api, 'mobile_success', { amount: 5644.05 })
    const page = `/app/payments/${uuid}`
    const support = await signInAs(service, merchant.uuid, 'support')
    await support.submit(page, `${page}/refund`, { amount: '250', reason: 'A mug broke' })
    const request = /href="(\/app\/refunds\/requests\/[^"]+)"/.exec((await support.get(page)).text)?.[1] ?? ''
    assert.equal((await owner.submit(request, `${request}/approve`)).http, 303)
    const text = await historyOf(uuid)
    assert.match(
      text,
      /A refund of KSh\s250 was asked for; another person must approve it\.\s+A support\s+A mug broke/,
    )
    assert.match(text, /Decision about the refund of KSh\s250: Approved\s+A owner/)
    assert.match(text, /Status: Partly refunded/)
    assert.doesNotMatch(text, /Partly refunded\s+By an API request/)
    await assertWords(uuid, 'approved')
  })
})

describe('the state of a payment', () => {
  const pageOf = async (uuid: string) => (await owner.get(`/app/payments/${uuid}`)).text

  it('says what an open payment waits for, and when it expires', async () => {
    const { data } = (await merchant.api.post('/api/v1/checkout/initiate-payment', initiateBody())).body
    assert.match(await pageOf(data.uuid), /has not started to pay yet\. The payment expires at <time/)
    const declined = await payWith(merchant.api, 'card_declined')
    assert.match(await pageOf(declined.uuid), /The last attempt did not succeed/)
    const paid = await payWith(merchant.api, 'card_success')
    assert.doesNotMatch(await pageOf(paid.uuid), /The payment expires|<dt>Asked</)
  })

  it('shows what was asked and received where they differ, and leads to the open case', async () => {
    for (const instrument of ['transfer_underpaid', 'transfer_overpaid']) {
      const { uuid, amountReceived } = await payWith(merchant.api, instrument, { amount: 2000 })
      const [found] = (await merchant.api.get(`/api/v1/cases?payment=${uuid}`)).body.data
      const text = await pageOf(uuid)
      assert.match(text, /<dt>Asked<\/dt><dd>KSh\s2,000<\/dd>/, instrument)
      const received = /<dt>Received<\/dt><dd>KSh\s([\d,.]+)</.exec(text)?.[1]
      assert.equal(Number(received?.replace(',', '')), Number(amountReceived), instrument)
      assert.match(text, new RegExp(`waits for a decision: .*href="/app/cases/${found.uuid}"`), instrument)
    }
  })

  it('calls the receipt number and the code of the provider as the receipt of the payer does', async () => {
    const { uuid, receiptCode, receiptNumber } = await payWith(merchant.api, 'mobile_success')
    const text = await pageOf(uuid)
    assert.ok(text.includes(`<dt>Receipt number</dt><dd><code>${receiptCode}</code>`))
    assert.ok(receiptNumber)
    assert.ok(text.includes(`<dt>Provider’s code</dt><dd><code>${receiptNumber}</code>`))
  })
})
