// The account, the team and the confirmation of the dashboard, and attacks on them through the pages.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import {
  hiddenFields,
  newVisitor,
  PASSWORD,
  signInAs,
  signInAsOperator,
  type Visitor,
} from '../support/dashboard.ts'
import { testService } from '../support/service.ts'
import { totpCode } from '../support/totp-code.ts'

const service = await testService({ after })

type Member = Visitor & { email: string }
let merchant: Awaited<ReturnType<typeof service.newMerchant>>
let owner: Member
let otherUuid: string

before(async () => {
  merchant = await service.newMerchant()
  otherUuid = (await service.newMerchant()).uuid
  owner = await signInAs(service, merchant.uuid)
})

const ageStatement = sql<unknown>`
update sessions
set authenticated_at = authenticated_at - interval '6 minutes'
where user_id = (select id from users where email = $1)`

/** The person has signed in more than five minutes ago. */
async function waitLong({ email }: Member): Promise<void> {
  await service.db.query(ageStatement, [email])
}

const sessionCookie = ({ cookies }: Visitor) => `cowry_session=${cookies.get('cowry_session')}`

describe('confirming who one is', () => {
  it('asks for the password five minutes after the sign-in, and leads on with a new token', async () => {
    const member = await signInAs(service, merchant.uuid)
    const page = '/app/confirm?next=%2Fapp%2Fpayments%3Fstatus%3Dfailed'
    assert.equal((await member.get(page)).headers.get('location'), '/app/payments?status=failed')
    await waitLong(member)
    const old = sessionCookie(member)
    const wrong = await member.submit(page, '/app/confirm', { confirmPassword: 'wrong password 1' })
    assert.equal(wrong.http, 401)
    assert.equal(wrong.headers.getSetCookie().length, 0)
    const right = await member.submit(page, '/app/confirm', { confirmPassword: PASSWORD })
    assert.equal(right.http, 303)
    assert.equal((await member.get(page)).headers.get('location'), '/app/payments?status=failed')
    assert.equal((await newVisitor(service).get('/app', { cookie: old })).http, 303)
  })

  it('leads to no other site', async () => {
    assert.equal((await owner.get('/app/confirm?next=//evil.example')).headers.get('location'), '/app')
  })
})

const tokenOf = (text: string) => /\/app\/join\/([\w-]{43})/.exec(text)?.[1] ?? ''

async function inviteBy(member: Visitor, role: string, email = `${randomUUID()}@example.com`) {
  const answer = await member.submit('/app/team', '/app/team/invite', { email, role })
  return { ...answer, email, token: tokenOf(answer.text) }
}

const joinFields = { name: 'Wanjiru', password: PASSWORD }

const findUser = sql<{ id: string }>`select id from users where email = $1`

async function idOf({ email }: Pick<Member, 'email'>): Promise<string> {
  const [row] = await service.db.query(findUser, [email])
  assert.ok(row)
  return row.id
}

/** Posts with the token of the person, whether or not the page has such a form. */
async function force(member: Visitor, action: string, fields: Record<string, string> = {}) {
  return member.post(action, { ...hiddenFields((await member.get('/app')).text, '/app/sign-out'), ...fields })
}

describe('the team', () => {
  it('shows the link of an invitation once, and the link works once', async () => {
    const { http, token, text } = await inviteBy(owner, 'support')
    assert.equal(http, 200, text)
    assert.ok(token)
    assert.equal((await owner.get('/app/team')).text.includes(token), false)
    const path = `/app/join/${token}`
    assert.equal((await newVisitor(service).submit(path, path, joinFields)).http, 303)
    const again = newVisitor(service)
    assert.equal((await again.get(path)).http, 410)
    assert.equal((await again.post(path, joinFields)).http, 410)
    assert.equal(again.cookies.has('cowry_session'), false)
  })

  it('invites once, however often the form is submitted', async () => {
    const email = `${randomUUID()}@example.com`
    const fields = hiddenFields((await owner.get('/app/team')).text, '/app/team/invite')
    const send = () => owner.post('/app/team/invite', { ...fields, email, role: 'viewer' })
    const answers = await Promise.all([send(), send()])
    assert.deepEqual(answers.map(({ http }) => http).sort(), [200, 409])
    assert.equal((await owner.get('/app/team')).text.split(email).length, 2)
  })

  it('revokes the invitations of a person who loses the right to invite', async () => {
    const admin = await signInAs(service, merchant.uuid, 'admin')
    const path = `/app/join/${(await inviteBy(admin, 'admin')).token}`
    const role = `/app/team/members/${await idOf(admin)}/role`
    assert.equal((await force(owner, role, { role: 'admin' })).http, 303)
    assert.equal((await newVisitor(service).get(path)).http, 200)
    assert.equal((await force(owner, role, { role: 'viewer' })).http, 303)
    assert.equal((await newVisitor(service).post(path, joinFields)).http, 410)
  })

  it('sends a person who is signed in with another account to the sign-out, not in a circle', async () => {
    const { token } = await inviteBy(owner, 'viewer', (await signInAs(service, otherUuid)).email)
    const { text } = await owner.get(`/app/join/${token}`)
    assert.deepEqual([/action="\/app\/sign-out"/.test(text), /sign-in\?next/.test(text)], [true, false])
    assert.match((await newVisitor(service).get(`/app/join/${token}`)).text, /sign-in\?next/)
  })

  it('refuses to choose a merchant that is none of the person', async () => {
    for (const one of ['', 'x', otherUuid])
      assert.equal((await owner.post('/app/choose', { merchant: one })).http, 403, one)
  })

  it('revokes an invitation', async () => {
    const { token, email } = await inviteBy(owner, 'viewer')
    const { text } = await owner.get('/app/team')
    const row = text.slice(text.indexOf(email))
    const [, action = ''] = /action="(\/app\/team\/invitations\/[^"]+)"/.exec(row) ?? []
    assert.equal((await owner.submit('/app/team', action)).http, 303)
    assert.equal((await newVisitor(service).post(`/app/join/${token}`, joinFields)).http, 410)
  })

  it('gives and takes no more rights than the person has', async () => {
    const admin = await signInAs(service, merchant.uuid, 'admin')
    const viewer = await signInAs(service, merchant.uuid, 'viewer')
    const [ownerId, adminId, viewerId] = [await idOf(owner), await idOf(admin), await idOf(viewer)]
    const role = (id: string) => `/app/team/members/${id}/role`
    const attempts = [
      [admin, role(adminId), { role: 'owner' }],
      [admin, role(viewerId), { role: 'owner' }],
      [admin, role(ownerId), { role: 'viewer' }],
      [admin, `/app/team/members/${ownerId}/remove`, {}],
      [admin, '/app/team/invite', { email: 'friend@example.com', role: 'owner' }],
      [admin, '/app/team/invite', { email: 'friend@example.com', role: 'operator' }],
      [viewer, role(viewerId), { role: 'admin' }],
      [viewer, '/app/team/invite', { email: 'friend@example.com', role: 'viewer' }],
    ] as const
    for (const [member, action, fields] of attempts)
      assert.equal((await force(member, action, fields)).http, 403, `${member.email} ${action}`)
    const { text } = await owner.get('/app/team')
    assert.equal(text.includes('friend@example.com'), false)
    assert.equal((await force(admin, role(viewerId), { role: 'support' })).http, 303)
  })

  it('keeps the last owner', async () => {
    const last = await signInAs(service, (await service.newMerchant()).uuid)
    const path = `/app/team/members/${await idOf(last)}`
    assert.equal((await force(last, `${path}/remove`)).http, 409)
    assert.equal((await force(last, `${path}/role`, { role: 'viewer' })).http, 409)
    assert.equal((await last.get('/app')).http, 200)
  })

  it('ends the access of a removed member at once', async () => {
    const viewer = await signInAs(service, merchant.uuid, 'viewer')
    assert.equal((await viewer.get('/app')).http, 200)
    const removed = await force(owner, `/app/team/members/${await idOf(viewer)}/remove`)
    assert.equal(removed.http, 303, removed.text)
    assert.equal((await viewer.get('/app')).http, 303)
  })

  it('continues an invitation with its fields after the confirmation', async () => {
    const member = await signInAs(service, merchant.uuid)
    await waitLong(member)
    const email = `${randomUUID()}@example.com`
    const asked = await inviteBy(member, 'viewer', email)
    assert.deepEqual([asked.http, asked.token], [403, ''])
    const fields = hiddenFields(asked.text, '/app/team/invite')
    assert.deepEqual([fields.email, fields.role], [email, 'viewer'])
    const wrong = await member.post('/app/team/invite', { ...fields, confirmPassword: 'wrong password 1' })
    assert.deepEqual([wrong.http, tokenOf(wrong.text)], [401, ''])
    const right = await member.post('/app/team/invite', { ...fields, confirmPassword: PASSWORD })
    assert.equal(right.http, 200, right.text)
    assert.ok(tokenOf(right.text))
  })
})

describe('the account', () => {
  it('signs a stolen cookie out when the password is changed', async () => {
    const member = await signInAs(service, merchant.uuid)
    const elsewhere = newVisitor(service)
    await elsewhere.post('/app/sign-in', { email: member.email, password: PASSWORD })
    const stolen = sessionCookie(member)
    const newPassword = 'another horse battery'
    const changed = await member.submit('/app/account', '/app/account/password', { newPassword })
    assert.equal(changed.headers.get('location'), '/app/account?done=password')
    assert.equal((await member.get('/app/account')).http, 200)
    assert.equal((await newVisitor(service).get('/app', { cookie: stolen })).http, 303)
    assert.equal((await elsewhere.get('/app')).http, 303)
    const signIn = (password: string) =>
      newVisitor(service).post('/app/sign-in', { email: member.email, password })
    assert.deepEqual([(await signIn(PASSWORD)).http, (await signIn(newPassword)).http], [401, 303])
  })

  it('writes no new password into the page that asks who the person is', async () => {
    const member = await signInAs(service, merchant.uuid)
    await waitLong(member)
    const newPassword = 'another horse battery'
    const asked = await member.submit('/app/account', '/app/account/password', { newPassword })
    assert.deepEqual([asked.http, asked.text.includes(newPassword)], [403, false])
    const fields = { ...hiddenFields(asked.text, '/app/confirm'), confirmPassword: PASSWORD }
    assert.equal((await member.post('/app/confirm', fields)).headers.get('location'), '/app/account')
    const changed = await member.submit('/app/account', '/app/account/password', { newPassword })
    assert.equal(changed.headers.get('location'), '/app/account?done=password')
  })

  it('ends only sessions of the person', async () => {
    const member = await signInAs(service, merchant.uuid)
    const elsewhere = newVisitor(service)
    await elsewhere.post('/app/sign-in', { email: member.email, password: PASSWORD })
    const [, action = ''] =
      /action="(\/app\/account\/sessions\/[^"]+)"/.exec((await member.get('/app/account')).text) ?? []
    assert.equal((await force(owner, action)).http, 401)
    assert.equal((await elsewhere.get('/app')).http, 200)
    assert.equal((await member.submit('/app/account', action)).http, 303)
    assert.equal((await elsewhere.get('/app')).http, 303)
    assert.equal((await member.get('/app')).http, 200)
  })

  it('accepts each code of the authenticator app and each recovery code once', async () => {
    const member = await signInAs(service, merchant.uuid)
    const started = await member.submit('/app/account', '/app/account/totp')
    const [, secret = ''] = /<code class="mono">([A-Z2-7]+)<\/code>/.exec(started.text) ?? []
    assert.match(started.text, /<svg/)
    const now = Date.now()
    const confirm = { ...hiddenFields(started.text, '/app/account/totp/confirm') }
    const wrong = await member.post('/app/account/totp/confirm', { ...confirm, code: '000000' })
    assert.equal(wrong.http, 401)
    assert.equal(wrong.text.includes(secret), false)
    const shown = await member.post('/app/account/totp/confirm', {
      ...confirm,
      code: totpCode(secret, now - 30_000),
    })
    const [, recovery = ''] = /<li><code>([^<]+)<\/code>/.exec(shown.text) ?? []
    assert.ok(recovery, shown.text)
    const enter = async (code: string) => {
      const visitor = newVisitor(service)
      const asked = await visitor.post('/app/sign-in', { email: member.email, password: PASSWORD })
      assert.match(asked.headers.get('location') ?? '', /\/code/)
      assert.equal((await visitor.get('/app')).http, 303)
      return (await visitor.post('/app/sign-in/code', { code })).http
    }
    const code = totpCode(secret, now)
    assert.deepEqual([await enter(code), await enter(code)], [303, 401])
    assert.deepEqual([await enter(recovery), await enter(recovery)], [303, 401])
    assert.equal((await member.get('/app/account')).text.includes(recovery), false)
  })
})

describe('the audit log of the dashboard', () => {
  it('has what people change, without their e-mail addresses, and exports it', async () => {
    const { email } = await inviteBy(owner, 'viewer')
    const { http, text } = await owner.get('/app/audit?objectType=invitation')
    assert.equal(http, 200, text)
    assert.ok(text.includes('POST /app/team/invite'))
    assert.ok(text.includes(await idOf(owner)))
    assert.equal(text.includes(email), false)
    const file = await owner.get('/app/audit/export?objectType=invitation')
    assert.deepEqual([file.http, file.text.includes('POST /app/team/invite')], [200, true])
  })
})

describe('invitations of operators', () => {
  let operator: Visitor

  before(async () => {
    operator = await signInAsOperator(service)
  })

  it('lists the open invitations of operators and revokes them, in the audit log', async () => {
    const email = `mistyped-${Date.now()}@example.com`
    const { body } = await service.admin.post('/admin/v1/operator-invitations', { email })
    const { link, uuid } = body.data
    const action = `/ops/people/invitations/${uuid}/revoke`
    assert.ok((await operator.get('/ops/people')).text.includes(email))
    const second = await operator.submit('/ops/people/invite', '/ops/people/invite', { email })
    assert.equal(second.http, 422)
    assert.match(second.text, /is invited already/)
    const revoked = await operator.submit('/ops/people', action)
    assert.equal(revoked.headers.get('location'), '/ops/people?done=saved', revoked.text)
    const ended = await newVisitor(service).get(new URL(link).pathname)
    assert.equal(ended.http, 410)
    assert.match(ended.text, /This invitation was revoked/)
    assert.equal((await operator.get('/ops/people')).text.includes(email), false)
    const hidden = hiddenFields((await operator.get('/ops')).text, '/ops/sign-out')
    assert.equal((await operator.post(action, hidden)).http, 404, 'it is not open any more')
    const { data } = (await service.admin.get(`/admin/v1/audit?object=${uuid}`)).body
    assert.deepEqual(
      data.map(({ operation, actor }: { operation: string; actor: { type: string } }) => [
        operation,
        actor.type,
      ]),
      [
        ['POST /admin/v1/operator-invitations/{uuid}/revoke', 'user'],
        ['POST /admin/v1/operator-invitations', 'operator'],
      ],
    )
  })

  it('revokes no invitation of a merchant there, which its team does', async () => {
    const path = `/admin/v1/merchants/${merchant.uuid}/owner-invitations`
    const { uuid } = (await service.admin.post(path, { email: 'of.a.merchant@example.com' })).body.data
    assert.equal((await operator.get('/ops/people')).text.includes('of.a.merchant'), false)
    const hidden = hiddenFields((await operator.get('/ops')).text, '/ops/sign-out')
    assert.equal((await operator.post(`/ops/people/invitations/${uuid}/revoke`, hidden)).http, 404)
    assert.ok((await owner.get('/app/team')).text.includes('of.a.merchant'))
  })
})

/** The command that a sign-in page shows. */
const commandIn = (page: string) =>
  (/<code class="command">(.*?)<\/code>/.exec(page)?.[1] ?? page).replaceAll(/<[^>]+>/g, '')

describe('the demo owner', () => {
  it('enters by a link that the operator makes again, and the sign-in page says how', async () => {
    const commandOn = async (path: string) => commandIn((await newVisitor(service).get(path)).text)
    assert.equal(await commandOn('/app/sign-in'), 'npm run cowry -- people demo-link')
    assert.match(await commandOn('/ops/sign-in'), /^npm run cowry -- people invite-operator --email \S+$/)
    const { body } = await service.admin.post('/admin/v1/demo-links', {})
    const { pathname } = new URL(body.data.link)
    const visitor = newVisitor(service)
    assert.equal((await visitor.submit(pathname, pathname)).headers.get('location'), '/app')
    assert.match((await visitor.get('/app')).text, /Demo Owner/)
    const again = await newVisitor(service).submit(pathname, pathname)
    assert.deepEqual([again.http, commandIn(again.text)], [410, 'npm run cowry -- people demo-link'])
  })

  it('is not signed in by previews of the link, which open it before the person does', async () => {
    const { body } = await service.admin.post('/admin/v1/demo-links', {})
    const { pathname } = new URL(body.data.link)
    const preview = newVisitor(service)
    for (const _ of [1, 2]) assert.equal((await preview.get(pathname)).http, 200)
    assert.equal(preview.cookies.size, 0)
    const elsewhere = { origin: 'https://other.example', 'sec-fetch-site': 'cross-site' }
    assert.equal((await preview.post(pathname, {}, elsewhere)).http, 403)
    assert.equal((await newVisitor(service).submit(pathname, pathname)).http, 303)
  })

  it('becomes the owner of the merchant that the operator names', async () => {
    const shop = await service.newMerchant()
    const { body } = await service.admin.post('/admin/v1/demo-links', { merchant: shop.uuid })
    const visitor = newVisitor(service)
    const { pathname } = new URL(body.data.link)
    await visitor.submit(pathname, pathname)
    assert.equal((await visitor.post('/app/choose', { merchant: shop.uuid })).http, 303)
    assert.match((await visitor.get('/app/team')).text, /owner@demo\.example/)
    const none = await service.admin.post('/admin/v1/demo-links', { merchant: randomUUID() })
    assert.equal(none.http, 404)
  })
})
