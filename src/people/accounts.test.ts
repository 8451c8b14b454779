import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { createAuthenticator } from '../../test/support/authenticator.ts'
import {
  newOrigin,
  PASSWORD,
  peopleRig,
  refusedWith,
  requirePrincipal,
  SITE,
} from '../../test/support/people-rig.ts'
import { changePassword, requestPasswordReset, resetPassword } from './accounts.ts'
import { createDemoSignIn, signInByDemoLink } from './demo/people.ts'
import type { PeopleError } from './errors.ts'
import { addPasskey, createChallenge, listPasskeys } from './passkeys.ts'
import { type Principal, principalOf } from './sessions.ts'
import { confirmIdentity, signIn } from './sign-in.ts'

const rig = await peopleRig({ after })
const { app, clock } = rig
const merchantId = await rig.newMerchant()

const MINUTE_MS = 60_000
const NEW_PASSWORD = 'another good passphrase'

async function resetTokenOf(email: string): Promise<string> {
  const link = await (await requestPasswordReset(app, email, newOrigin()))()
  return link?.token ?? assert.fail('there is an account')
}

describe('the link of the demo owner', () => {
  it('signs in to the demo merchant as its owner, once by 20 uses at the same time', async () => {
    const token = await createDemoSignIn(app, merchantId)
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, () => signInByDemoLink(app, { token, kind: 'member' }, newOrigin())),
    )
    const [first, ...others] = results.filter((one) => one.status === 'fulfilled')
    assert.ok(first && others.length === 0)
    const principal = await requirePrincipal(app, first.value.token)
    assert.deepEqual([principal.merchant?.id, principal.role], [merchantId, 'owner'])
    await assert.rejects(
      signInByDemoLink(app, { token, kind: 'member' }, newOrigin()),
      refusedWith('link_not_valid'),
    )
  })

  it('is made again for the same owner, and works for a day', async () => {
    const first = await requirePrincipal(app, (await use(await createDemoSignIn(app, merchantId))).token)
    const second = await requirePrincipal(app, (await use(await createDemoSignIn(app, merchantId))).token)
    assert.equal(first.user.id, second.user.id)
    const [hours, late] = [await createDemoSignIn(app, merchantId), await createDemoSignIn(app)]
    clock.advance(23 * 60 * MINUTE_MS)
    assert.equal((await requirePrincipal(app, (await use(hours)).token)).user.id, first.user.id)
    clock.advance(60 * MINUTE_MS)
    await assert.rejects(use(late), refusedWith('link_not_valid'))
  })

  const use = (token: string) => signInByDemoLink(app, { token, kind: 'member' }, newOrigin())

  it('is all that the demo owner needs to confirm the session, in staging only', async () => {
    const { token } = await use(await createDemoSignIn(app, merchantId))
    const principal = await requirePrincipal(app, token)
    const live = { ...app, mode: 'live' as const }
    await assert.rejects(confirmIdentity(live, principal, {}, newOrigin()), refusedWith('sign_in_failed'))
    const renewed = await confirmIdentity(app, principal, {}, newOrigin())
    assert.equal(await principalOf(app, token), undefined)
    await changePassword(app, await requirePrincipal(app, renewed), NEW_PASSWORD)
    const { token: later } = await use(await createDemoSignIn(app, merchantId))
    const protectedNow = await requirePrincipal(app, later)
    await assert.rejects(confirmIdentity(app, protectedNow, {}, newOrigin()), refusedWith('sign_in_failed'))
  })

  it('signs an operator of the demo in to the area of operators alone', async () => {
    const person = { account: 'operator', name: 'An operator', role: 'operator' } as const
    const token = await createDemoSignIn(app, merchantId, person)
    await assert.rejects(use(token), refusedWith('link_not_valid'))
    const session = await signInByDemoLink(app, { token, kind: 'operator' }, newOrigin())
    const { user, merchant } = await requirePrincipal(app, session.token)
    assert.deepEqual([user.kind, user.email, merchant], ['operator', 'operator@demo.example', null])
  })

  it('is neither made nor accepted in production', async () => {
    const token = await createDemoSignIn(app, merchantId)
    const live = { ...app, mode: 'live' as const }
    await assert.rejects(createDemoSignIn(live, merchantId), /outside staging/)
    await assert.rejects(
      signInByDemoLink(live, { token, kind: 'member' }, newOrigin()),
      refusedWith('link_not_valid'),
    )
  })
})

describe('a password reset', () => {
  it('takes a link, ends all sessions and does not sign in', async () => {
    const { email, token: session } = await rig.newMember(merchantId, 'viewer')
    const token = await resetTokenOf(email.toUpperCase())
    await assert.rejects(resetPassword(app, token, 'short', newOrigin()), refusedWith('password_length'))
    await resetPassword(app, token, NEW_PASSWORD, newOrigin())
    assert.equal(await principalOf(app, session), undefined)
    const signInWith = (password: string) => signIn(app, { email, password, kind: 'member' }, newOrigin())
    await assert.rejects(signInWith(PASSWORD), refusedWith('sign_in_failed'))
    assert.equal((await signInWith(NEW_PASSWORD)).kind, 'session')
  })

  it('happens once by 20 uses of the link, within an hour, and ends earlier links', async () => {
    const { email } = await rig.newMember(merchantId, 'viewer')
    const [older, token] = [await resetTokenOf(email), await resetTokenOf(email)]
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) =>
        resetPassword(app, token, `${NEW_PASSWORD} ${index}`, newOrigin()),
      ),
    )
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
    await assert.rejects(resetPassword(app, older, NEW_PASSWORD, newOrigin()), refusedWith('link_not_valid'))
    const late = await resetTokenOf(email)
    clock.advance(60 * MINUTE_MS)
    await assert.rejects(resetPassword(app, late, NEW_PASSWORD, newOrigin()), refusedWith('link_not_valid'))
  })

  it('removes what another person has registered for the e-mail address, at its first proof only', async () => {
    const { email, principal } = await rig.newMember(merchantId, 'viewer')
    const addFactors = async (person: Principal) => {
      const challenge = await createChallenge(app, 'registration', person)
      const page = { origin: SITE, rpId: 'pay.example.com', challenge }
      const response = createAuthenticator('ES256').register(page)
      await addPasskey(app, person, { challenge, response, name: 'Phone' })
    }
    await addFactors(principal)
    await resetPassword(app, await resetTokenOf(email), NEW_PASSWORD, newOrigin())
    assert.equal((await listPasskeys(app, principal)).length, 0)
    await addFactors(principal)
    await resetPassword(app, await resetTokenOf(email), PASSWORD, newOrigin())
    assert.equal((await listPasskeys(app, principal)).length, 1)
  })

  it('does not show whether there is an account, and few links are made', async () => {
    const { email } = await rig.newMember(merchantId, 'viewer')
    const answers = async (address: string) => {
      const origin = newOrigin()
      const codes: (string | undefined)[] = []
      for (let count = 0; count < 8; count += 1)
        codes.push(
          await requestPasswordReset(app, address, origin).then(
            () => 'sent',
            (error: PeopleError) => `${error.code} ${error.retryAfterSeconds}`,
          ),
        )
      return codes
    }
    const existing = await answers(email)
    assert.deepEqual(await answers('unknown@example.com'), existing)
    assert.equal(existing.filter((code) => code === 'sent').length, 5)
    assert.equal(await (await requestPasswordReset(app, 'unknown@example.com', newOrigin()))(), undefined)
  })

  it('is no way around the purpose of a link', async () => {
    const { email } = await rig.newMember(merchantId, 'viewer')
    await assert.rejects(
      signInByDemoLink(app, { token: await resetTokenOf(email), kind: 'member' }, newOrigin()),
      refusedWith('link_not_valid'),
    )
    const demo = await createDemoSignIn(app, merchantId)
    await assert.rejects(resetPassword(app, demo, NEW_PASSWORD, newOrigin()), refusedWith('link_not_valid'))
  })
})

describe('a change of the password', () => {
  it('needs a recent sign-in and a good password, and ends links that were sent before', async () => {
    const { email, principal } = await rig.newMember(merchantId, 'viewer')
    const link = await resetTokenOf(email)
    await assert.rejects(changePassword(app, principal, email), refusedWith('password_common'))
    await changePassword(app, principal, NEW_PASSWORD)
    await assert.rejects(resetPassword(app, link, PASSWORD, newOrigin()), refusedWith('link_not_valid'))
    clock.advance(6 * MINUTE_MS)
    await assert.rejects(changePassword(app, principal, PASSWORD), refusedWith('authentication_required'))
  })
})
