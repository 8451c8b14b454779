// Passkeys through the pages of both areas, and attacks on them. The browser's part is in test/browser/passkeys.test.ts.

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import { createAuthenticator, type Said } from '../support/authenticator.ts'
import {
  hiddenFields,
  newVisitor,
  PASSWORD,
  signInAs,
  signInAsOperator,
  type Visitor,
} from '../support/dashboard.ts'
import { force } from '../support/dashboard-crawl.ts'
import { testService } from '../support/service.ts'
import { totpCode } from '../support/totp-code.ts'

const service = await testService({ after })
const SITE = { origin: service.publicUrl, rpId: new URL(service.publicUrl).hostname }

type Base = '/app' | '/ops'
type Member = Visitor & { email: string }
let merchant: Awaited<ReturnType<typeof service.newMerchant>>

before(async () => {
  merchant = await service.newMerchant()
})

const newPage = (base: Base) => `${base}/account/passkeys/new`
const signInPage = (base: Base) => `${base}/sign-in/passkey`

/** What the script of the page passes to the browser. */
function optionsIn(page: string) {
  const [, options = ''] = /data-options="([^"]*)"/.exec(page) ?? []
  return JSON.parse(options.replaceAll('&quot;', '"'))
}

async function addPasskey(member: Visitor, base: Base = '/app', said: Partial<Said> = {}) {
  const authenticator = createAuthenticator('ES256')
  const { text } = await member.get(newPage(base))
  const options = optionsIn(text)
  const response = authenticator.register({ ...SITE, challenge: options.challenge, ...said })
  const answer = await member.post(newPage(base), {
    ...hiddenFields(text, newPage(base)),
    ...{ name: 'Phone <b>', passkey: JSON.stringify(response) },
  })
  return { ...answer, authenticator, options }
}

type Authenticator = ReturnType<typeof createAuthenticator>

/** Opens the page and answers its challenge. */
async function enterWith(
  authenticator: Authenticator,
  base: Base = '/app',
  said: Partial<Said> = {},
  visitor = newVisitor(service),
) {
  const { challenge, allowCredentials } = optionsIn((await visitor.get(signInPage(base))).text)
  assert.equal(allowCredentials, undefined, 'it names no passkey of an account')
  const passkey = JSON.stringify(authenticator.assert({ ...SITE, challenge, ...said }))
  return { visitor, passkey, answer: await visitor.post(signInPage(base), { passkey }) }
}

const ageStatement = sql<unknown>`
update sessions
set authenticated_at = authenticated_at - interval '6 minutes'
where user_id = (select id from users where email = $1)`

describe('a passkey at the dashboard', () => {
  for (const base of ['/app', '/ops'] as const)
    it(`is added, signs in, confirms and is removed in ${base}`, async () => {
      const isApp = base === '/app'
      const member: Member = await (isApp ? signInAs(service, merchant.uuid) : signInAsOperator(service))
      const { authenticator, options, ...added } = await addPasskey(member, base)
      assert.equal(added.headers.get('location'), `${base}/account?done=passkey`, added.text)
      assert.deepEqual(
        options.pubKeyCredParams.map(({ alg }: { alg: number }) => alg),
        [-8, -7, -257],
      )
      assert.equal(options.rp.id, SITE.rpId)
      const { visitor, answer } = await enterWith(authenticator, base)
      assert.deepEqual([answer.http, answer.headers.get('location')], [303, base], answer.text)
      const { text } = await visitor.get(`${base}/account`)
      assert.ok(text.includes('Phone &lt;b&gt;') && text.includes(member.email))
      // The other area has accounts of its own.
      assert.equal((await enterWith(authenticator, isApp ? '/ops' : '/app')).answer.http, 401)

      await service.db.query(ageStatement, [member.email])
      const [, action = ''] = /action="([^"]*\/passkeys\/[^"]*\/remove)"/.exec(text) ?? []
      const asked = await visitor.submit(`${base}/account`, action)
      assert.equal(asked.http, 403, asked.text)
      const { challenge, allowCredentials } = optionsIn(asked.text)
      assert.deepEqual(allowCredentials, [{ type: 'public-key', id: authenticator.credentialId }])
      const passkey = JSON.stringify(authenticator.assert({ ...SITE, challenge }))
      const fields = { ...hiddenFields(asked.text, action), confirmed: 'passkey', passkey }
      const removed = await visitor.post(action, fields)
      assert.deepEqual([removed.http, removed.headers.get('location')], [303, `${base}/account?done=saved`])
      assert.equal((await enterWith(authenticator, base)).answer.http, 401)
    })

  it('is refused for another site or another challenge, when it is made and when it is used', async () => {
    const member = await signInAs(service, merchant.uuid)
    const wrong: Partial<Said>[] = [
      { origin: 'https://evil.example' },
      { rpId: 'evil.example' },
      { challenge: 'A'.repeat(43) },
    ]
    for (const said of wrong) assert.equal((await addPasskey(member, '/app', said)).http, 401)
    const { authenticator } = await addPasskey(member)
    for (const said of wrong) {
      const { answer, visitor } = await enterWith(authenticator, '/app', said)
      assert.equal(answer.http, 401)
      assert.match(answer.text, /role="alert"/)
      assert.equal((await visitor.get('/app')).http, 303)
    }
  })

  it('answers a challenge once, and only in the browser that was asked', async () => {
    const { authenticator } = await addPasskey(await signInAs(service, merchant.uuid))
    const { visitor, passkey } = await enterWith(authenticator)
    assert.equal((await visitor.post(signInPage('/app'), { passkey })).http, 401)
    const asked = newVisitor(service)
    const { challenge } = optionsIn((await asked.get(signInPage('/app'))).text)
    const stolen = JSON.stringify(authenticator.assert({ ...SITE, challenge }))
    const other = newVisitor(service)
    await other.get(signInPage('/app'))
    assert.equal((await other.post(signInPage('/app'), { passkey: stolen })).http, 401)
    assert.equal((await asked.post(signInPage('/app'), { passkey: stolen })).http, 303)
    for (const nonsense of ['', '{', '[]', '{"id":1}'])
      assert.equal((await other.post(signInPage('/app'), { passkey: nonsense })).http, 401, nonsense)
  })

  it('takes the place of the code after the password', async () => {
    const member = await signInAs(service, merchant.uuid)
    const { authenticator } = await addPasskey(member)
    const started = await member.submit('/app/account', '/app/account/totp')
    const [, secret = ''] = /<code class="mono">([A-Z2-7]+)<\/code>/.exec(started.text) ?? []
    const action = '/app/account/totp/confirm'
    const code = totpCode(secret, Date.now())
    assert.equal((await member.post(action, { ...hiddenFields(started.text, action), code })).http, 200)
    const visitor = newVisitor(service)
    const asked = await visitor.post('/app/sign-in', { email: member.email, password: PASSWORD })
    assert.match(asked.headers.get('location') ?? '', /^\/app\/sign-in\/code/)
    assert.equal((await visitor.get('/app')).http, 303)
    const { answer } = await enterWith(authenticator, '/app', {}, visitor)
    assert.equal(answer.http, 303)
    assert.equal((await visitor.get('/app')).http, 200)
    assert.equal(visitor.cookies.has('cowry_pending'), false)
  })

  it('is not removed by another person', async () => {
    const member = await signInAs(service, merchant.uuid)
    const { authenticator } = await addPasskey(member)
    const [, action = ''] =
      /action="([^"]*\/passkeys\/[^"]*\/remove)"/.exec((await member.get('/app/account')).text) ?? []
    const other = await signInAs(service, merchant.uuid)
    assert.equal((await force(other, action)).http, 401)
    assert.equal((await enterWith(authenticator)).answer.http, 303)
  })

  it('is allowed by the policy of these pages, and by no other', async () => {
    const policyOf = async (path: string) =>
      (await newVisitor(service).get(path)).headers.get('permissions-policy') ?? ''
    for (const path of ['/app/sign-in', '/ops/sign-in'])
      assert.match(await policyOf(path), /publickey-credentials-get=\(self\)/)
    for (const path of ['/', '/docs']) assert.match(await policyOf(path), /publickey-credentials-get=\(\)/)
  })
})
