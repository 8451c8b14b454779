// Refunds by people: the amounts from which they confirm who they are, and from which a second person must approve.

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import { payWith } from '../support/builders.ts'
import { hiddenFields, PASSWORD, signInAs, type Visitor } from '../support/dashboard.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })

let merchant: Awaited<ReturnType<typeof service.newMerchant>>
let owner: Visitor
let finance: Visitor & { email: string }

before(async () => {
  merchant = await service.newMerchant()
  owner = await signInAs(service, merchant.uuid)
  finance = await signInAs(service, merchant.uuid, 'finance')
  const settings = {
    refundApprovals: [{ currency: 'KES', from: 1000 }],
    refundConfirmations: [{ currency: 'KES', from: 500 }],
  }
  const changed = await service.admin.send('PATCH', `/admin/v1/merchants/${merchant.uuid}`, {
    body: JSON.stringify({ settings }),
    headers: { 'content-type': 'application/json' },
  })
  assert.equal(changed.http, 200, changed.text)
})

const ageSessions = sql<unknown>`
update sessions
set authenticated_at = authenticated_at - interval '6 minutes'
where user_id = (select id from users where email = $1)`

/** The page of a new paid payment of KES 2,000. */
async function paidPage(): Promise<string> {
  const { uuid } = await payWith(merchant.api, 'card_success', { currency: 'KES', amount: 2000 })
  return `/app/payments/${uuid}`
}

async function refundsOf(page: string): Promise<{ amount: string }[]> {
  return (await merchant.api.get(`/api/v1/refunds?payment=${page.split('/').at(-1)}`)).body.data
}

const refund = (person: Visitor, page: string, amount: string) =>
  person.submit(page, `${page}/refund`, { amount, reason: 'A mug broke' })

describe('limits on refunds by people', () => {
  it('says on the form from which amount a second person must approve', async () => {
    assert.match((await owner.get(await paidPage())).text, /From KSh\s?1,000 on, a second person/)
  })

  it('asks again who the person is from the limit on, and counts earlier refunds of the payment', async () => {
    const page = await paidPage()
    await service.db.query(ageSessions, [finance.email])
    assert.equal((await refund(finance, page, '499.99')).http, 303)
    const asked = await refund(finance, page, '0.01')
    assert.equal(asked.http, 403)
    assert.equal((await refundsOf(page)).length, 1)
    const fields = hiddenFields(asked.text, `${page}/refund`)
    const done = await finance.post(`${page}/refund`, { ...fields, confirmPassword: PASSWORD })
    assert.equal(done.headers.get('location'), `${page}?done=refund`, done.text)
    assert.deepEqual((await refundsOf(page)).map(({ amount }) => amount).toSorted(), ['0.01', '499.99'])
  })

  it('makes no refund that reaches the approval limit, also in parts; keys have no limit', async () => {
    const page = await paidPage()
    await refund(owner, page, '1000')
    assert.deepEqual(await refundsOf(page), [])
    await refund(owner, page, '600')
    await refund(owner, page, '400')
    assert.deepEqual(
      (await refundsOf(page)).map(({ amount }) => amount),
      ['600.00'],
    )
    const paymentUuid = page.split('/').at(-1)
    const byKey = await merchant.api.post('/api/v1/refunds', { paymentUuid })
    assert.deepEqual([byKey.http, byKey.body.data.amount], [201, '1400.00'])
  })
})
