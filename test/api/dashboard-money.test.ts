// Payment links, transfers, reports and the money of one payment in the dashboard.

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import { initiateBody } from '../support/builders.ts'
import { hiddenFields, signInAs, type Visitor } from '../support/dashboard.ts'
import { makeLink } from '../support/links.ts'
import { BANK, p2pActions, WALLET } from '../support/p2p.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })

/** The person signed in six minutes earlier than before. */
const ageSessions = sql<unknown>`
update sessions
set authenticated_at = authenticated_at - interval '6 minutes'
where user_id = (select id from users where email = $1)`

let merchant: Awaited<ReturnType<typeof service.newMerchant>>
let owner: Visitor
let viewer: Visitor
let stranger: Visitor

before(async () => {
  merchant = await service.newMerchant()
  owner = await signInAs(service, merchant.uuid)
  viewer = await signInAs(service, merchant.uuid, 'viewer')
  stranger = await signInAs(service, (await service.newMerchant()).uuid)
})

/** Posts without the form of the page, as an attacker with a session does. */
async function force(visitor: Visitor, action: string, fields: Record<string, string> = {}) {
  const hidden = hiddenFields((await visitor.get('/app')).text, '/app/sign-out')
  return visitor.post(action, { ...hidden, ...fields })
}

describe('payment links in the dashboard', () => {
  const form = { title: 'Raffle <b>', currency: 'KES', amount: '1,250.50', usage: 'multi' }

  it('creates a link once, however often the form is submitted', async () => {
    const fields = { ...hiddenFields((await owner.get('/app/links/new')).text, '/app/links/new'), ...form }
    const [first, second] = [
      await owner.post('/app/links/new', fields),
      await owner.post('/app/links/new', fields),
    ]
    assert.equal(first.http, 303, first.text)
    assert.equal(second.headers.get('location'), first.headers.get('location'))
    const page = await owner.get(String(first.headers.get('location')))
    assert.match(page.text, /KSh\s?1,250\.50/)
    assert.ok(page.text.includes('Raffle &lt;b&gt;') && page.text.includes('aria-label="QR"'))
  })

  it('shows the errors of fields, with the input of the person', async () => {
    // Where a point groups digits, 1.500 is fifteen hundred.
    for (const amount of ['much', '1.500', '1.000']) {
      const refused = await owner.submit('/app/links/new', '/app/links/new', { ...form, amount })
      assert.equal(refused.http, 422)
      assert.match(refused.text, new RegExp(`value="${amount}"[^>]*aria-invalid="true"`))
    }
  })

  it('changes a link, and keeps the moment of its end while the day stays', async () => {
    const expiresAt = '2099-03-14T09:26:53.000Z'
    const { uuid } = await makeLink(merchant.api, { amount: undefined, minAmount: 10, expiresAt })
    const page = `/app/links/${uuid}/edit`
    const fields = { title: 'New', description: '', minAmount: '', maxAmount: '99', lastDay: '2099-03-14' }
    const saved = await owner.submit(page, page, fields)
    assert.equal(saved.headers.get('location'), `/app/links/${uuid}?done=saved`, saved.text)
    const link = async () => (await merchant.api.get(`/api/v1/payment-links/${uuid}`)).body.data
    const { title, description, minAmount, maxAmount, ...rest } = await link()
    assert.deepEqual([title, description, minAmount, maxAmount], ['New', null, null, '99.00'])
    assert.equal(rest.expiresAt, expiresAt)
    await owner.submit(page, page, { ...fields, lastDay: '' })
    assert.equal((await link()).expiresAt, null)
  })

  it('deactivates a link for those who may, and hides it from other merchants', async () => {
    const { uuid } = await makeLink(merchant.api)
    const page = `/app/links/${uuid}`
    assert.equal((await viewer.get(page)).text.includes(`action="${page}/deactivate"`), false)
    assert.equal((await force(viewer, `${page}/deactivate`)).http, 403)
    assert.equal((await viewer.get('/app/links/new')).http, 403)
    assert.equal((await force(stranger, `${page}/deactivate`)).http, 404)
    for (const path of [page, `${page}/edit`]) assert.equal((await stranger.get(path)).http, 404, path)
    const done = await owner.submit(page, `${page}/deactivate`)
    assert.equal(done.http, 303, done.text)
    assert.equal((await merchant.api.get(`/api/v1/payment-links/${uuid}`)).body.data.status, 'inactive')
  })
})

describe('transfers in the dashboard', () => {
  let actions: ReturnType<typeof p2pActions>

  before(async () => {
    actions = p2pActions(merchant.api)
    const made = await owner.submit('/app/p2p/accounts/new', '/app/p2p/accounts/new', WALLET)
    assert.equal(made.headers.get('location'), '/app/p2p/accounts', made.text)
  })

  it('queues what the payer has marked as sent, and confirms it in parts', async () => {
    const { uuid } = await actions.requestTransfer()
    const page = `/app/p2p/${uuid}`
    assert.equal((await owner.get('/app/p2p')).text.includes(page), false)
    assert.ok((await owner.get('/app/p2p?transferStatus=all')).text.includes(page))
    await owner.submit(page, `${page}/mark-paid`)
    assert.ok((await owner.get('/app/p2p')).text.includes(page))
    assert.match((await owner.get('/app')).text, /1 transfer waits/)
    for (const [receivedAmount, status] of [
      ['2,000.00', 'underpaid'],
      ['5000', 'confirmed'],
    ] as const) {
      const done = await owner.submit(page, `${page}/confirm`, { receivedAmount })
      assert.equal(done.headers.get('location'), `${page}?done=confirm`, done.text)
      assert.equal((await actions.read(uuid)).transferStatus, status)
    }
    assert.equal((await owner.get(page)).text.includes(`${page}/confirm`), false)
  })

  it('rejects and cancels, and shows why the API refuses an action', async () => {
    const [sent, open] = [await actions.requestTransfer(), await actions.requestTransfer()]
    const hidden = hiddenFields(
      (await owner.get(`/app/p2p/${sent.uuid}`)).text,
      `/app/p2p/${sent.uuid}/cancel`,
    )
    await actions.act(sent.uuid, 'mark-paid')
    const late = await owner.post(`/app/p2p/${sent.uuid}/cancel`, hidden)
    assert.equal(late.http, 422)
    assert.match(late.text, /role="alert"/)
    await owner.submit(`/app/p2p/${sent.uuid}`, `/app/p2p/${sent.uuid}/reject`, { reason: 'Not found' })
    await owner.submit(`/app/p2p/${open.uuid}`, `/app/p2p/${open.uuid}/cancel`)
    const [rejected, cancelled] = [await actions.read(sent.uuid), await actions.read(open.uuid)]
    assert.deepEqual([rejected.transferStatus, rejected.rejectionReason], ['rejected', 'Not found'])
    assert.equal(cancelled.transferStatus, 'cancelled')
  })

  it('refuses actions of viewers and of other merchants', async () => {
    const { uuid } = await actions.requestTransfer()
    const { data } = (await merchant.api.get('/api/v1/p2p/accounts')).body
    const account = `/app/p2p/accounts/${data[0].uuid}`
    const posts = [`/app/p2p/${uuid}/confirm`, `/app/p2p/${uuid}/cancel`, account, `${account}/delete`]
    for (const path of posts) {
      assert.equal((await force(viewer, path, { receivedAmount: '5000' })).http, 403, path)
      assert.equal((await force(stranger, path, { receivedAmount: '5000' })).http, 404, path)
    }
    for (const path of [`/app/p2p/${uuid}`, account]) {
      assert.equal((await stranger.get(path)).http, 404, path)
      assert.equal(/<form method="post" action="\/app\/p2p/.test((await viewer.get(path)).text), false, path)
    }
    assert.equal((await actions.read(uuid)).transferStatus, 'awaiting_payment')
  })

  it('changes and deletes an account, and names the field that is wrong', async () => {
    const made = await merchant.api.post('/api/v1/p2p/accounts', BANK)
    const page = `/app/p2p/accounts/${made.body.data.uuid}`
    const fields = { accountName: 'New Ltd', bankName: 'A bank', accountNumber: '123456' }
    assert.equal((await owner.submit(page, page, fields)).http, 303)
    const { data } = (await merchant.api.get(`/api/v1/p2p/accounts/${made.body.data.uuid}`)).body
    assert.deepEqual([data.accountName, data.accountNumber, data.isActive], ['New Ltd', '123456', false])
    const wrong = await owner.submit(page, page, { ...fields, accountNumber: '!' })
    assert.equal(wrong.http, 422)
    assert.match(wrong.text, /name="accountNumber"[^>]*value="!"[^>]*aria-invalid="true"/)
    assert.equal((await owner.submit(page, `${page}/delete`)).http, 303)
    assert.equal((await owner.get(page)).http, 404)
  })

  it('asks who the person is before an account is added, changed or deleted', async () => {
    const made = await merchant.api.post('/api/v1/p2p/accounts', BANK)
    const page = `/app/p2p/accounts/${made.body.data.uuid}`
    const person = await signInAs(service, merchant.uuid)
    await service.db.query(ageSessions, [person.email])
    for (const path of [page, `${page}/delete`, '/app/p2p/accounts/new']) {
      const asked = await force(person, path, { accountName: 'Thief' })
      assert.deepEqual([asked.http, /name="confirmPassword"/.test(asked.text)], [403, true], path)
    }
    const { data } = (await merchant.api.get(`/api/v1/p2p/accounts/${made.body.data.uuid}`)).body
    assert.equal(data.accountName, BANK.accountName)
  })
})

describe('reports and the money of a payment', () => {
  let uuid: string

  before(async () => {
    const body = initiateBody({ currency: 'KES', amount: 1250.5 })
    uuid = (await merchant.api.post('/api/v1/checkout/initiate-payment', body)).body.data.uuid
    const path = `/api/v1/sandbox/payments/${body.reference}/complete`
    assert.equal((await merchant.api.post(path, { instrument: 'card_success' })).http, 200)
  })

  it('shows on home which share of the decided attempts was approved, and the health of gateways', async () => {
    const body = initiateBody({ currency: 'KES', amount: 900 })
    await merchant.api.post('/api/v1/checkout/initiate-payment', body)
    const path = `/api/v1/sandbox/payments/${body.reference}/complete`
    assert.equal((await merchant.api.post(path, { instrument: 'card_declined' })).http, 200)
    // An attempt without an outcome.
    await merchant.api.post('/api/v1/checkout/initiate-payment', initiateBody({ currency: 'KES' }))
    const { text } = await owner.get('/app')
    assert.match(
      text,
      /data-label="Currency">KES<\/td><td[^>]*data-label="Approved">50%<span class="sub"><bdi dir="ltr">1 \/ 2</,
    )
    assert.match(text, /gateways? responds?\./)
    const stranger = await signInAs(service, (await service.newMerchant()).uuid)
    assert.equal((await stranger.get('/app')).text.includes('Approval rate'), false)
  })

  it('draws what was collected, and has the numbers as a table', async () => {
    // Home draws the currency with the most payments.
    for (const [path, newest] of [
      ['/app', /: SSP\s?5,000$/],
      ['/app/reports?currency=KES', /: KSh\s?1,250\.50$/],
    ] as const) {
      const { text } = await owner.get(path)
      const points = [...text.matchAll(/<g><title>([^<]*)<\/title>/g)].map(([, title]) => title ?? '')
      assert.equal(points.length, 30, path)
      assert.match(points.at(-1) ?? '', newest)
    }
    for (const by of ['day', 'gateway', 'channel', 'status', 'currency']) {
      const { http, text } = await owner.get(`/app/reports?by=${by}&currency=KES`)
      assert.equal(http, 200, by)
      assert.match(text, /<td class="num" data-label="Collected"><a [^>]+>KSh\s?1,250\.50<\/a><\/td>/, by)
    }
  })

  it('reports the chosen period, and says beside the field why another one is refused', async () => {
    const { text } = await owner.get('/app/reports?from=2020-01-01&to=2020-01-31')
    assert.match(text, /No payments in this period/)
    for (const [period, field] of [
      ['from=2020-01-01&to=2022-01-31', 'to'],
      ['from=yesterday', 'from'],
      ['from=2026-02-31&to=2026-03-01', 'from'],
      ['from=2026-03-02&to=2026-03-01', 'to'],
    ]) {
      const refused = await owner.get(`/app/reports?${period}&by=gateway`)
      assert.equal(refused.http, 422, refused.text)
      assert.match(refused.text, new RegExp(`id="f-${field}-error">[A-Z]`), period)
      assert.match(refused.text, /<option value="gateway" selected>/)
      const file = await owner.get(`/app/reports/export?${period}`)
      assert.equal(file.headers.get('location'), `/app/reports?${period}`)
    }
  })

  it('shows the wallet with a sentence beside a day that does not exist, also where it explains a balance', async () => {
    const query = 'currency=KES&createdFrom=2026-02-31'
    const refused = await owner.get(`/app/wallet?${query}`)
    assert.equal(refused.http, 422, refused.text)
    assert.match(refused.text, /id="f-createdFrom-error">[A-Z]/)
    const file = await owner.get(`/app/wallet/export?${query}`)
    assert.equal(file.headers.get('location'), `/app/wallet?${query}`)
  })

  it('needs the right to reports', async () => {
    const support = await signInAs(service, merchant.uuid, 'support')
    assert.equal((await support.get('/app/reports')).http, 403)
  })

  it('shows the refunds and ledger lines of a payment to those who may read them', async () => {
    const page = `/app/payments/${uuid}`
    await owner.submit(page, `${page}/refund`, { amount: '250.50', reason: 'One mug broke' })
    const { text } = await owner.get(page)
    assert.match(text, /One mug broke/)
    assert.match(text, /Ledger lines/)
    assert.match(text, /−KSh\s?250\.50/)
    const support = await signInAs(service, merchant.uuid, 'support')
    const seen = (await support.get(page)).text
    assert.deepEqual([seen.includes('One mug broke'), seen.includes('Ledger lines')], [true, false])
  })

  it('lists disputed payments, and home counts them', async () => {
    const { reference } = (await merchant.api.get(`/api/v1/checkout/payments/${uuid}`)).body.data
    assert.equal((await owner.get('/app/disputes')).text.includes(uuid), false)
    const disputed = await merchant.api.post(`/api/v1/sandbox/payments/${reference}/dispute`, {
      outcome: 'open',
    })
    assert.equal(disputed.http, 200, disputed.text)
    assert.ok((await owner.get('/app/disputes')).text.includes(uuid))
    assert.equal((await owner.get('/app/disputes?status=lost')).text.includes(uuid), false)
    assert.ok((await owner.get('/app/disputes?status=all')).text.includes(uuid))
    assert.match((await owner.get('/app')).text, /1 payment is disputed\. Respond by <time/)
  })
})
