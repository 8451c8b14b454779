// Cases in the dashboard: what operators and the people of a merchant see and do about one.

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { payWith } from '../support/builders.ts'
import { caseCalls } from '../support/cases.ts'
import { signInAs, signInAsOperator, type Visitor } from '../support/dashboard.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { operatorCaseOf } = caseCalls(service)

let shop: Awaited<ReturnType<typeof service.newMerchant>>
let operator: Visitor & { email: string }

before(async () => {
  shop = await service.newMerchant()
  operator = await signInAsOperator(service)
})

/** A case of an unknown outcome, which operators decide. */
async function newCase(amount = 1250.5) {
  const payment = await payWith(shop.api, 'card_unknown_status', { amount })
  const { uuid } = await operatorCaseOf(payment.uuid)
  return { payment, uuid, page: `/ops/cases/${uuid}` }
}

describe('a status check by an operator', () => {
  const fields = { resolution: 'ask_again', note: 'Nothing heard since noon.' }

  it('is in the case with its time, the person and the answer, and in the audit log', async () => {
    const { uuid, page } = await newCase()
    const asked = await operator.submit(page, `${page}/resolve`, fields)
    assert.equal(asked.http, 303, asked.text)
    const { text } = await operator.get(asked.headers.get('location') ?? '')
    assert.match(text, /The gateway was asked, and the case stays open/)
    assert.match(text, /Gateway asked last<\/dt><dd><time [^>]*>[^<]*<\/time>.*An operator.*does not know\./s)
    assert.match(text, /The gateway was asked again/)
    const { data } = (await service.admin.get(`/admin/v1/cases/${uuid}/timeline`)).body
    const entry = data.find(({ type }: { type: string }) => type === 'case_asked')
    assert.deepEqual([entry.status, entry.source, entry.uuid], ['unrecognized', 'operator:An operator', uuid])
    const [audited] = (await service.admin.get(`/admin/v1/audit?object=${uuid}&limit=1`)).body.data
    assert.equal(audited.operation, 'POST /admin/v1/cases/{uuid}/resolve')
    assert.equal(audited.changes[0].after.answer, 'unrecognized')
  })

  it('is in the history of the merchant without the name and the note of the operator', async () => {
    const { payment, page } = await newCase()
    await operator.submit(page, `${page}/resolve`, fields)
    const owner = await signInAs(service, shop.uuid)
    const { text } = await owner.get(`/app/payments/${payment.uuid}`)
    assert.match(text, /The gateway was asked again/)
    assert.doesNotMatch(text, /An operator|Nothing heard/)
  })
})

describe('the pages of cases for operators', () => {
  it('shows the merchant in the list, and the customer and the timeline of the payment on one case', async () => {
    const { payment, page } = await newCase()
    const { name } = (await service.admin.get(`/admin/v1/merchants/${shop.uuid}`)).body.data
    const list = await operator.get('/ops/cases')
    assert.ok(list.text.includes(`href="/ops/merchants/${shop.uuid}"><bdi>${name}`), list.text)
    const { text } = await operator.get(page)
    assert.ok(text.includes(payment.customer.email))
    assert.match(text, /An attempt started at sandbox/)
  })
})
