// Invitations and accounts of people: the operators' API and cowry people.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { runCommandLine } from '../../src/cli/program.ts'
import { sql } from '../../src/kit/db/db.ts'
import { assertApiError, UNKNOWN_UUID } from '../support/assertions.ts'
import { newVisitor, PASSWORD, signInAs } from '../support/dashboard.ts'
import { ADMIN_TOKEN, testService } from '../support/service.ts'

const service = await testService({ after })
const { admin } = service
const DAY_MS = 24 * 3_600_000

async function cowry(...argv: string[]) {
  let out = ''
  const take = (text: string) => {
    out += text
  }
  const env = { COWRY_URL: service.url, COWRY_ADMIN_TOKEN: ADMIN_TOKEN }
  const code = await runCommandLine(['people', ...argv], { terminal: { out: take, err: take }, env })
  return { code, out }
}

describe('an invitation by an operator', () => {
  it('needs the operator token, and an existing merchant for an owner', async () => {
    const body = { email: 'wanjiru@example.com' }
    const { uuid, api } = await service.newMerchant()
    for (const path of [`/admin/v1/merchants/${uuid}/owner-invitations`, '/admin/v1/operator-invitations'])
      assert.equal((await api.post(path, body)).http, 401)
    const unknown = '/admin/v1/merchants/00000000-0000-7000-8000-000000000000/owner-invitations'
    const { http, body: refused } = await admin.post(unknown, body)
    assert.deepEqual([http, refused.error.code], [404, 'merchant_not_found'])
    assert.equal((await admin.post('/admin/v1/operator-invitations', { email: 'wanjiru' })).http, 400)
  })

  it('is a link for seven days, whose token is stored only as a hash', async () => {
    const { uuid } = await service.newMerchant()
    const path = `/admin/v1/merchants/${uuid}/owner-invitations`
    const { http, body } = await admin.post(path, { email: 'Wanjiru@Example.com' })
    assert.equal(http, 201)
    const { link, expiresAt, ...rest } = body.data
    assert.deepEqual(rest, { uuid: rest.uuid, merchant: uuid, email: 'wanjiru@example.com', role: 'owner' })
    const days = (new Date(expiresAt).getTime() - Date.now()) / DAY_MS
    assert.ok(days > 6.99 && days <= 7, String(days))
    const token = /\/app\/join\/([\w-]{43})$/.exec(link)?.[1] ?? assert.fail(link)
    const [row] = await service.db.query(
      sql<{ row: string }>`select i::text as row from invitations i where id = $1`,
      [rest.uuid],
    )
    assert.ok(row && !row.row.includes(token))
    const audit = (await admin.get(`/admin/v1/audit?merchant=${uuid}&object=${rest.uuid}`)).body.data
    assert.equal(audit.length, 1)
    assert.deepEqual([audit[0].actor.type, audit[0].object.type], ['operator', 'invitation'])
    assert.deepEqual([audit[0].actor.role, audit[0].actor.session], [null, null])
    assert.doesNotMatch(JSON.stringify(audit), /wanjiru/i)
  })

  it('is refused for an operator who has an account or an open invitation, also of two at once', async () => {
    const path = '/admin/v1/operator-invitations'
    const email = 'amina@example.com'
    const answers = await Promise.all([
      admin.post(path, { email }),
      admin.post(path, { email: 'Amina@example.com' }),
    ])
    assert.deepEqual(answers.map(({ http }) => http).sort(), [201, 409])
    const uuid = answers.find(({ http }) => http === 201)?.body.data.uuid
    const refused = await cowry('invite-operator', '--email', email)
    assert.equal(refused.code, 1)
    assert.ok(refused.out.includes(uuid), refused.out)
    assert.equal((await cowry('revoke-invitation', uuid)).code, 0)
    const { link } = (await admin.post(path, { email })).body.data
    const page = new URL(link).pathname
    const visitor = newVisitor(service)
    assert.equal((await visitor.submit(page, page, { name: 'Amina', password: PASSWORD })).http, 303)
    const again = await admin.post(path, { email })
    assertApiError(again, 'invalid_state')
    assert.match(again.body.message, /is an operator already/)
    assert.match((await newVisitor(service).get(page)).text, /was accepted already/)
    const { uuid: shop } = await service.newMerchant()
    const owner = await signInAs(service, shop)
    assert.match((await admin.post(path, { email: owner.email })).body.message, /account at a merchant/)
  })

  it('is made by the command line, as text and as JSON', async () => {
    const { uuid } = await service.newMerchant()
    const owner = await cowry('invite-owner', '--merchant', uuid, '--email', 'otieno@example.com')
    assert.equal(owner.code, 0)
    assert.match(owner.out, /\/app\/join\/[\w-]{43}/)
    const operator = await cowry('invite-operator', '--email', 'achieng@example.com', '--json')
    assert.equal(operator.code, 0)
    const { role, merchant } = JSON.parse(operator.out).data
    assert.deepEqual([role, merchant], ['operator', null])
    assert.equal((await cowry('invite-operator')).code, 1)
    assert.match((await cowry('invite-owner', '--help')).out, /--merchant <uuid>/)
  })
})

describe('the account of a person', () => {
  it('is found, disabled and enabled by the command line, as text and as JSON', async () => {
    const { uuid: merchantId } = await service.newMerchant()
    const { email } = await signInAs(service, merchantId)
    const listed = await cowry('list', '--email', email.toUpperCase(), '--kind', 'member', '--json')
    const [{ uuid, merchants, disabledAt }] = JSON.parse(listed.out).data
    assert.deepEqual([merchants, disabledAt], [[merchantId], null])
    assert.match((await cowry('list', '--email', email)).out, /active/)
    assert.deepEqual(
      JSON.parse((await cowry('list', '--email', email, '--kind', 'operator', '--json')).out).data,
      [],
    )
    const disabled = await cowry('disable', uuid)
    assert.equal(disabled.code, 0, disabled.out)
    assert.match(disabled.out, /disabledAt +20/)
    const signIn = () => newVisitor(service).post('/app/sign-in', { email, password: PASSWORD })
    assert.equal((await signIn()).http, 401)
    assert.equal(JSON.parse((await cowry('enable', uuid, '--json')).out).data.disabledAt, null)
    assert.equal((await signIn()).http, 303)
    assert.match((await cowry('disable', '--help')).out, /--json/)
    const [entry] = (await admin.get(`/admin/v1/audit?object=${uuid}&limit=1`)).body.data
    assert.equal(entry.operation, 'POST /admin/v1/users/{uuid}/enable')
  })

  it('needs the operator token, and must exist', async () => {
    assert.equal((await service.api.get('/admin/v1/users')).http, 401)
    for (const verb of ['disable', 'enable'])
      assertApiError(await admin.post(`/admin/v1/users/${UNKNOWN_UUID}/${verb}`, {}), 'user_not_found')
  })
})

describe('the steps of people in the audit log', () => {
  it('are filters by their names', async () => {
    assert.equal((await service.api.get('/api/v1/audit?operation=sign_out')).http, 200)
    assert.equal((await service.api.get('/api/v1/audit?operation=sign_up')).http, 400)
  })
})
