import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { newOrigin, peopleRig, refusedWith, requirePrincipal } from '../../../test/support/people-rig.ts'
import { totpCode } from '../../../test/support/totp-code.ts'
import { sql } from '../../kit/db/db.ts'
import type { Oidc } from '../../kit/http/oidc.ts'
import { confirmTotp, startTotp } from '../second-factors.ts'
import { completeSignIn } from '../sign-in.ts'
import { providerSignIn } from './provider-sign-in.ts'

const rig = await peopleRig({ after })
const { app, clock } = rig
const merchantId = await rig.newMerchant()

const verify = sql<unknown>`update users set email_verified_at = created_at where id = $1`

/** A provider that confirms this person, with the number of its confirmations. */
function providerOf(subject: string, email: string) {
  const provider = { finished: 0 }
  const oidc: Oidc = {
    begin: async () => ({
      url: 'https://id.example.com/authorize',
      pending: { state: 'state', nonce: 'nonce', codeVerifier: 'verifier' },
    }),
    finish: async () => {
      provider.finished += 1
      return { issuer: 'https://id.example.com', subject, email }
    },
  }
  const start = () => providerSignIn.start(app, oidc, '/app')
  const finish = (sealed: string) =>
    providerSignIn.finish(app, oidc, { query: new URLSearchParams(), sealed }, newOrigin())
  return { provider, start, finish }
}

describe('a sign-in with an identity provider', () => {
  it('must return within ten minutes; later the provider is not even asked', async () => {
    const { email } = await rig.newMember(merchantId, 'viewer')
    const { provider, start, finish } = providerOf('in-time', email)
    const { sealed, maxAgeSeconds } = await start()
    assert.equal(maxAgeSeconds, 600)
    clock.advance(599_000)
    assert.equal((await finish(sealed)).result.kind, 'session')
    const late = await start()
    clock.advance(600_000)
    await assert.rejects(finish(late.sealed), refusedWith('identity_refused'))
    assert.equal(provider.finished, 1)
  })

  it('waits for the code of an authenticator app', async () => {
    const { email, principal } = await rig.newMember(merchantId, 'viewer')
    await rig.raw.query(verify, [principal.user.id])
    const { secret } = await startTotp(app, principal, 'pay.example.com')
    await confirmTotp(app, principal, totpCode(secret, clock.now().getTime()))
    const { start, finish } = providerOf('with-app', email)
    const { result } = await finish((await start()).sealed)
    assert.equal(result.kind, 'second_factor')
    const { pendingToken } = result
    await assert.rejects(
      completeSignIn(app, { pendingToken, code: '000000' }, newOrigin()),
      refusedWith('second_factor_failed'),
    )
    clock.advance(30_000)
    const code = totpCode(secret, clock.now().getTime())
    const { token } = await completeSignIn(app, { pendingToken, code }, newOrigin())
    assert.equal((await requirePrincipal(app, token)).user.id, principal.user.id)
    await assert.rejects(
      completeSignIn(app, { pendingToken, code }, newOrigin()),
      refusedWith('session_ended'),
    )
  })
})
