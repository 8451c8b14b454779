import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import {
  type Authenticator,
  createAuthenticator,
  FLAGS,
  type Said,
} from '../../test/support/authenticator.ts'
import { newOrigin, peopleRig, refusedWith, requirePrincipal, SITE } from '../../test/support/people-rig.ts'
import { addMs } from '../kit/clock.ts'
import { disableUser } from './accounts.ts'
import {
  addPasskey,
  confirmWithPasskey,
  createChallenge,
  listPasskeys,
  passkeySignIn,
  removePasskey,
  signInWithPasskey,
} from './passkeys.ts'
import { type Principal, principalOf } from './sessions.ts'

const rig = await peopleRig({ after })
const { app, clock } = rig
const merchantId = await rig.newMerchant()
const PAGE = { origin: SITE, rpId: 'pay.example.com' }

async function withPasskey(authenticator: Authenticator = createAuthenticator('ES256')) {
  const member = await rig.newMember(merchantId, 'admin')
  const challenge = await createChallenge(app, 'registration', member.principal)
  const response = authenticator.register({ ...PAGE, challenge })
  const passkey = await addPasskey(app, member.principal, { challenge, response, name: 'Phone' })
  return { ...member, authenticator, passkey }
}

async function signInBy(authenticator: Authenticator, said: Partial<Said> = {}) {
  const challenge = await createChallenge(app, 'sign_in', null)
  const response = authenticator.assert({ ...PAGE, challenge, ...said })
  return signInWithPasskey(app, { challenge, response, kind: 'member' }, newOrigin())
}

describe('a passkey', () => {
  it('signs in by itself, with each algorithm', async () => {
    for (const algorithm of ['ES256', 'EdDSA', 'RS256'] as const) {
      const { authenticator, principal } = await withPasskey(createAuthenticator(algorithm))
      const { token } = await signInBy(authenticator)
      assert.equal((await requirePrincipal(app, token)).user.id, principal.user.id)
      const [passkey] = await listPasskeys(app, principal)
      assert.ok(passkey?.lastUsedAt && passkey.lastUsedAt > addMs(clock.now(), -1_000))
    }
  })

  it('signs in as often as people do from one address of an office', async () => {
    const { authenticator } = await withPasskey()
    const origin = newOrigin()
    for (let time = 0; time < 60; time += 1) {
      const { challenge } = await passkeySignIn.start(app, origin)
      const response = authenticator.assert({ ...PAGE, challenge })
      await passkeySignIn.finish(app, { challenge, response, kind: 'member' }, origin)
    }
  })

  it('is refused for another site, another challenge, and without a verified person', async () => {
    const { authenticator } = await withPasskey()
    for (const said of [
      { origin: 'https://pay.example.org' },
      { rpId: 'example.org' },
      { challenge: 'A'.repeat(43) },
      { flags: FLAGS.UP },
    ])
      await assert.rejects(signInBy(authenticator, said), refusedWith('passkey_refused'))
    await assert.rejects(signInBy(createAuthenticator('ES256')), refusedWith('passkey_refused'))
  })

  it('answers a challenge once, within five minutes, and for its purpose and person only', async () => {
    const { authenticator, principal } = await withPasskey()
    const other = await withPasskey()
    const signIn = (challenge: string) =>
      signInWithPasskey(
        app,
        { challenge, response: authenticator.assert({ ...PAGE, challenge }), kind: 'member' },
        newOrigin(),
      )
    const challenge = await createChallenge(app, 'sign_in', null)
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => signIn(challenge)))
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 1)
    const late = await createChallenge(app, 'sign_in', null)
    clock.advance(5 * 60_000)
    const ofOthers = [
      await createChallenge(app, 'step_up', principal),
      await createChallenge(app, 'registration', principal),
      'B'.repeat(43),
      '',
    ]
    for (const wrong of [late, ...ofOthers])
      await assert.rejects(signIn(wrong), refusedWith('passkey_refused'))
    const foreign = await createChallenge(app, 'step_up', other.principal)
    const response = authenticator.assert({ ...PAGE, challenge: foreign })
    for (const person of [principal, other.principal])
      await assert.rejects(
        confirmWithPasskey(app, person, { challenge: foreign, response }, newOrigin()),
        refusedWith('passkey_refused'),
      )
  })

  it('is refused and reported if its count does not rise, because it may have been copied', async () => {
    const { authenticator } = await withPasskey()
    await signInBy(authenticator, { signCount: 5 })
    const before = rig.lines.length
    await assert.rejects(signInBy(authenticator, { signCount: 5 }), refusedWith('passkey_refused'))
    assert.deepEqual(rig.lines.slice(before), ['passkey.sign_count_did_not_rise'])
    assert.ok(await signInBy(authenticator, { signCount: 6 }))
  })

  it('confirms the session, which gets a new token', async () => {
    const { authenticator, token, principal } = await withPasskey()
    clock.advance(6 * 60_000)
    const challenge = await createChallenge(app, 'step_up', principal)
    const response = authenticator.assert({ ...PAGE, challenge })
    const renewed = await confirmWithPasskey(app, principal, { challenge, response }, newOrigin())
    assert.equal(await principalOf(app, token), undefined)
    const { authenticatedAt } = await requirePrincipal(app, renewed)
    assert.ok(authenticatedAt > addMs(clock.now(), -1_000))
  })

  it('works no more after it was removed, or the person disabled, and not for operators', async () => {
    const { authenticator, principal, passkey } = await withPasskey()
    const other = await withPasskey()
    const challenge = await createChallenge(app, 'sign_in', null)
    const response = authenticator.assert({ ...PAGE, challenge })
    await assert.rejects(
      signInWithPasskey(app, { challenge, response, kind: 'operator' }, newOrigin()),
      refusedWith('passkey_refused'),
    )
    await assert.rejects(removePasskey(app, other.principal, passkey.id), refusedWith('passkey_refused'))
    await removePasskey(app, principal, passkey.id)
    await assert.rejects(signInBy(authenticator), refusedWith('passkey_refused'))
    await disableUser(app, other.principal.user.id)
    await assert.rejects(signInBy(other.authenticator), refusedWith('passkey_refused'))
  })

  it('is registered for one account, after a recent sign-in', async () => {
    const { authenticator, principal } = await withPasskey()
    const { principal: second } = await rig.newMember(merchantId, 'viewer')
    const register = async (person: Principal) => {
      const challenge = await createChallenge(app, 'registration', person)
      const response = authenticator.register({ ...PAGE, challenge })
      return addPasskey(app, person, { challenge, response, name: 'Again' })
    }
    await assert.rejects(register(second), refusedWith('passkey_refused'))
    clock.advance(6 * 60_000)
    await assert.rejects(register(principal), refusedWith('authentication_required'))
    await assert.rejects(
      removePasskey(app, principal, principal.user.id),
      refusedWith('authentication_required'),
    )
  })
})
