// The dashboard at /app: signing in, forged forms, rights of the roles, tenant isolation, and texts of payers.

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { EN } from '../../src/dashboard/locales/en.ts'
import { SCREENS } from '../../src/dashboard/routes.ts'
import { ROLES } from '../../src/people/roles.ts'
import { initiateBody } from '../support/builders.ts'
import { hiddenFields, newVisitor, PASSWORD, signInAs, type Visitor } from '../support/dashboard.ts'
import { seedNumberedCustomers } from '../support/seed.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })

async function paidPayment(by: Awaited<ReturnType<typeof service.newMerchant>>, changes = {}) {
  const body = initiateBody(changes)
  const made = await by.api.post('/api/v1/checkout/initiate-payment', body)
  assert.equal(made.http, 201, made.text)
  const path = `/api/v1/sandbox/payments/${encodeURIComponent(body.reference)}/complete`
  const paid = await by.api.post(path, { instrument: 'card_success' })
  assert.equal(paid.http, 200, paid.text)
  return { uuid: String(made.body.data.uuid), reference: String(body.reference) }
}

let merchant: Awaited<ReturnType<typeof service.newMerchant>>
let owner: Visitor & { email: string }
let payment: Awaited<ReturnType<typeof paidPayment>>

before(async () => {
  merchant = await service.newMerchant()
  owner = await signInAs(service, merchant.uuid)
  payment = await paidPayment(merchant, { description: 'Two mugs' })
})

describe('sessions of the dashboard', () => {
  it('sends a visitor to the sign-in, and back to the screen afterwards', async () => {
    const visitor = newVisitor(service)
    const sent = await visitor.get('/app/payments?status=failed')
    assert.equal(sent.headers.get('location'), '/app/sign-in?next=%2Fapp%2Fpayments%3Fstatus%3Dfailed')
    const fields = { email: owner.email, password: PASSWORD, next: '/app/payments?status=failed' }
    const entered = await visitor.post('/app/sign-in', fields)
    assert.deepEqual([entered.http, entered.headers.get('location')], [303, '/app/payments?status=failed'])
    assert.equal((await visitor.get('/app/payments')).http, 200)
  })

  it('leads to no other site after the sign-in', async () => {
    for (const next of [
      'https://evil.example',
      '//evil.example',
      '/app//evil.example/..',
      '/appx',
      'javascript:1',
    ]) {
      const visitor = newVisitor(service)
      const entered = await visitor.post('/app/sign-in', { email: owner.email, password: PASSWORD, next })
      const target = new URL(entered.headers.get('location') ?? '', service.url)
      assert.equal(target.origin, new URL(service.url).origin, next)
      assert.ok(target.pathname.startsWith('/app'), next)
    }
  })

  it('replaces the token at each sign-in', async () => {
    const visitor = newVisitor(service)
    await visitor.post('/app/sign-in', { email: owner.email, password: PASSWORD })
    const planted = new Map(visitor.cookies)
    await visitor.post('/app/sign-in', { email: owner.email, password: PASSWORD })
    assert.notEqual(visitor.cookies.get('cowry_session'), planted.get('cowry_session'))
    const cookie = `cowry_session=${planted.get('cowry_session')}`
    assert.equal((await newVisitor(service).get('/app', { cookie })).http, 303)
  })

  it('refuses a copy of the cookie after the sign-out', async () => {
    const visitor = newVisitor(service)
    await visitor.post('/app/sign-in', { email: owner.email, password: PASSWORD })
    const cookie = `cowry_session=${visitor.cookies.get('cowry_session')}`
    assert.equal((await newVisitor(service).get('/app', { cookie })).http, 200)
    await visitor.submit('/app', '/app/sign-out')
    assert.equal((await newVisitor(service).get('/app', { cookie })).http, 303)
  })

  it('answers an unknown account like a wrong password', async () => {
    const visitor = newVisitor(service)
    const answers = await Promise.all(
      [owner.email, 'unknown@example.com'].map((email) =>
        visitor.post('/app/sign-in', { email, password: 'wrong password 1' }),
      ),
    )
    const [known, unknown] = answers.map(({ http, text }) => [
      http,
      text.replaceAll(/value="[^"]*@example.com"/g, ''),
    ])
    assert.deepEqual(known, unknown)
    assert.equal(known?.[0], 401)
  })
})

describe('forms of the dashboard', () => {
  it('refuses a form of another site, without the token, or with the token of another session', async () => {
    const page = `/app/payments/${payment.uuid}`
    const action = `${page}/refund`
    const fields = { ...hiddenFields((await owner.get(page)).text, action), amount: '1.00' }
    const other = await signInAs(service, merchant.uuid)
    const theirs = hiddenFields((await other.get(page)).text, action)
    const forged = [
      owner.post(action, fields, { origin: 'https://evil.example' }),
      owner.post(action, fields, { 'sec-fetch-site': 'cross-site' }),
      owner.post(action, fields, { 'sec-fetch-site': 'same-site' }),
      owner.post(action, { ...fields, csrf: '' }),
      owner.post(action, { ...fields, csrf: theirs.csrf ?? '' }),
    ]
    for (const answer of await Promise.all(forged)) {
      assert.equal(answer.http, 403, answer.text)
      assert.ok(answer.text.includes(EN.problemForged))
      assert.ok(answer.text.includes(`<h1>${EN.problemTitle}</h1>`))
    }
    assert.equal((await merchant.api.get('/api/v1/refunds')).body.meta.total, 0)
  })

  it('refuses a form without its submission, which would share the idempotency key of other forms', async () => {
    const page = `/app/payments/${payment.uuid}`
    const { csrf = '' } = hiddenFields((await owner.get(page)).text, `${page}/refund`)
    for (const submission of ['', 'x'.repeat(5_000)])
      assert.equal((await owner.post(`${page}/refund`, { csrf, amount: '1.00', submission })).http, 403)
  })

  it('refuses a form of the merchant that was chosen before', async () => {
    const person = await signInAs(service, merchant.uuid)
    const other = await service.newMerchant()
    const invitation = { email: person.email }
    const invited = await service.admin.post(
      `/admin/v1/merchants/${other.uuid}/owner-invitations`,
      invitation,
    )
    const fields = hiddenFields((await person.get('/app/team')).text, '/app/team/invite')
    const join = new URL(invited.body.data.link).pathname
    assert.equal((await person.submit(join, join)).http, 303)
    const answer = await person.post('/app/team/invite', { ...fields, email: 'a@example.com', role: 'admin' })
    assert.deepEqual([answer.http, answer.text.includes(EN.problemForged)], [403, true])
  })

  it('refunds once, however often the form is submitted', async () => {
    const { uuid } = await paidPayment(merchant)
    const page = `/app/payments/${uuid}`
    const action = `${page}/refund`
    const fields = { ...hiddenFields((await owner.get(page)).text, action), amount: '1.00', reason: 'Broken' }
    const answers = await Promise.all([1, 2, 3].map(() => owner.post(action, fields)))
    for (const { http, headers } of answers)
      assert.deepEqual([http, headers.get('location')], [303, `${page}?done=refund`])
    const changed = await owner.post(action, { ...fields, amount: '2.00' })
    assert.deepEqual([changed.http, changed.text.includes(EN.people_form_used)], [409, true])
    const refunds = await merchant.api.get(`/api/v1/refunds?payment=${uuid}`)
    assert.deepEqual(
      refunds.body.data.map((one: { amount: string }) => one.amount),
      ['1.00'],
    )
  })

  it('shows why the API refuses a form, with the input of the person', async () => {
    const page = `/app/payments/${payment.uuid}`
    const refused = await owner.submit(page, `${page}/refund`, { amount: '999999.00' })
    assert.equal(refused.http, 422)
    assert.match(refused.text, /role="alert"/)
    assert.match(refused.text, /value="999999.00"/)
  })
})

const addresses = (text: string) =>
  [...text.matchAll(/<a href="([^"]*)" lang="(?:fr|ar)"/g)].map(([, href = '']) =>
    href.replaceAll('&amp;', '&'),
  )

describe('languages of the dashboard', () => {
  it('keeps the filters of a list, and the screen after the sign-in', async () => {
    const visitor = newVisitor(service)
    for (const [person, address, mark] of [
      [await signInAs(service, merchant.uuid), '/app/payments?status=failed&search=a%26b', /value="a&amp;b"/],
      [visitor, '/app/sign-in?next=%2Fapp%2Frefunds', /value="\/app\/refunds"/],
    ] as const) {
      const [french = ''] = addresses((await person.get(address)).text)
      const changed = await person.get(french)
      assert.deepEqual([changed.http, changed.headers.get('location')], [303, address])
      const { text } = await person.get(address)
      assert.match(text, /<html lang="fr"/)
      assert.match(text, mark)
    }
    const refused = await visitor.post('/app/sign-in', {
      email: 'a@example.com',
      password: 'x',
      next: '/app/refunds',
    })
    assert.equal(addresses(refused.text)[0], '/app/sign-in?next=%2Fapp%2Frefunds&lang=fr')
  })

  it('leads from a form that was refused to the page of the form', async () => {
    const person = await signInAs(service, merchant.uuid)
    const page = `/app/payments/${payment.uuid}`
    for (const [opened, action, fields] of [
      [page, `${page}/refund`, { amount: '999999.00' }],
      ['/app/team', '/app/team/invite', { email: 'nobody', role: 'viewer' }],
    ] as const) {
      const refused = await person.submit(opened, action, fields)
      assert.equal(refused.http, 422, refused.text)
      for (const address of addresses(refused.text)) {
        const changed = await person.get(address)
        assert.deepEqual([changed.http, changed.headers.get('location')], [303, opened], address)
      }
      assert.equal((await person.get(action)).headers.get('location'), opened)
    }
    assert.match((await person.get(page)).text, /<html lang="ar"/)
  })

  it('has a page at the address of every form, or leads to one', async () => {
    const forms = SCREENS.filter(({ method }) => method === 'POST')
    const refused: string[] = []
    for (const { path } of forms) {
      const address = `/app${path.replaceAll(/\{\w+\}/g, payment.uuid)}`
      const { http, headers } = await owner.get(address)
      const shown = http === 303 ? (await owner.get(headers.get('location') ?? '')).http : http
      if (shown === 303 || shown === 405) refused.push(`${address}: ${shown}`)
    }
    assert.deepEqual([forms.length > 40, refused], [true, []])
  })
})

describe('unknown addresses of the dashboard', () => {
  it('shows a person the menu and the way home, in their language', async () => {
    const person = await signInAs(service, merchant.uuid)
    person.cookies.set('cowry_app_language', 'fr')
    for (const path of ['/app/paymentz', '/app/paymentz/1?a=b', `/app/payments/${payment.uuid}/nothing`]) {
      const { http, text } = await person.get(path)
      assert.equal(http, 404, path)
      assert.match(text, /<html lang="fr"/)
      assert.ok(text.includes('Il n’y a rien à cette adresse'))
      assert.match(text, /href="\/app\/payments" data-key/)
      assert.match(text, /<a href="\/app">Aller à l’accueil/)
    }
    const { http, text } = await person.get('/app/paymentz?a=b&lang=ar')
    assert.equal(http, 404)
    assert.match(text, /<html lang="ar" dir="rtl"/)
    assert.equal(addresses(text)[0], '/app/paymentz?a=b&lang=fr')
    assert.match((await person.get('/app')).text, /<html lang="ar"/)
  })

  it('shows visitors the frame of the sign-in, in the language of the browser', async () => {
    for (const area of ['/app', '/ops']) {
      const visitor = newVisitor(service)
      const { http, text } = await visitor.get(`${area}/nothing/here`, { 'accept-language': 'pt-BR' })
      assert.equal(http, 404)
      assert.match(text, /<html lang="pt"/)
      assert.ok(text.includes(`<a href="${area}">Ir para a página inicial`))
      assert.equal(text.includes('data-key'), false)
    }
  })

  it('answers a form to an unknown address and a method that no page takes in the same frame', async () => {
    for (const [answer, http] of [
      [await owner.post('/app/nothing', {}), 404],
      [await owner.post('/app', {}), 405],
    ] as const) {
      assert.equal(answer.http, http)
      assert.match(answer.text, /href="\/app\/payments" data-key/)
    }
  })

  it('leaves the addresses of payers and those that only begin alike to the pages of payers', async () => {
    for (const path of ['/pay/nothing', '/apple']) {
      const { text } = await owner.get(path)
      assert.equal(text.includes('data-key'), false, path)
    }
  })
})

describe('roles in the dashboard', () => {
  it('shows a role only what its scopes allow, and refuses the rest', async () => {
    const seen: Record<string, unknown> = {}
    for (const role of ROLES) {
      // While the request of one person waits, no person has the form.
      const page = `/app/payments/${(await paidPayment(merchant)).uuid}`
      const visitor = await signInAs(service, merchant.uuid, role)
      const { text } = await visitor.get(page)
      const menu = [...text.matchAll(/<a href="(\/app[^"]*)" data-key/g)].map(([, path]) => path)
      for (const path of menu) assert.equal((await visitor.get(String(path))).http, 200, `${role} ${path}`)
      // The form of Support asks for a refund, which another person approves.
      const hasRefundForm = text.includes(`action="${page}/refund"`)
      const hidden = hiddenFields(text, '/app/sign-out')
      const forced = await visitor.post(`${page}/refund`, { ...hidden, amount: '0.50', reason: 'Late' })
      assert.equal(forced.http, hasRefundForm ? 303 : 403, role)
      seen[role] = { hasRefundForm, seesWallet: menu.includes('/app/wallet') }
    }
    assert.deepEqual(seen, {
      viewer: { hasRefundForm: false, seesWallet: true },
      support: { hasRefundForm: true, seesWallet: false },
      finance: { hasRefundForm: true, seesWallet: true },
      developer: { hasRefundForm: false, seesWallet: false },
      admin: { hasRefundForm: true, seesWallet: true },
      owner: { hasRefundForm: true, seesWallet: true },
    })
  })
})

describe('tenant isolation of the dashboard', () => {
  it('shows nothing of another merchant by any id in any address', async () => {
    const stranger = await signInAs(service, (await service.newMerchant()).uuid)
    const { customer } = (await merchant.api.get(`/api/v1/checkout/payments/${payment.uuid}`)).body.data
    for (const path of [
      `/app/payments/${payment.uuid}`,
      `/app/customers/${customer.uuid}`,
      `/app/cases/${payment.uuid}`,
    ])
      assert.equal((await stranger.get(path)).http, 404, path)
    const found = await stranger.get(`/app/search?q=${payment.reference}`)
    assert.equal(found.text.includes(payment.uuid), false)
    const hidden = hiddenFields((await stranger.get('/app')).text, '/app/sign-out')
    const refund = await stranger.post(`/app/payments/${payment.uuid}/refund`, { ...hidden, amount: '1.00' })
    assert.equal(refund.http, 404)
  })
})

describe('a search for a text that very many have', () => {
  it('says that only the newest were searched, and finds an e-mail as a whole', async () => {
    const { uuid } = await service.newMerchant()
    const person = await signInAs(service, uuid)
    await seedNumberedCustomers(service.db, uuid, 2_001)
    const says = /only the newest were searched/
    for (const path of ['/app/search?q=person', '/app/customers?search=person'])
      assert.match((await person.get(path)).text, says, path)
    const one = await person.get('/app/search?q=p7%40example.com')
    assert.ok(one.text.includes('p7@example.com'))
    assert.doesNotMatch(one.text, says)
  })
})

describe('a suspended merchant', () => {
  it('shows no screen of a suspended merchant, and changes nothing', async () => {
    const { uuid } = await service.newMerchant()
    const person = await signInAs(service, uuid)
    assert.equal((await person.get('/app')).http, 200)
    assert.equal((await service.admin.post(`/admin/v1/merchants/${uuid}/suspend`, {})).http, 200)
    const refused = await person.get('/app/payments')
    assert.deepEqual([refused.http, refused.text.includes('account is suspended')], [403, true])
    // There the person ends sessions, and chooses another merchant.
    assert.equal((await person.get('/app/account')).http, 200)
  })
})

describe('texts of payers and merchants', () => {
  it('escapes markup in every text', async () => {
    const markup = '<img src=x onerror=alert(1)>"\'`'
    const { uuid } = await paidPayment(merchant, {
      description: markup,
      metadata: { [markup.slice(0, 40)]: markup },
      customer: { email: 'x@example.com', firstname: markup, lastname: markup },
    })
    const { customer } = (await merchant.api.get(`/api/v1/checkout/payments/${uuid}`)).body.data
    const paths = [
      `/app/payments/${uuid}`,
      '/app/payments',
      `/app/customers/${customer.uuid}`,
      '/app/customers',
    ]
    for (const path of [...paths, `/app/search?q=${encodeURIComponent(markup)}`]) {
      const { http, text } = await owner.get(path)
      assert.equal(http, 200, path)
      assert.equal(text.includes('<img'), false, path)
      assert.ok(text.includes('&lt;img'), path)
    }
  })
})

describe('lists of the dashboard', () => {
  it('filters a list by the address, and exports what is shown', async () => {
    const address = `/app/payments?search=${payment.reference}`
    const { text } = await owner.get(address)
    assert.ok(text.includes(`href="/app/payments/${payment.uuid}"`))
    assert.equal((await owner.get('/app/payments?status=failed')).text.includes(payment.uuid), false)
    const file = await owner.get(address.replace('payments?', 'payments/export?'))
    assert.match(file.headers.get('content-disposition') ?? '', /attachment; filename="payments/)
    assert.deepEqual([file.http, file.text.trim().split('\r\n').length], [200, 2])
  })

  it('exports nothing with an invalid filter: the list says why', async () => {
    for (const address of [
      ...['status=zz', 'currency=zz', 'channel=zz', 'paymentGateway=9', 'paidFrom=zz'].map(
        (one) => `payments?${one}`,
      ),
      ...['refunds', 'disputes', 'audit', 'wallet'].map((one) => `${one}?createdFrom=zz`),
      ...['refunds?status=zz', 'disputes?status=zz', 'cases?state=zz', 'audit?objectType=zz'],
    ]) {
      const { http, headers } = await owner.get(`/app/${address.replace('?', '/export?')}`)
      assert.deepEqual([http, headers.get('location')], [303, `/app/${address}`])
      assert.equal((await owner.get(`/app/${address}`)).http, 422, address)
    }
  })

  it('shows the list with its filters if one of them is invalid, and why', async () => {
    for (const filter of ['status=nonsense', 'createdFrom=0001-01-01', 'createdTo=9999-12-31']) {
      const { http, text } = await owner.get(`/app/payments?${filter}&search=kept-words`)
      assert.equal(http, 422, filter)
      assert.match(text, /role="alert"/)
      assert.match(text, /value="kept-words"/)
    }
  })
})
