// What people decide and record about payments: refunds with their limits and approvals, notes, receipts, saved views.

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import { payWith } from '../support/builders.ts'
import { caseCalls } from '../support/cases.ts'
import { hiddenFields, PASSWORD, signInAs, type Visitor } from '../support/dashboard.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })

let merchant: Awaited<ReturnType<typeof service.newMerchant>>
let owner: Visitor
let finance: Visitor & { email: string }
let support: Visitor
let stranger: Visitor

before(async () => {
  merchant = await service.newMerchant()
  owner = await signInAs(service, merchant.uuid)
  finance = await signInAs(service, merchant.uuid, 'finance')
  support = await signInAs(service, merchant.uuid, 'support')
  stranger = await signInAs(service, (await service.newMerchant()).uuid)
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
    for (const amount of ['600', '400'])
      await force(owner, `${page}/refund`, { amount, reason: 'A mug broke' })
    assert.deepEqual(
      (await refundsOf(page)).map(({ amount }) => amount),
      ['600.00'],
    )
    const paymentUuid = page.split('/').at(-1)
    const byKey = await merchant.api.post('/api/v1/refunds', { paymentUuid })
    assert.deepEqual([byKey.http, byKey.body.data.amount], [201, '1400.00'])
  })

  it('makes one of two refunds that reach the limit only together, and asks for the other', async () => {
    const page = await paidPage()
    const admin = await signInAs(service, merchant.uuid, 'admin')
    const answers = await Promise.all([refund(owner, page, '600'), refund(admin, page, '600')])
    assert.deepEqual(answers.map(({ headers }) => headers.get('location')).toSorted(), [
      `${page}?done=refund`,
      `${page}?done=request`,
    ])
    assert.deepEqual(await amountsOf(page), ['600.00'])
  })
})

/** The page of the request that the person has made for the payment. */
async function askFor(person: Visitor, page: string, amount: string): Promise<string> {
  const asked = await refund(person, page, amount)
  assert.equal(asked.headers.get('location'), `${page}?done=request`, asked.text)
  const found = /<h2>Refund<\/h2>.*?href="(\/app\/refunds\/requests\/[^"]+)"/s.exec(
    (await person.get(page)).text,
  )
  assert.ok(found?.[1])
  return found[1]
}

/** Posts without the form of the page, as an attacker with a session does. */
async function force(visitor: Visitor, action: string, fields: Record<string, string> = {}) {
  const hidden = hiddenFields((await visitor.get('/app')).text, '/app/sign-out')
  return visitor.post(action, { ...hidden, ...fields })
}

const amountsOf = async (page: string) => (await refundsOf(page)).map(({ amount }) => amount)

describe('approval of refunds', () => {
  it('refunds once what support asks for and finance approves, with both in the audit log', async () => {
    const page = await paidPage()
    const request = await askFor(support, page, '250')
    assert.deepEqual(await refundsOf(page), [])
    assert.match((await finance.get('/app')).text, /refunds? waits? for the approval/)
    assert.ok((await finance.get('/app/refunds/requests')).text.includes(request))
    assert.match((await finance.get(page)).text, /The refund waits for the approval of another person/)
    const hidden = hiddenFields((await finance.get(request)).text, `${request}/approve`)
    for (const _ of [1, 2]) {
      const approved = await finance.post(`${request}/approve`, hidden)
      assert.equal(approved.headers.get('location'), `${request}?done=approved`, approved.text)
    }
    assert.deepEqual(await amountsOf(page), ['250.00'])
    const { text } = await owner.get(request)
    assert.ok(text.includes('A support') && text.includes('A finance') && text.includes('A mug broke'))
    const timeline = (await owner.get(page)).text
    assert.match(timeline, /A refund of KSh\s250 was asked for/)
    assert.match(timeline, /Decision about the refund of KSh\s250: Approved/)
    owner.cookies.set('cowry_app_language', 'fr')
    const french = (await owner.get(page)).text
    owner.cookies.delete('cowry_app_language')
    assert.match(french, /Décision sur le remboursement de [^<]*Approuvé/)
    const listed = (await owner.get('/app/refunds')).text
    assert.match(listed, /badge good">Refunded</)
    assert.doesNotMatch(listed, /badge good">Paid</)
    assert.match((await owner.get('/app/audit')).text, /A support<\/bdi>/)
    const audited = await merchant.api.get(`/api/v1/audit?object=${request.split('/').at(-1)}`)
    assert.deepEqual(
      audited.body.data.map(({ operation, actor }: { operation: string; actor: { role: string } }) => [
        operation,
        actor.role,
      ]),
      [
        ['POST /app/refund-requests/{uuid}/approve', 'finance'],
        ['POST /app/refund-requests', 'support'],
      ],
    )
  })

  it('is not given by a person who has joined after the request', async () => {
    const page = await paidPage()
    const request = await askFor(support, page, '260')
    const later = await signInAs(service, merchant.uuid)
    const refused = await later.submit(request, `${request}/approve`)
    assert.match(refused.text, /You have joined after this refund was asked for/)
    assert.deepEqual(await amountsOf(page), [])
    assert.equal((await finance.submit(request, `${request}/approve`)).http, 303)
    assert.deepEqual(await amountsOf(page), ['260.00'])
  })

  it('shows the queue with who asked, when and why, and the person who asked what came of it', async () => {
    const asker = await signInAs(service, merchant.uuid, 'support')
    const own = '/app/refunds/requests?whose=own&status=all'
    const [page, other] = [await paidPage(), await paidPage()]
    const [request, approved] = [await askFor(asker, page, '70'), await askFor(asker, other, '80')]
    const queue = (await finance.get('/app/refunds/requests')).text
    const row = queue.split('<tr').find((one) => one.includes(request)) ?? ''
    assert.match(row, /A support/)
    assert.match(row, /<time datetime="/)
    assert.match(row, /A mug broke/)
    assert.match((await asker.get('/app')).text, /Your requests for refunds: 2 waiting/)
    assert.match((await asker.get(own)).text, /<h1>Requests for refunds</)
    assert.match(queue, /<h1>Refunds to approve</)
    await finance.submit(request, `${request}/reject`, { note: 'The mug came back <b>whole</b>' })
    await finance.submit(approved, `${approved}/approve`)
    assert.match((await asker.get('/app')).text, /0 waiting. In the last 3 days: 1 approved, 1 rejected/)
    assert.doesNotMatch((await support.get('/app')).text, /1 approved, 1 rejected/)
    for (const address of [page, own]) {
      const { text } = await asker.get(address)
      const shown = text.split('<tr').find((one) => one.includes(request)) ?? ''
      assert.match(shown, /Rejected/, address)
      assert.match(shown, /A finance/, address)
      assert.match(shown, /The mug came back &lt;b&gt;whole/, address)
    }
    const listed = (await asker.get(own)).text
    assert.deepEqual(
      [...listed.matchAll(/class="row" href="([^"]+)"/g)].map(([, path]) => path).toSorted(),
      [request, approved].toSorted(),
    )
    const rejected = (await asker.get(own.replace('all', 'rejected'))).text
    assert.deepEqual([rejected.includes(request), rejected.includes(approved)], [true, false])
    const empty = (await stranger.get(own)).text
    assert.equal(empty.includes('class="row"'), false)
  })

  it('asks for the approval of another person from the limit on, whatever the role', async () => {
    const page = await paidPage()
    const request = await askFor(owner, page, '1000')
    assert.equal((await owner.get(request)).text.includes(`${request}/approve`), false)
    const own = await force(owner, `${request}/approve`)
    assert.deepEqual([own.http, /asked for this refund yourself/.test(own.text)], [422, true])
    assert.equal((await force(owner, `${request}/reject`, { note: 'No' })).http, 422)
    assert.equal((await force(support, `${request}/approve`)).http, 403)
    assert.equal((await force(stranger, `${request}/approve`)).http, 404)
    assert.deepEqual(await refundsOf(page), [])
    await service.db.query(ageSessions, [finance.email])
    const asked = await finance.submit(request, `${request}/approve`)
    assert.equal(asked.http, 403)
    const fields = { ...hiddenFields(asked.text, `${request}/approve`), confirmPassword: PASSWORD }
    assert.equal((await finance.post(`${request}/approve`, fields)).http, 303)
    assert.deepEqual(await amountsOf(page), ['1000.00'])
  })

  it('makes one refund when two people approve at the same moment, and none after a rejection', async () => {
    const page = await paidPage()
    const request = await askFor(support, page, '100')
    const answers = await Promise.all([
      force(finance, `${request}/approve`),
      force(owner, `${request}/approve`),
    ])
    assert.deepEqual(answers.map(({ http }) => http).toSorted(), [303, 422])
    assert.deepEqual(await amountsOf(page), ['100.00'])
    const next = await askFor(support, page, '200')
    assert.equal((await force(support, `${page}/refund`, { amount: '300', reason: 'Again' })).http, 422)
    const raced = await Promise.all([
      force(finance, `${next}/approve`),
      force(owner, `${next}/reject`, { note: 'Ask the payer first' }),
    ])
    assert.deepEqual(raced.map(({ http }) => http).toSorted(), [303, 422])
    const wasApproved = raced[0].http === 303
    assert.deepEqual(await amountsOf(page), wasApproved ? ['200.00', '100.00'] : ['100.00'])
    assert.equal((await support.get(next)).text.includes('Ask the payer first'), !wasApproved)
  })

  it('refuses a request without a reason', async () => {
    const page = await paidPage()
    const fields = { amount: '100', reason: ' ' }
    const asked = await support.submit(page, `${page}/refund`, fields)
    assert.deepEqual([asked.http, /Give a reason/.test(asked.text)], [422, true])
    assert.match((await support.get(page)).text, /name="reason"[^>]* required/)
    assert.equal((await owner.submit(page, `${page}/refund`, { ...fields, amount: '1000' })).http, 422)
    assert.equal((await owner.submit(page, `${page}/refund`, fields)).http, 303)
  })

  it('shows the waiting request in place of the form, and lets the person who asked withdraw it there', async () => {
    const page = await paidPage()
    const request = await askFor(support, page, '100')
    const [own, others] = [(await support.get(page)).text, (await finance.get(page)).text]
    for (const text of [own, others]) assert.equal(text.includes(`action="${page}/refund"`), false)
    assert.equal(others.includes(`${request}/withdraw`), false)
    assert.equal((await support.submit(page, `${request}/withdraw`)).http, 303)
    assert.ok((await support.get(page)).text.includes(`action="${page}/refund"`))
  })

  it('says what to tell the customer, before and after the approval', async () => {
    const payment = await payWith(merchant.api, 'mobile_success', { currency: 'KES', amount: 2000 })
    const page = `/app/payments/${payment.uuid}`
    const request = await askFor(support, page, '150')
    const explanation = (text: string) => /id="tell">(.*?)<\/section>/s.exec(text)?.[1] ?? ''
    for (const address of [page, request]) {
      const text = explanation((await support.get(address)).text)
      assert.match(text, /KSh\s150 goes back to: Mobile money/, address)
      assert.match(text, /Another person of our team approves it first/, address)
      assert.match(text, /at once or after several days/, address)
    }
    await finance.submit(request, `${request}/approve`)
    for (const address of [page, request]) {
      const text = explanation((await support.get(address)).text)
      assert.match(text, /KSh\s150 was sent back to: Mobile money/, address)
      assert.doesNotMatch(text, /approves it first/, address)
    }
  })

  it('shows the person who decides the customer, what was paid and how, and earlier refunds', async () => {
    const page = await paidPage()
    await refund(owner, page, '300')
    const request = await askFor(support, page, '150')
    const { text } = await finance.get(request)
    assert.match(text, /href="\/app\/customers\/[^"]+"/)
    assert.match(text, /Paid amount<\/dt><dd>KSh\s2,000</)
    assert.match(text, /Method<\/dt><dd>Card, Visa •••• 4242</)
    assert.match(text, /Earlier refunds<\/h2>.*KSh\s300/s)
    assert.match(text, /Reason<\/dt><dd><bdi>A mug broke</)
  })

  it('keeps the request open when the payment was refunded meanwhile, and lets its person withdraw it', async () => {
    const page = await paidPage()
    const request = await askFor(support, page, '500')
    await merchant.api.post('/api/v1/refunds', { paymentUuid: page.split('/').at(-1) })
    const late = await force(owner, `${request}/approve`)
    assert.equal(late.http, 422)
    assert.deepEqual(await amountsOf(page), ['2000.00'])
    assert.equal((await force(finance, `${request}/withdraw`)).http, 422)
    const withdrawn = await support.submit(request, `${request}/withdraw`)
    assert.equal(withdrawn.headers.get('location'), `${request}?done=withdrawn`, withdrawn.text)
    assert.equal((await force(owner, `${request}/approve`)).http, 422)
  })
})

describe('cases that give money back', () => {
  it('needs a second person from the limit on refunds on, and a confirmation of who the person is', async () => {
    const payment = await payWith(merchant.api, 'transfer_underpaid', { currency: 'KES', amount: 2000 })
    const { caseOf } = caseCalls(service)
    const { uuid } = await caseOf(merchant.api, payment.uuid)
    const page = `/app/cases/${uuid}`
    const fields = { resolution: 'return', note: 'Not enough' }
    await service.db.query(ageSessions, [finance.email])
    const asked = await finance.submit(page, `${page}/resolve`, fields)
    assert.equal(asked.http, 403)
    const confirmed = { ...hiddenFields(asked.text, `${page}/resolve`), confirmPassword: PASSWORD }
    assert.equal((await finance.post(`${page}/resolve`, confirmed)).http, 303)
    assert.equal((await finance.submit(page, `${page}/resolve`, fields)).http, 303)
    assert.equal((await caseOf(merchant.api, payment.uuid)).state, 'awaiting_approval')
    assert.equal((await owner.submit(page, `${page}/approve`)).http, 303)
    assert.equal((await caseOf(merchant.api, payment.uuid)).state, 'resolved')
  })
})

describe('notes, receipts and saved views', () => {
  it('shows notes with their person, as text, to the team alone', async () => {
    const page = await paidPage()
    const text = 'Called <b>twice</b>\nHer number is wrong'
    const fields = { ...hiddenFields((await support.get(page)).text, `${page}/notes`), text }
    for (const _ of [1, 2]) assert.equal((await support.post(`${page}/notes`, fields)).http, 303)
    const shown = (await owner.get(page)).text
    assert.equal(shown.split('Called &lt;b&gt;twice&lt;/b&gt;\nHer number is wrong').length, 2)
    assert.match(shown, /A support<\/bdi> ·/)
    for (const refused of ['', '  ', 'x'.repeat(2001), 'Card 4111 1111 1111 1111'])
      assert.equal((await support.submit(page, `${page}/notes`, { text: refused })).http, 422)
    const viewer = await signInAs(service, merchant.uuid, 'viewer')
    const seen = (await viewer.get(page)).text
    assert.deepEqual([seen.includes('Called &lt;b&gt;'), seen.includes(`${page}/notes`)], [true, false])
    assert.equal((await force(viewer, `${page}/notes`, { text: 'x' })).http, 403)
    assert.equal((await force(stranger, `${page}/notes`, { text: 'x' })).http, 404)
  })

  it('gives the link of the receipt at most three times a day, where mail is not configured', async () => {
    const page = await paidPage()
    const send = () => support.submit(page, `${page}/receipt`)
    for (const _ of [1, 2, 3]) {
      const sent = await send()
      assert.equal(sent.headers.get('location'), `${page}?done=receiptLink`, sent.text)
    }
    const { text } = await support.get(`${page}?done=receiptLink`)
    const link = /href="[^"]*(\/pay\/[^"]+\/receipt)"/.exec(text)?.[1]
    assert.equal((await stranger.get(link ?? '')).http, 200)
    const limited = await send()
    assert.deepEqual([limited.http, /at most 3 times a day/.test(limited.text)], [422, true])
    assert.equal((await force(stranger, `${page}/receipt`)).http, 404)
  })

  it('saves views per person, shares them with the team, renames and deletes them', async () => {
    const list = '/app/payments?status=failed&currency=KES'
    const saved = await support.submit(list, '/app/views', { name: 'Failed <i>KES</i>' })
    assert.equal(saved.headers.get('location'), list, saved.text)
    const link = 'href="/app/payments?status=failed&amp;currency=KES"'
    const names = async (person: Visitor) => {
      const { text } = await person.get('/app/payments')
      return [text.includes(link), text.includes('Failed &lt;i&gt;'), text.includes('Team view')]
    }
    assert.deepEqual(await names(support), [true, true, false])
    assert.deepEqual(await names(finance), [false, false, false])
    const view = /href="(\/app\/views\/[^"]+)"/.exec((await support.get('/app/views')).text)?.[1] ?? ''
    assert.equal((await force(finance, `${view}/delete`)).http, 404)
    const shared = await support.submit(view, view, { name: 'Team view', isShared: 'on' })
    assert.equal(shared.http, 303, shared.text)
    assert.deepEqual(await names(finance), [true, false, true])
    assert.equal((await force(finance, view, { name: 'Mine' })).http, 422)
    for (const path of [view, `${view}/delete`]) assert.equal((await force(stranger, path)).http, 404)
    assert.equal((await stranger.get(view)).http, 404)
    assert.equal((await support.submit(view, `${view}/delete`)).http, 303)
    assert.deepEqual(await names(support), [false, false, false])
  })
})
