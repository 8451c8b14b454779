import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, describe, it } from 'node:test'
import {
  newOrigin,
  PASSWORD,
  peopleRig,
  refusedWith,
  requirePrincipal,
} from '../../test/support/people-rig.ts'
import { sql } from '../kit/db/db.ts'
import { accountOf, changePassword, disableUser } from './accounts.ts'
import { PeopleError } from './errors.ts'
import { acceptAsMember } from './invitations.ts'
import { peopleJobs } from './jobs.ts'
import {
  chooseMerchant,
  endSession,
  endSessionsElsewhere,
  listSessions,
  principalOf,
  requireRecentAuthentication,
  signOut,
} from './sessions.ts'
import { confirmIdentity, signIn } from './sign-in.ts'
import { changeRole, inviteOwner, removeMember } from './team.ts'

const rig = await peopleRig({ after })
const { app, clock } = rig
const merchantId = await rig.newMerchant()
await rig.newMember(merchantId, 'owner')

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

async function signInAs(email: string, more: { sessionToken?: string } = {}) {
  const signedIn = await signIn(app, { email, password: PASSWORD, kind: 'member' }, newOrigin(more))
  if (signedIn.kind !== 'session') throw new Error('no second factor was set up')
  return signedIn
}

describe('a session', () => {
  it('stands for a person with a merchant, a role and its scopes', async () => {
    const { token, email } = await rig.newMember(merchantId, 'finance')
    const principal = await requirePrincipal(app, token)
    assert.equal(principal.user.email, email)
    assert.deepEqual(
      [principal.merchant?.id, principal.merchant?.status, principal.role],
      [merchantId, 'active', 'finance'],
    )
    assert.ok(principal.scopes.includes('refunds:write') && !principal.scopes.includes('team:write'))
  })

  it('is found by the hash of its token alone, and the token is not stored', async () => {
    const { token, principal } = await rig.newMember(merchantId, 'viewer')
    const [row] = await rig.raw.query(
      sql<{
        hash: Buffer
        row: string
      }>`select token_hash as hash, s::text as row from sessions s where id = $1`,
      [principal.sessionId],
    )
    assert.ok(row)
    assert.ok(row.hash.equals(createHash('sha256').update(token).digest()))
    assert.ok(!row.row.includes(token))
    for (const wrong of [undefined, '', 'x', `${token}x`, row.hash.toString('base64url'), 'A'.repeat(43)])
      assert.equal(await principalOf(app, wrong), undefined)
  })

  it('ends after 30 minutes without a request, and after 12 hours in any case', async () => {
    const { token, email } = await rig.newMember(merchantId, 'viewer')
    clock.advance(31 * MINUTE_MS)
    assert.equal(await principalOf(app, token), undefined)
    const used = await signInAs(email)
    for (let minutes = 0; minutes < 12 * 60 - 20; minutes += 20) {
      assert.ok(await principalOf(app, used.token), `after ${minutes} minutes`)
      clock.advance(20 * MINUTE_MS)
    }
    assert.ok(await principalOf(app, used.token))
    clock.advance(20 * MINUTE_MS)
    assert.equal(await principalOf(app, used.token), undefined)
  })

  it('has a new token at each sign-in, and the one of the same browser ends (fixation)', async () => {
    const { token, email } = await rig.newMember(merchantId, 'viewer')
    const chosen = 'B'.repeat(43)
    const forced = await signInAs(email, { sessionToken: chosen })
    assert.notEqual(forced.token, chosen)
    assert.equal(await principalOf(app, chosen), undefined)
    const again = await signInAs(email, { sessionToken: token })
    assert.equal(await principalOf(app, token), undefined)
    assert.ok(await principalOf(app, again.token))
  })

  it('has a new token after the person has confirmed it, and the old one stops working', async () => {
    const { token, principal } = await rig.newMember(merchantId, 'viewer')
    clock.advance(6 * MINUTE_MS)
    assert.throws(() => requireRecentAuthentication(app, principal), refusedWith('authentication_required'))
    await assert.rejects(
      confirmIdentity(app, principal, { password: 'a wrong password' }, newOrigin()),
      refusedWith('sign_in_failed'),
    )
    const renewed = await confirmIdentity(app, principal, { password: PASSWORD }, newOrigin())
    assert.equal(await principalOf(app, token), undefined)
    const fresh = await requirePrincipal(app, renewed)
    assert.equal(fresh.sessionId, principal.sessionId)
    requireRecentAuthentication(app, fresh)
  })

  it('is not confirmed by guessing', async () => {
    const { principal } = await rig.newMember(merchantId, 'viewer')
    const before = rig.hashes()
    for (let count = 0; count < 50; count += 1)
      await assert.rejects(
        confirmIdentity(app, principal, { password: `wrong ${count}` }, newOrigin()),
        PeopleError,
      )
    assert.equal(rig.hashes() - before, 5)
  })
})

describe('the end of a session', () => {
  it('happens at sign-out, and the cookie is worth nothing then', async () => {
    const { token, principal } = await rig.newMember(merchantId, 'viewer')
    await signOut(app, principal, newOrigin())
    assert.equal(await principalOf(app, token), undefined)
    await assert.rejects(
      confirmIdentity(app, principal, { password: PASSWORD }, newOrigin()),
      refusedWith('session_ended'),
    )
  })

  it('can be chosen in the list of sessions, only by their owner', async () => {
    const { token, email, principal } = await rig.newMember(merchantId, 'viewer')
    const stranger = await rig.newMember(merchantId, 'admin')
    const others = [await signInAs(email), await signInAs(email), await signInAs(email)]
    assert.equal((await listSessions(app, principal)).length, 4)
    const [first] = others
    assert.ok(first)
    await assert.rejects(endSession(app, stranger.principal, first.sessionId), refusedWith('session_ended'))
    await endSession(app, principal, first.sessionId)
    assert.equal(await principalOf(app, first.token), undefined)
    assert.equal(await endSessionsElsewhere(app, principal), 2)
    assert.equal((await listSessions(app, principal)).length, 1)
    assert.ok(await principalOf(app, token))
    assert.ok(await principalOf(app, stranger.token))
  })

  it('happens to the other sessions when the password is changed', async () => {
    const { token, email, principal, deviceToken } = await rig.newMember(merchantId, 'viewer')
    const other = await signInAs(email)
    const renewed = await rig.as(principal, () => changePassword(app, principal, 'another good passphrase'))
    assert.equal(await principalOf(app, other.token), undefined)
    assert.equal(await principalOf(app, token), undefined, 'this one has a new token')
    assert.ok(await principalOf(app, renewed))
    await assert.rejects(signInAs(email), refusedWith('sign_in_failed'))
    const { kind } = await signIn(
      app,
      { email, password: 'another good passphrase', kind: 'member' },
      newOrigin({ deviceToken }),
    )
    assert.equal(kind, 'session')
  })

  it('happens when the person is disabled, who cannot sign in again', async () => {
    const { token, email, principal } = await rig.newMember(merchantId, 'viewer')
    await disableUser(app, principal.user.id)
    assert.equal(await principalOf(app, token), undefined)
    await assert.rejects(signInAs(email), refusedWith('sign_in_failed'))
  })

  it('happens when the membership ends, and a later one does not revive it', async () => {
    const owner = await rig.newMember(merchantId, 'owner')
    const { token, email, principal } = await rig.newMember(merchantId, 'viewer')
    await rig.as(owner.principal, () => removeMember(app, owner.principal, principal.user.id))
    assert.equal(await principalOf(app, token), undefined)
    clock.advance(1_000)
    const again = await signInAs(email)
    const outsider = await requirePrincipal(app, again.token)
    assert.deepEqual([outsider.merchant, outsider.role, outsider.scopes], [null, null, []])
    const invitation = await inviteOwner(app, { email, merchantId })
    await acceptAsMember(app, outsider, invitation.token, newOrigin())
    assert.equal(await principalOf(app, token), undefined)
    await chooseMerchant(app, outsider, merchantId)
    assert.equal((await requirePrincipal(app, again.token)).role, 'owner')
  })

  it('is not needed for a change of the role, which counts from the next request on', async () => {
    const owner = await rig.newMember(merchantId, 'owner')
    const { token, principal } = await rig.newMember(merchantId, 'admin')
    await rig.as(owner.principal, () => changeRole(app, owner.principal, principal.user.id, 'viewer'))
    const changed = await requirePrincipal(app, token)
    assert.equal(changed.role, 'viewer')
    assert.ok(!changed.scopes.includes('refunds:write'))
  })
})

describe('a member of several merchants', () => {
  it('chooses one, and no merchant of others', async () => {
    const [second, foreign] = [await rig.newMerchant(), await rig.newMerchant()]
    const { email, principal, token } = await rig.newMember(merchantId, 'viewer')
    const invitation = await inviteOwner(app, { email, merchantId: second })
    await acceptAsMember(app, principal, invitation.token, newOrigin())
    const signedIn = await signInAs(email)
    assert.equal((await requirePrincipal(app, signedIn.token)).merchant, null)
    const merchants = await accountOf(app, principal, newOrigin()).memberships()
    assert.deepEqual(merchants.map((one) => one.merchantId).sort(), [merchantId, second].sort())
    await chooseMerchant(app, principal, second)
    assert.equal((await requirePrincipal(app, token)).role, 'owner')
    await assert.rejects(chooseMerchant(app, principal, foreign), refusedWith('not_allowed'))
  })
})

describe('rows of people that have ended', () => {
  it('are purged, and the others stay', async () => {
    const { token } = await rig.newMember(merchantId, 'viewer')
    clock.advance(8 * 24 * HOUR_MS)
    const { token: fresh } = await rig.newMember(merchantId, 'viewer')
    const [job] = peopleJobs({ peopleDb: rig.raw, clock })
    assert.ok(job && 'run' in job)
    assert.ok((await job.run()) > 0)
    const hashes = [token, fresh].map((one) => createHash('sha256').update(one).digest())
    const left = await rig.raw.query(
      sql<{ hash: Buffer }>`select token_hash as hash from sessions where token_hash = any($1)`,
      [hashes],
    )
    assert.equal(left.length, 1)
    assert.ok(await principalOf(app, fresh))
  })
})
