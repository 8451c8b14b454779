// The area of operators at /ops: who may enter, and its screens.

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { OPS_SCREENS } from '../../src/dashboard/ops/routes.ts'
import { sql } from '../../src/kit/db/db.ts'
import { payWith } from '../support/builders.ts'
import {
  hiddenFields,
  newVisitor,
  PASSWORD,
  signInAs,
  signInAsOperator,
  type Visitor,
} from '../support/dashboard.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })

let merchant: Awaited<ReturnType<typeof service.newMerchant>>
let operator: Visitor & { email: string }
let owner: Visitor & { email: string }

before(async () => {
  merchant = await service.newMerchant()
  operator = await signInAsOperator(service)
  owner = await signInAs(service, merchant.uuid)
})

const countInvitations = sql<{ count: number }>`
select count(*)::integer as count
from invitations
where email = $1`

const locationOf = ({ http, headers }: Awaited<ReturnType<Visitor['get']>>) => [http, headers.get('location')]

describe('who may enter the area of operators', () => {
  it('lets an operator in with a password and out again', async () => {
    const visitor = newVisitor(service)
    assert.deepEqual(locationOf(await visitor.get('/ops')), [303, '/ops/sign-in'])
    const entered = await visitor.post('/ops/sign-in', { email: operator.email, password: PASSWORD })
    assert.deepEqual(locationOf(entered), [303, '/ops'])
    assert.equal((await visitor.get('/ops')).http, 200)
    const cookie = `cowry_ops_session=${visitor.cookies.get('cowry_ops_session')}`
    assert.deepEqual(locationOf(await visitor.submit('/ops', '/ops/sign-out')), [303, '/ops/sign-in'])
    assert.deepEqual(locationOf(await newVisitor(service).get('/ops', { cookie })), [303, '/ops/sign-in'])
  })

  it('refuses each account at the sign-in of the other area like an unknown one', async () => {
    for (const [path, email] of [
      ['/ops/sign-in', owner.email],
      ['/app/sign-in', operator.email],
    ] as const)
      assert.equal((await newVisitor(service).post(path, { email, password: PASSWORD })).http, 401, path)
  })

  it('takes no session of one area in the other', async () => {
    const ofOwner = owner.cookies.get('cowry_session')
    const ofOperator = operator.cookies.get('cowry_ops_session')
    assert.ok(ofOwner && ofOperator)
    const planted = newVisitor(service)
    const atOps = await planted.get('/ops', { cookie: `cowry_ops_session=${ofOwner}` })
    assert.deepEqual(locationOf(atOps), [303, '/ops/sign-in'])
    for (const path of ['/app', '/app/choose']) {
      const answer = await planted.get(path, { cookie: `cowry_session=${ofOperator}` })
      assert.deepEqual(locationOf(answer), [303, '/app/sign-in'], path)
    }
  })

  it('keeps the session of a member who accepts the invitation of an operator in the same browser', async () => {
    const member = await signInAs(service, merchant.uuid)
    await signInAsOperator(service, member)
    assert.equal((await member.get('/app')).http, 200)
    assert.equal((await member.get('/ops')).http, 200)
  })

  it('leads to no screen of the other area after the sign-in', async () => {
    for (const next of ['/app/payments', '/opsx', '//evil.example', 'https://evil.example/ops']) {
      const answer = await newVisitor(service).post('/ops/sign-in', {
        ...{ email: operator.email, password: PASSWORD, next },
      })
      assert.deepEqual(locationOf(answer), [303, '/ops'], next)
    }
  })
})

describe('merchants in the area of operators', () => {
  const page = () => `/ops/merchants/${merchant.uuid}`

  it('creates a merchant, and shows why the API refuses one', async () => {
    const fields = { name: 'Duka la Mama', baseCurrency: 'KES' }
    const created = await operator.submit('/ops/merchants/new', '/ops/merchants/new', fields)
    assert.equal(created.http, 303, created.text)
    const shown = await operator.get(created.headers.get('location') ?? '')
    assert.match(shown.text, /Duka la Mama/)
    assert.match((await operator.get('/ops/merchants')).text, /Duka la Mama/)
    const wrong = { ...fields, baseCurrency: 'XXX' }
    const refused = await operator.submit('/ops/merchants/new', '/ops/merchants/new', wrong)
    assert.equal(refused.http, 422)
    assert.match(refused.text, /role="alert"/)
    assert.match(refused.text, /value="XXX"/)
  })

  it('makes one merchant, key, invitation and operator, however often a form is sent', async () => {
    const shop = await service.newMerchant()
    const path = `/ops/merchants/${shop.uuid}`
    const invitations = async () =>
      (await service.db.query(countInvitations, ['twice@example.com']))[0]?.count ?? 0
    const merchants = async () => (await service.admin.get('/admin/v1/merchants?limit=1')).body.meta.total
    const keys = async () =>
      (await service.admin.get(`/admin/v1/merchants/${shop.uuid}/keys`)).body.meta.total
    const fields = { name: 'Sent twice', baseCurrency: 'KES', email: 'twice@example.com' }
    for (const { action, count, leadsTo } of [
      { action: '/ops/merchants/new', count: merchants, leadsTo: '/ops/merchants' },
      { action: `${path}/keys/new`, count: keys, leadsTo: path },
      { action: '/ops/people/invite', count: invitations, leadsTo: '/ops/people' },
      { action: `${path}/invite`, count: invitations, leadsTo: path },
    ]) {
      const form = hiddenFields(
        (await operator.get(action === `${path}/invite` ? path : action)).text,
        action,
      )
      const before = await count()
      const send = () => operator.post(action, { ...form, ...fields, 'scope-checkout:read': 'yes' })
      const [first, ...others] = [await send(), await send(), ...(await Promise.all([send(), send()]))]
      assert.ok(first && first.http < 400, first?.text)
      for (const other of others) assert.deepEqual(locationOf(other), [303, `${leadsTo}?done=repeated`])
      assert.equal((await count()) - before, 1, action)
      assert.match((await operator.get(`${leadsTo}?done=repeated`)).text, /was sent before/)
    }
  })

  it('takes a form again that was refused', async () => {
    const action = '/ops/merchants/new'
    const form = hiddenFields((await operator.get(action)).text, action)
    const wrong = await operator.post(action, { ...form, name: 'Again', baseCurrency: 'XXX' })
    const right = await operator.post(action, { ...form, name: 'Again', baseCurrency: 'KES' })
    assert.deepEqual([wrong.http, right.http], [422, 303])
    assert.match(right.headers.get('location') ?? '', /done=saved/)
  })

  it('changes the settings of a merchant, and clears an empty one', async () => {
    const action = `${page()}/settings`
    const fields = { name: 'Renamed', baseCurrency: 'KES', timeZone: 'Africa/Nairobi' }
    assert.equal((await operator.submit(page(), action, fields)).http, 303)
    const settingsOf = async () => (await service.admin.get(`/admin/v1/merchants/${merchant.uuid}`)).body.data
    assert.equal((await settingsOf()).settings.timeZone, 'Africa/Nairobi')
    assert.equal((await operator.submit(page(), action, { ...fields, timeZone: '' })).http, 303)
    assert.equal((await settingsOf()).settings.timeZone, null)
    assert.equal((await operator.submit(page(), action, { ...fields, timeZone: 'Mars/Base' })).http, 422)
  })

  it('suspends and activates a merchant, with the operator in the audit log', async () => {
    const shop = await service.newMerchant()
    const path = `/ops/merchants/${shop.uuid}`
    assert.equal((await operator.submit(path, `${path}/suspend`)).http, 303)
    const statusOf = async () =>
      (await service.admin.get(`/admin/v1/merchants/${shop.uuid}`)).body.data.status
    assert.equal(await statusOf(), 'suspended')
    const entries = await service.admin.get(`/admin/v1/audit?merchant=${shop.uuid}&limit=1`)
    const [{ actor, operation, object }] = entries.body.data
    assert.deepEqual(
      [actor.type, actor.role, operation, object.id],
      [...['user', 'operator', 'POST /admin/v1/merchants/{uuid}/suspend', shop.uuid]],
    )
    assert.equal((await operator.submit(path, `${path}/activate`)).http, 303)
    assert.equal(await statusOf(), 'active')
  })

  it('refuses a form without the token of the session', async () => {
    const answer = await operator.post(`${page()}/suspend`, {})
    assert.equal(answer.http, 403)
    assert.equal((await service.admin.get(`/admin/v1/merchants/${merchant.uuid}`)).body.data.status, 'active')
  })

  it('shows a new key once, and revokes it', async () => {
    const made = await operator.submit(`${page()}/keys/new`, `${page()}/keys/new`, {
      ...{ name: 'Till', 'scope-checkout:read': 'yes' },
    })
    assert.equal(made.http, 201, made.text)
    const [apiKey = ''] = /cowry_test_\w+/.exec(made.text) ?? []
    const keyId = apiKey.split('_')[2] ?? ''
    const keys = await service.admin.get(`/admin/v1/merchants/${merchant.uuid}/keys`)
    const key = keys.body.data.find((one: { keyId: string }) => one.keyId === keyId)
    assert.deepEqual(key.scopes, ['checkout:read'])
    const { text } = await operator.get(page())
    assert.ok(text.includes(keyId) && !text.includes(apiKey))
    assert.equal((await operator.submit(page(), `${page()}/keys/${keyId}/revoke`)).http, 303)
    assert.equal((await operator.get(page())).text.includes(`/keys/${keyId}/revoke`), false)
  })

  it('saves credentials of a gateway without showing them, and removes the account', async () => {
    const path = `${page()}/gateways/paystack`
    const secret = 'sk_test_0123456789abcdef0123456789'
    const fields = { 'c-secretKey': secret, unchecked: 'yes' }
    const saved = await operator.submit(path, path, fields)
    assert.equal(saved.http, 200, saved.text)
    assert.ok(saved.text.includes('…6789') && !saved.text.includes(secret))
    const refused = await operator.submit(path, path, { 'c-secretKey': 'nonsense', unchecked: 'yes' })
    assert.equal(refused.http, 422)
    assert.equal(refused.text.includes('nonsense"'), false)
    assert.equal((await operator.submit(path, `${path}/revoke`)).http, 303)
    assert.equal((await operator.get(path)).text.includes(`${path}/revoke`), false)
  })

  it('invites an owner by a link', async () => {
    const email = 'first.owner@example.com'
    const invited = await operator.submit(page(), `${page()}/invite`, { email })
    assert.equal(invited.http, 201)
    const [link = ''] = /\/app\/join\/[\w-]+/.exec(invited.text) ?? []
    assert.equal((await newVisitor(service).get(link)).http, 200)
  })
})

const ageStatement = sql<unknown>`
update sessions
set authenticated_at = authenticated_at - interval '6 minutes'
where user_id = (select id from users where email = $1)`

describe('confirming who one is, as an operator', () => {
  it('asks for the password before a suspension five minutes after the sign-in', async () => {
    const careful = await signInAsOperator(service)
    const shop = await service.newMerchant()
    const path = `/ops/merchants/${shop.uuid}`
    await service.db.query(ageStatement, [careful.email])
    const secret = 'sk_test_0123456789abcdef0123456789'
    const hidden = hiddenFields((await careful.get('/ops')).text, '/ops/sign-out')
    const late = await careful.post(`${path}/gateways/paystack`, { ...hidden, 'c-secretKey': secret })
    assert.deepEqual([late.http, late.text.includes(secret)], [403, false])
    const asked = await careful.submit(path, `${path}/suspend`)
    assert.equal(asked.http, 403)
    const statusOf = async () =>
      (await service.admin.get(`/admin/v1/merchants/${shop.uuid}`)).body.data.status
    assert.equal(await statusOf(), 'active')
    const fields = { ...hiddenFields(asked.text, `${path}/suspend`), confirmPassword: PASSWORD }
    assert.equal((await careful.post(`${path}/suspend`, fields)).http, 303)
    assert.equal(await statusOf(), 'suspended')
    assert.equal((await careful.get('/ops')).http, 200)
    assert.equal((await careful.get(`${path}/gateways/nonsense`)).http, 404)
  })

  it('asks before every screen of keys and credentials, and before a decision', () => {
    const asking = OPS_SCREENS.filter(({ stepUp }) => stepUp === true).map(
      ({ method, path }) => `${method} ${path}`,
    )
    assert.deepEqual(asking, [
      'POST /merchants/{uuid}/suspend',
      'POST /merchants/{uuid}/invite',
      'GET /merchants/{uuid}/keys/new',
      'POST /merchants/{uuid}/keys/new',
      'POST /merchants/{uuid}/keys/{keyId}/rotate',
      'POST /merchants/{uuid}/keys/{keyId}/revoke',
      'GET /merchants/{uuid}/gateways/{gateway}',
      'POST /merchants/{uuid}/gateways/{gateway}',
      'POST /merchants/{uuid}/gateways/{gateway}/revoke',
      'POST /cases/{uuid}/resolve',
      'POST /cases/{uuid}/approve',
      'GET /people/invite',
      'POST /people/invite',
      'POST /people/invitations/{uuid}/revoke',
      'POST /people/{uuid}/disable',
      'POST /people/{uuid}/enable',
      'POST /account/password',
      'POST /account/totp',
      'POST /account/totp/confirm',
      'POST /account/totp/remove',
      'POST /account/recovery-codes',
      'GET /account/passkeys/new',
      'POST /account/passkeys/new',
      'POST /account/passkeys/{uuid}/remove',
    ])
  })
})

describe('screens of operators', () => {
  it('shows every screen to an operator, and none to a member or a visitor', async () => {
    const cookie = `cowry_ops_session=${owner.cookies.get('cowry_session')}`
    const visitor = newVisitor(service)
    for (const { method, path } of OPS_SCREENS) {
      const address = `/ops${path.replaceAll(/\{\w+\}/g, merchant.uuid)}`
      for (const headers of [undefined, { cookie }]) {
        const refused =
          method === 'GET' ? await visitor.get(address, headers) : await visitor.post(address, {}, headers)
        assert.equal(refused.http, 303, address)
        assert.match(refused.headers.get('location') ?? '', /^\/ops\/sign-in/, address)
      }
      if (method === 'POST' || path.includes('{')) continue
      const shown = await operator.get(address)
      assert.equal(shown.http, 200, `${address} ${shown.text}`)
    }
  })

  it('decides a case of a merchant', async () => {
    const shop = await service.newMerchant()
    const payment = await payWith(shop.api, 'transfer_underpaid')
    const [{ uuid }] = (await service.admin.get(`/admin/v1/cases?payment=${payment.uuid}`)).body.data
    const page = `/ops/cases/${uuid}`
    const shown = await operator.get(page)
    assert.ok(shown.text.includes(`/ops/merchants/${shop.uuid}`), shown.text)
    const fields = { resolution: 'accept', note: 'The shop agrees.' }
    const decided = await operator.submit(page, `${page}/resolve`, fields)
    assert.deepEqual(locationOf(decided), [303, `${page}?done=resolve`])
    const { state, resolvedBy } = (await service.admin.get(`/admin/v1/cases/${uuid}`)).body.data
    assert.deepEqual([state, resolvedBy], ['resolved', 'operator:An operator'])
    assert.match((await operator.get(page)).text, /An operator<\/bdi> <span class="dim">Operator/)
  })

  it('needs another operator for a decision from the limit of the merchant on, who is another account, whatever its name', async () => {
    const other = await signInAsOperator(service)
    const shop = await service.newMerchant()
    const changed = await service.admin.send('PATCH', `/admin/v1/merchants/${shop.uuid}`, {
      body: JSON.stringify({ settings: { caseApprovals: [{ currency: 'KES', from: 1000 }] } }),
      headers: { 'content-type': 'application/json' },
    })
    assert.equal(changed.http, 200, changed.text)
    const newCase = async (amount: number) => {
      const { uuid } = await payWith(shop.api, 'card_unknown_status', { amount })
      return (await service.admin.get(`/admin/v1/cases?payment=${uuid}`)).body.data[0].uuid
    }
    const decide = async (who: Visitor, uuid: string, resolution = 'mark_failed') => {
      const page = `/ops/cases/${uuid}`
      await who.submit(page, `${page}/resolve`, { resolution, note: 'Not in its records.' })
      return (await service.admin.get(`/admin/v1/cases/${uuid}`)).body.data
    }
    assert.equal((await decide(operator, await newCase(999))).state, 'resolved')
    const uuid = await newCase(1000)
    assert.equal((await decide(operator, uuid)).state, 'awaiting_approval')
    const again = await decide(operator, uuid)
    assert.equal(again.state, 'awaiting_approval')
    assert.deepEqual([again.proposal.by, 'operatorId' in again.proposal], ['operator:An operator', false])
    assert.match((await operator.get(`/ops/cases/${uuid}`)).text, /Proposed: .*An operator/s)
    const renamed = { name: 'Another name', language: 'en' }
    assert.equal((await operator.submit('/ops/account', '/ops/account/profile', renamed)).http, 303)
    assert.equal((await decide(operator, uuid)).state, 'awaiting_approval')
    assert.match((await operator.get('/ops/account')).text, /value="Another name"/)
    const former = { ...renamed, name: 'An operator' }
    await operator.submit('/ops/account', '/ops/account/profile', former)
    const { state, resolvedBy, paymentStatus } = await decide(other, uuid)
    assert.deepEqual(
      [state, resolvedBy, paymentStatus],
      ['resolved', 'operator:An operator, operator:An operator', 'failed'],
    )
    const byToken = await newCase(5000)
    const body = { resolution: 'mark_failed', note: 'By the token.' }
    const alone = await service.admin.post(`/admin/v1/cases/${byToken}/resolve`, body)
    assert.equal(alone.body.data.state, 'resolved', alone.text)
  })

  it('invites an operator, and ends and returns the access of a person', async () => {
    const email = `invited-${Date.now()}@example.com`
    const invited = await operator.submit('/ops/people/invite', '/ops/people/invite', { email })
    const [, link = ''] = /<code>[^<]*(\/app\/join\/[\w-]{43})<\/code>/.exec(invited.text) ?? []
    assert.equal(invited.http, 201, invited.text)
    const person = newVisitor(service)
    assert.equal((await person.submit(link, link, { name: 'Achieng', password: PASSWORD })).http, 303)
    const accomplice = { email: 'accomplice@example.com' }
    const [, open = ''] =
      /(\/app\/join\/[\w-]{43})/.exec(
        (await person.submit('/ops/people/invite', '/ops/people/invite', accomplice)).text,
      ) ?? []
    assert.equal((await newVisitor(service).get(open)).http, 200)
    const page = `/ops/people?email=${encodeURIComponent(email)}`
    const { text } = await operator.get(page)
    const [, action = ''] = /action="([^"]*\/disable)"/.exec(text) ?? []
    assert.match(text, /Achieng/)
    assert.equal((await operator.submit(page, action)).http, 303)
    assert.deepEqual(locationOf(await person.get('/ops')), [303, '/ops/sign-in'])
    assert.equal((await newVisitor(service).get(open)).http, 410, 'what the person has given ends too')
    const signIn = () => newVisitor(service).post('/ops/sign-in', { email, password: PASSWORD })
    assert.equal((await signIn()).http, 401)
    assert.equal((await operator.submit(page, action.replace('disable', 'enable'))).http, 303)
    assert.deepEqual(locationOf(await signIn()), [303, '/ops'])
    const own = await operator.get(`/ops/people?email=${encodeURIComponent(operator.email)}`)
    assert.doesNotMatch(own.text, /\/disable"/)
  })

  it('assigns and closes a difference of a settlement file', async () => {
    const lines =
      'type,key,reference,amount,currency,fee,status\r\npayment,ops-unknown,,10.00,KES,,settled\r\n'
    const file = {
      gateway: 'sandbox',
      fileName: 'monday.csv',
      content: Buffer.from(lines).toString('base64'),
    }
    const { uuid: fileId } = (await service.admin.post('/admin/v1/reconciliations', file)).body.data
    assert.match((await operator.get('/ops/reconciliations')).text, /monday\.csv/)
    const list = await operator.get(`/ops/breaks?reconciliation=${fileId}`)
    const [, uuid = ''] = /href="\/ops\/breaks\/([\w-]{36})"/.exec(list.text) ?? []
    const page = `/ops/breaks/${uuid}`
    assert.equal((await operator.submit(page, `${page}/assign`, { owner: 'Wanjiru' })).http, 303)
    assert.equal((await operator.submit(page, `${page}/close`, { reason: ' ' })).http, 422)
    assert.equal((await operator.submit(page, `${page}/close`, { reason: 'Of another system.' })).http, 303)
    const {
      state,
      owner: who,
      note,
    } = (await service.admin.get(`/admin/v1/reconciliation-breaks/${uuid}`)).body.data
    assert.deepEqual([state, who, note], ['closed', 'Wanjiru', 'Of another system.'])
  })

  it('checks the invariants on request, and then shows the result without another check', async () => {
    const checked = await operator.submit('/ops/doctor', '/ops/doctor')
    assert.deepEqual(locationOf(checked), [303, '/ops/doctor'])
    const { body } = await service.admin.get('/admin/v1/jobs')
    const { text } = await operator.get('/ops/doctor')
    assert.match(text, new RegExp(`<time datetime="${body.data.invariantsCheckedAt}">`))
    for (const { name } of body.data.invariants) assert.ok(text.includes(name), name)
    assert.ok(body.data.invariants.length > 9)
    const again = await service.admin.get('/admin/v1/jobs')
    assert.equal(again.body.data.invariantsCheckedAt, body.data.invariantsCheckedAt)
  })

  it('finds what an operator did in the audit log, and exports it', async () => {
    const query = `merchant=${merchant.uuid}&operation=${encodeURIComponent('PATCH /admin/v1/merchants/{uuid}')}`
    const { text } = await operator.get(`/ops/audit?${query}`)
    assert.match(text, /PATCH \/admin\/v1\/merchants\/\{uuid\}/)
    assert.match(text, /operator<span/)
    const file = await operator.get(`/ops/audit/export?${query}`)
    assert.match(file.headers.get('content-disposition') ?? '', /audit\.csv/)
    assert.match((await operator.get('/ops/audit/verify')).text, /No entry was changed or removed/)
  })

  it('shows why a filter is refused', async () => {
    assert.equal((await operator.get('/ops/logs?level=nonsense')).http, 400)
    assert.equal((await operator.get('/ops/merchants/nonsense')).http, 400)
  })
})
