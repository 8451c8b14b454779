// The area of operators at /ops: who may enter, and its screens.

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { newVisitor, PASSWORD, signInAs, signInAsOperator, type Visitor } from '../support/dashboard.ts'
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
