// The account, the team and the confirmation of the dashboard, and attacks on them through the pages.

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import { newVisitor, PASSWORD, signInAs, type Visitor } from '../support/dashboard.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })

type Member = Visitor & { email: string }
let merchant: Awaited<ReturnType<typeof service.newMerchant>>
let owner: Member

before(async () => {
  merchant = await service.newMerchant()
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
