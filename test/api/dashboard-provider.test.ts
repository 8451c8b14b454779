// Signing in to the dashboard with an identity provider: which account it opens, and what a forged or repeated return does.

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import { newVisitor, PASSWORD, signInAs, type Visitor } from '../support/dashboard.ts'
import { type SignInMistakes, startIdentityProvider } from '../support/identity-provider.ts'
import { testService } from '../support/service.ts'

const provider = await startIdentityProvider()
after(() => provider.close())
const env = {
  COWRY_OIDC_ISSUER: provider.issuer,
  COWRY_OIDC_CLIENT_ID: provider.clientId,
  COWRY_OIDC_CLIENT_SECRET: provider.clientSecret,
}
const service = await testService({ after }, { env })
const { uuid: merchantId } = await service.newMerchant()
const START = '/app/sign-in/oidc'

async function start(visitor: Visitor, next = '/app/payments'): Promise<string> {
  const sent = await visitor.get(`${START}?next=${encodeURIComponent(next)}`)
  assert.equal(sent.http, 303, sent.text)
  return sent.headers.get('location') ?? ''
}

const comeBack = (visitor: Visitor, query: URLSearchParams) => visitor.get(`${START}/return?${query}`)

/** Signs in at the provider as this person. */
async function enter(claims: { sub: string; email: string }, visitor = newVisitor(service), mistakes = {}) {
  const url = await start(visitor)
  const given: SignInMistakes = {
    ...mistakes,
    claims: { ...claims, ...('claims' in mistakes ? Object(mistakes.claims) : {}) },
  }
  const answer = await comeBack(visitor, provider.signIn(url, given))
  return { answer, visitor }
}

const newPerson = async () => {
  const owner = await signInAs(service, merchantId)
  return { owner, claims: { sub: randomUUID(), email: owner.email } }
}

const verify = sql<unknown>`update users set email_verified_at = created_at where email = $1`
const findAudit = sql<{ type: string }>`
select change ->> 'type' as type
from audit_entries, jsonb_array_elements(changes) change
where operation = 'sign_in.identity_provider' and actor_id = (select id::text from users where email = $1)
order by number`

describe('sign-in with an identity provider', () => {
  it('is offered on the sign-in page, and sends the browser to the provider', async () => {
    const visitor = newVisitor(service)
    const page = await visitor.get('/app/sign-in?next=/app/wallet')
    assert.match(page.text, /href="\/app\/sign-in\/oidc\?next=%2Fapp%2Fwallet"/)
    const url = new URL(await start(visitor))
    assert.equal(`${url.origin}${url.pathname}`, `${provider.issuer}/authorize`)
    assert.equal(url.searchParams.get('redirect_uri'), `${service.url}${START}/return`)
    const sealed = visitor.cookies.get('cowry_provider') ?? ''
    assert.ok(sealed.length > 0 && !sealed.includes(url.searchParams.get('state') ?? ''))
  })

  it('opens the account with the verified e-mail address, and from then on that of the subject', async () => {
    const { claims } = await newPerson()
    const { answer, visitor } = await enter({ ...claims, email: claims.email.toUpperCase() })
    assert.deepEqual([answer.http, answer.headers.get('location')], [303, '/app/payments'])
    assert.equal(visitor.cookies.has('cowry_provider'), false)
    assert.equal((await visitor.get('/app/payments')).http, 200)
    const renamed = await enter({ ...claims, email: 'renamed@example.com' })
    assert.equal(renamed.answer.http, 303)
    const types = (await service.db.query(findAudit, [claims.email])).map(({ type }) => type)
    assert.ok(types.includes('identity') && types.includes('session'), types.join())
  })

  it('refuses another subject with the same e-mail address', async () => {
    const { claims } = await newPerson()
    await enter(claims)
    const { answer, visitor } = await enter({ ...claims, sub: randomUUID() })
    assert.equal(answer.http, 401)
    assert.equal((await visitor.get('/app')).http, 303)
  })

  it('creates no account, and opens none of an operator', async () => {
    const stranger = await enter({ sub: randomUUID(), email: `new-${randomUUID()}@example.com` })
    assert.equal(stranger.answer.http, 403)
    assert.match(stranger.answer.text, /no account/)
    const email = `operator-${randomUUID()}@example.com`
    const invited = await service.admin.post('/admin/v1/operator-invitations', { email })
    const page = new URL(invited.body.data.link).pathname
    await newVisitor(service).submit(page, page, { name: 'Operator', password: PASSWORD })
    assert.equal((await enter({ sub: randomUUID(), email })).answer.http, 403)
  })

  it('refuses an e-mail address that the provider has not verified', async () => {
    const { claims } = await newPerson()
    const { answer, visitor } = await enter(claims, undefined, { claims: { email_verified: false } })
    assert.equal(answer.http, 401)
    assert.equal(visitor.cookies.has('cowry_session'), false)
  })

  it('ends what was registered before the address was proved, once', async () => {
    const { owner, claims } = await newPerson()
    await enter(claims)
    assert.equal((await owner.get('/app')).http, 303)
    const signIn = () => newVisitor(service).post('/app/sign-in', { email: owner.email, password: PASSWORD })
    assert.equal((await signIn()).http, 401)
    const proved = await newPerson()
    await service.db.query(verify, [proved.owner.email])
    await enter(proved.claims)
    assert.equal((await proved.owner.get('/app')).http, 200)
  })

  it('refuses a return without the cookie of this browser, with that of another, and a second one', async () => {
    const { claims } = await newPerson()
    const [mine, other] = [newVisitor(service), newVisitor(service)]
    const query = provider.signIn(await start(mine), { claims })
    assert.equal((await comeBack(newVisitor(service), query)).http, 401)
    await start(other)
    assert.equal((await comeBack(other, query)).http, 401)
    const cookie = `cowry_provider=${mine.cookies.get('cowry_provider')}`
    assert.equal((await comeBack(mine, query)).http, 303)
    assert.equal((await comeBack(mine, query)).http, 401)
    // A copy of the cookie does not help: the provider accepts its code once.
    assert.equal((await newVisitor(service).get(`${START}/return?${query}`, { cookie })).http, 401)
  })

  it('refuses a cookie that was changed', async () => {
    const visitor = newVisitor(service)
    const query = provider.signIn(await start(visitor))
    const sealed = visitor.cookies.get('cowry_provider') ?? ''
    for (const text of ['x', 'v1.a.b.c.d', `${sealed.slice(0, -2)}AA`]) {
      visitor.cookies.set('cowry_provider', text)
      assert.equal((await comeBack(visitor, query)).http, 401)
    }
  })

  it('leads to no other site afterwards', async () => {
    const { claims } = await newPerson()
    const visitor = newVisitor(service)
    const url = await start(visitor, 'https://evil.example/')
    const answer = await comeBack(visitor, provider.signIn(url, { claims }))
    assert.equal(answer.headers.get('location'), '/app')
  })

  it('says so when the provider does not answer', async () => {
    const visitor = newVisitor(service)
    const query = provider.signIn(await start(visitor))
    provider.failure = { path: '/token', status: 503 }
    try {
      assert.equal((await comeBack(visitor, query)).http, 503)
    } finally {
      provider.failure = undefined
    }
  })

  it('is not there without the settings', async (t) => {
    const visitor = newVisitor(await testService(t))
    assert.equal((await visitor.get(START)).http, 404)
    assert.doesNotMatch((await visitor.get('/app/sign-in')).text, /oidc/)
  })
})
