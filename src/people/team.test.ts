import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import {
  newOrigin,
  PASSWORD,
  peopleRig,
  refusedWith,
  requirePrincipal,
} from '../../test/support/people-rig.ts'
import { runAudited } from '../kit/db/audit-context.ts'
import { sql } from '../kit/db/db.ts'
import { runAsMerchant } from '../kit/db/tenant-isolation.ts'
import { disableUser } from './accounts.ts'
import type { PeopleError } from './errors.ts'
import { acceptAsMember, acceptWithNewAccount, showInvitation } from './invitations.ts'
import { ROLES, type Role } from './roles.ts'
import { principalOf } from './sessions.ts'
import { signIn } from './sign-in.ts'
import {
  changeRole,
  inviteMember,
  inviteOwner,
  listInvitations,
  listTeam,
  removeMember,
  revokeInvitation,
} from './team.ts'
import { inviteOperator } from './users/invite-operator.ts'

const rig = await peopleRig({ after })
const { app, clock } = rig
const DAY_MS = 24 * 3_600_000
const ACCOUNT = { name: 'Otieno', password: PASSWORD, language: 'sw' }

async function newTeam() {
  const merchantId = await rig.newMerchant()
  const owner = await rig.newMember(merchantId, 'owner')
  return { merchantId, owner: owner.principal, newMember: (role: Role) => rig.newMember(merchantId, role) }
}

const verifyChains = sql<{ verification: { violations: number; entries: number } }>`
select verify_audit_chains(null) as verification`

describe('the team of a merchant', () => {
  it('lists its members with their roles, and no one of another merchant', async () => {
    const { owner, newMember } = await newTeam()
    const viewer = await newMember('viewer')
    const other = await newTeam()
    const team = await rig.as(owner, () => listTeam(app, owner))
    assert.deepEqual(
      team.map(({ userId, role }) => [userId, role]).sort(),
      [
        [owner.user.id, 'owner'],
        [viewer.principal.user.id, 'viewer'],
      ].sort(),
    )
    assert.equal((await rig.as(other.owner, () => listTeam(app, other.owner))).length, 1)
  })

  it('is isolated by row-level security, also if a statement lacks the merchant', async () => {
    const [one, other] = [await newTeam(), await newTeam()]
    await rig.as(other.owner, () =>
      inviteMember(app, other.owner, { email: 'new@example.com', role: 'viewer' }),
    )
    const all = sql<{ merchantId: string }>`
      select merchant_id as "merchantId" from memberships union all select merchant_id from invitations`
    const seen = await runAsMerchant(one.merchantId, () => app.instanceDb.query(all))
    assert.deepEqual([...new Set(seen.map(({ merchantId }) => merchantId))], [one.merchantId])
    const steal = sql<unknown>`
      insert into memberships (merchant_id, user_id, role, created_at) values ($1, $2, 'owner', now())`
    await assert.rejects(
      runAsMerchant(one.merchantId, () => app.instanceDb.query(steal, [other.merchantId, one.owner.user.id])),
      /row-level security/,
    )
    for (const table of [
      'users',
      'sessions',
      'passkeys',
      'one_time_links',
      'known_devices',
      'recovery_codes',
    ])
      await assert.rejects(
        runAsMerchant(one.merchantId, () => app.instanceDb.query(sql<unknown>`select from ${table}`)),
        /permission denied/,
        table,
      )
  })

  it('is not changed by ids of another merchant', async () => {
    const [one, other] = [await newTeam(), await newTeam()]
    const invitation = await rig.as(other.owner, () =>
      inviteMember(app, other.owner, { email: 'someone@example.com', role: 'viewer' }),
    )
    const foreign = other.owner.user.id
    const calls = [
      [() => changeRole(app, one.owner, foreign, 'viewer'), 'member_not_found'],
      [() => removeMember(app, one.owner, foreign), 'member_not_found'],
      [() => revokeInvitation(app, one.owner, invitation.id), 'invitation_not_found'],
    ] as const
    for (const [call, code] of calls) await assert.rejects(rig.as(one.owner, call), refusedWith(code))
    assert.equal((await rig.as(other.owner, () => listInvitations(app, other.owner))).length, 1)
  })
})

describe('a change of a role', () => {
  it('gives no more rights than the person has, and only owners change owners', async () => {
    const { owner, newMember } = await newTeam()
    const [second, coOwner] = [await newMember('viewer'), await newMember('owner')]
    const allowed: string[] = []
    for (const actorRole of ROLES) {
      const { principal: actor } = await newMember(actorRole)
      for (const role of ROLES) {
        const { principal: target } =
          actorRole === 'owner' || actorRole === 'admin' ? await newMember('viewer') : second
        const isAllowed = await rig
          .as(actor, () => changeRole(app, actor, target.user.id, role))
          .then(
            () => true,
            (error) => !refusedWith('not_allowed')(error),
          )
        if (isAllowed) allowed.push(`${actorRole} ${role}`)
      }
    }
    assert.deepEqual(allowed, [
      ...ROLES.filter((role) => role !== 'owner').map((role) => `admin ${role}`),
      ...ROLES.map((role) => `owner ${role}`),
    ])
    const { principal: admin } = await newMember('admin')
    const calls: (() => Promise<unknown>)[] = [
      () => changeRole(app, admin, owner.user.id, 'viewer'),
      () => removeMember(app, admin, owner.user.id),
      () => changeRole(app, admin, admin.user.id, 'owner'),
      () => inviteMember(app, admin, { email: 'more@example.com', role: 'owner' }),
    ]
    for (const call of calls) await assert.rejects(rig.as(admin, call), refusedWith('not_allowed'))
    await rig.as(owner, () => changeRole(app, owner, coOwner.principal.user.id, 'viewer'))
  })

  it('is decided by the role at that time, not by the one when the request began', async () => {
    const { owner, newMember } = await newTeam()
    const { principal: admin } = await newMember('admin')
    await rig.as(owner, () => changeRole(app, owner, admin.user.id, 'viewer'))
    const calls: (() => Promise<unknown>)[] = [
      () => changeRole(app, admin, admin.user.id, 'admin'),
      () => inviteMember(app, admin, { email: 'late@example.com', role: 'viewer' }),
    ]
    for (const call of calls) await assert.rejects(rig.as(admin, call), refusedWith('not_allowed'))
  })

  it('leaves an owner, also if two owners demote or remove each other at the same time', async () => {
    const { owner } = await newTeam()
    await assert.rejects(
      rig.as(owner, () => changeRole(app, owner, owner.user.id, 'admin')),
      refusedWith('last_owner'),
    )
    await assert.rejects(
      rig.as(owner, () => removeMember(app, owner, owner.user.id)),
      refusedWith('last_owner'),
    )
    for (let round = 0; round < 5; round += 1) {
      const team = await newTeam()
      const { principal: second } = await team.newMember('owner')
      const results = await Promise.allSettled([
        rig.as(team.owner, () => changeRole(app, team.owner, second.user.id, 'viewer')),
        rig.as(second, () => removeMember(app, second, team.owner.user.id)),
        rig.as(second, () => removeMember(app, second, second.user.id)),
      ])
      const left = await rig.raw.query(
        sql<{ id: string }>`select user_id as id from memberships where merchant_id = $1 and role = 'owner'`,
        [team.merchantId],
      )
      assert.equal(left.length, 1, JSON.stringify(results.map(({ status }) => status)))
    }
  })
})

describe('an invitation', () => {
  it('makes an account with a role, in the session that follows', async () => {
    const { owner, merchantId } = await newTeam()
    const email = 'Otieno@Example.com'
    const { token } = await rig.as(owner, () => inviteMember(app, owner, { email, role: 'support' }))
    const shown = await showInvitation(app, token)
    assert.deepEqual([shown.email, shown.role, shown.hasAccount], ['otieno@example.com', 'support', false])
    await assert.rejects(
      acceptWithNewAccount(app, token, { ...ACCOUNT, password: 'otieno@example.com' }, newOrigin()),
      refusedWith('password_common'),
    )
    const hidden = { ...ACCOUNT, name: '\u202e' }
    await assert.rejects(acceptWithNewAccount(app, token, hidden, newOrigin()), refusedWith('name_not_valid'))
    const session = await acceptWithNewAccount(app, token, ACCOUNT, newOrigin())
    const principal = await requirePrincipal(app, session.token)
    assert.deepEqual([principal.merchant?.id, principal.role], [merchantId, 'support'])
    assert.deepEqual([principal.user.name, principal.user.language], ['Otieno', 'sw'])
    await assert.rejects(
      rig.as(owner, () => inviteMember(app, owner, { email: 'no address', role: 'viewer' })),
      refusedWith('email_not_valid'),
    )
    await assert.rejects(
      rig.as(owner, () => inviteMember(app, owner, { email, role: 'admin' })),
      refusedWith('already_member'),
    )
  })

  it('is used once by 20 people at the same time', async () => {
    const { owner, merchantId } = await newTeam()
    const email = 'once@example.com'
    const { token } = await rig.as(owner, () => inviteMember(app, owner, { email, role: 'viewer' }))
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, () => acceptWithNewAccount(app, token, ACCOUNT, newOrigin())),
    )
    const refusals = results.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []))
    assert.deepEqual(refusals, Array(19).fill('invitation_used'))
    await assert.rejects(
      acceptWithNewAccount(app, token, ACCOUNT, newOrigin()),
      refusedWith('invitation_used'),
    )
    const [count] = await rig.raw.query(
      sql<{ users: number; members: number }>`
        select
          (select count(*)::integer from users where email = $1) as users,
          (select count(*)::integer from memberships where merchant_id = $2) as members`,
      [email, merchantId],
    )
    assert.deepEqual(count, { users: 1, members: 2 })
  })

  it('ends after seven days, and when it is revoked or the person who invited leaves or is disabled', async () => {
    const { owner, newMember } = await newTeam()
    const { principal: admin } = await newMember('admin')
    const invite = (principal: typeof owner, email: string) =>
      rig.as(principal, () => inviteMember(app, principal, { email, role: 'viewer' }))
    const endOf = (token: string) =>
      showInvitation(app, token).then(
        () => null,
        ({ code }: PeopleError) => code,
      )
    const revoked = await invite(owner, 'revoked@example.com')
    await rig.as(owner, () => revokeInvitation(app, owner, revoked.id))
    assert.equal(await endOf(revoked.token), 'invitation_revoked')
    const left = await invite(admin, 'left@example.com')
    assert.equal(await endOf(left.token), null)
    await rig.as(admin, () => removeMember(app, admin, admin.user.id))
    assert.equal(await endOf(left.token), 'invitation_revoked')
    const { principal: other } = await newMember('admin')
    const disabled = await invite(other, 'disabled@example.com')
    await disableUser(app, other.user.id)
    assert.equal(await endOf(disabled.token), 'invitation_revoked')
    const late = await invite(owner, 'late-one@example.com')
    clock.advance(7 * DAY_MS - 1_000)
    assert.equal(await endOf(late.token), null)
    clock.advance(1_000)
    assert.equal(await endOf(late.token), 'invitation_expired')
    assert.equal(await endOf('no token'), 'link_not_valid')
  })

  it('is accepted with an existing account only by signing in with it', async () => {
    const [one, other] = [await newTeam(), await newTeam()]
    const { email } = one.owner.user
    const { token } = await rig.as(other.owner, () =>
      inviteMember(app, other.owner, { email, role: 'viewer' }),
    )
    assert.equal((await showInvitation(app, token)).hasAccount, true)
    await assert.rejects(
      acceptWithNewAccount(app, token, ACCOUNT, newOrigin()),
      refusedWith('account_exists'),
    )
    const { principal: stranger } = await one.newMember('viewer')
    await assert.rejects(acceptAsMember(app, stranger, token, newOrigin()), refusedWith('wrong_account'))
    await acceptAsMember(app, one.owner, token, newOrigin())
    await assert.rejects(acceptAsMember(app, one.owner, token, newOrigin()), refusedWith('invitation_used'))
  })

  it('makes an operator, who has no merchant and signs in apart from members', async () => {
    const email = 'operator@example.com'
    const { token } = await inviteOperator(app, { email, invitedBy: null })
    const session = await acceptWithNewAccount(app, token, ACCOUNT, newOrigin())
    const principal = await requirePrincipal(app, session.token)
    assert.deepEqual(
      [principal.user.kind, principal.merchant, principal.role, principal.scopes],
      ['operator', null, 'operator', []],
    )
    const signInAs = (kind: 'member' | 'operator') =>
      signIn(app, { email, password: PASSWORD, kind }, newOrigin())
    await assert.rejects(signInAs('member'), refusedWith('sign_in_failed'))
    assert.equal((await signInAs('operator')).kind, 'session')
    const { owner } = await newTeam()
    const invitation = await rig.as(owner, () => inviteMember(app, owner, { email, role: 'viewer' }))
    await assert.rejects(
      acceptAsMember(app, principal, invitation.token, newOrigin()),
      refusedWith('wrong_account'),
    )
  })
})

describe('the audit log of people', () => {
  it('has each change with the person, the role and the session, and its chains verify', async () => {
    const { owner, merchantId, newMember } = await newTeam()
    const { principal } = await newMember('viewer')
    await rig.as(owner, () => changeRole(app, owner, principal.user.id, 'support'))
    await rig.as(owner, () => inviteMember(app, owner, { email: 'audited@example.com', role: 'viewer' }))
    const operator = { actorType: 'operator' as const, actorId: 'token', address: '::1', requestId: 'r' }
    await runAudited({ ...operator, operation: 'POST /x', target: null, at: clock.now() }, () =>
      inviteOwner(app, { email: 'first@example.com', merchantId }),
    )
    const entries = await rig.raw.query(
      sql<{ object: string; actor: object; role: string | null; session: string | null; changes: string }>`
        select object_type as object, audit_record(to_jsonb(a)) -> 'actor' as actor, actor_role as role, session_id as session,
          changes::text as changes
        from audit_entries a
        where merchant_id = $1 and operation like 'POST %'
        order by number`,
      [merchantId],
    )
    const person = { type: 'user', id: owner.user.id, role: 'owner', session: owner.sessionId }
    assert.deepEqual(
      entries.map(({ object, actor }) => [object, actor]),
      [
        ['membership', person],
        ['invitation', person],
        // As before people were recorded, so that the hashes of such entries stay the same.
        ['invitation', { type: 'operator', id: 'token' }],
      ],
    )
    assert.match(entries[0]?.changes ?? '', /"role": "support"/)
    assert.doesNotMatch(JSON.stringify(entries), /audited@|first@/)
    const [row] = await rig.raw.query(verifyChains)
    assert.equal(row?.verification.violations, 0)
    assert.ok((row?.verification.entries ?? 0) > 20)
    assert.ok(await principalOf(app, (await newMember('viewer')).token))
  })
})
