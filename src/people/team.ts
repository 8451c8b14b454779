// The team of a merchant: members, their roles, and invitations. A person gives and takes no more rights than their own, only
// owners change owners, and a merchant always has an owner.

import { isUuid } from '../core/ids.ts'
import { isEmail } from '../core/text/formats.ts'
import { addMs } from '../kit/clock.ts'
import { deriveUuid } from '../kit/crypto.ts'
import type { Db, Tx } from '../kit/db/db.ts'
import type { PeopleApp } from './app.ts'
import { PeopleError } from './errors.ts'
import { coversRole, ROLE_SCOPES, ROLES, type Role } from './roles.ts'
import type { Principal } from './sessions.ts'
import { normalizeEmail } from './sign-in.ts'
import {
  countMembersAt,
  insertInvitation,
  listMemberships,
  listOpenInvitations,
  lockMemberships,
  type OpenInvitation,
  removeMembership,
  revokeInvitationRow,
  revokeInvitationsOf,
  setRole,
} from './team-queries.ts'
import { hashOfNew, newToken } from './tokens.ts'
import { countOperatorsAt, findUserByEmail, listUsers } from './user-queries.ts'

const INVITATION_MS = 7 * 24 * 3_600_000

export interface Member {
  userId: string
  email: string
  name: string
  /** Null: the person has not chosen one. */
  language: string | null
  role: Role
  hasSecondFactor: boolean
  isDisabled: boolean
  since: Date
}

/** The team of the person's merchant, for the pages. */
export function teamOf(app: PeopleApp, principal: Principal) {
  const { scopes } = principal
  return {
    mayChange: scopes.includes('team:write'),
    /** From the one with the most rights, with what it may do, and whether the person may give it. */
    roles: ROLES.toReversed().map((role) => ({
      ...{ role, scopes: ROLE_SCOPES[role], isGrantable: coversRole(scopes, role) },
    })),
    members: () => listTeam(app, principal),
    invitations: () => listInvitations(app, principal),
    /** The same submission of a form invites once. */
    invite: (email: string, role: string, submission: string) =>
      inviteMember(app, principal, { email, role: readRole(role), submission }),
    changeRole: async (userId: string, role: string) => {
      const members = await listTeam(app, principal)
      if (!members.some((member) => member.userId === userId)) throw new PeopleError('member_not_found')
      await changeRole(app, principal, userId, readRole(role))
    },
    remove: (userId: string) => {
      if (!isUuid(userId)) throw new PeopleError('member_not_found')
      return removeMember(app, principal, userId)
    },
    revoke: (id: string) => {
      if (!isUuid(id)) throw new PeopleError('invitation_not_found')
      return revokeInvitation(app, principal, id)
    },
  }
}

function readRole(text: string): Role {
  const role = ROLES.find((one) => one === text)
  if (!role) throw new PeopleError('not_allowed')
  return role
}

export async function listTeam(app: PeopleApp, principal: Principal): Promise<Member[]> {
  const merchantId = requireScope(principal, 'team:read')
  const memberships = await listMemberships(app.instanceDb, merchantId)
  const ids = memberships.map(({ userId }) => userId)
  const users = new Map((await listUsers(app.peopleDb, ids)).map((user) => [user.id, user]))
  return memberships.flatMap(({ userId, role, createdAt: since }) => {
    const user = users.get(userId)
    if (!user) return []
    const { email, name, language, hasSecondFactor, disabledAt } = user
    return [{ userId, email, name, language, role, hasSecondFactor, isDisabled: disabledAt !== null, since }]
  })
}

function requireScope({ merchant, scopes }: Principal, scope: 'team:read' | 'team:write'): string {
  if (!merchant || !scopes.includes(scope)) throw new PeopleError('not_allowed')
  return merchant.id
}

export async function changeRole(
  app: PeopleApp,
  principal: Principal,
  userId: string,
  role: Role,
): Promise<void> {
  const merchantId = requireScope(principal, 'team:write')
  await app.instanceDb.transaction(async (tx) => {
    const { actor, target, owners } = await lockTeam(tx, merchantId, principal, userId)
    assertCovers(actor, target)
    assertCovers(actor, role)
    if (target === 'owner' && role !== 'owner') assertNotLast(owners)
    await setRole(tx, merchantId, userId, role)
    // What the person has invited with the rights that they lose now.
    if (!coversRole(ROLE_SCOPES[role], target))
      await revokeInvitationsOf(tx, merchantId, userId, app.clock.now())
  })
}

/** Removes a member, or oneself. Their sessions with this merchant end, and their open invitations are revoked. */
export async function removeMember(app: PeopleApp, principal: Principal, userId: string): Promise<void> {
  const isOneself = userId === principal.user.id
  const merchantId = isOneself ? principal.merchant?.id : requireScope(principal, 'team:write')
  if (merchantId === undefined) throw new PeopleError('not_allowed')
  await app.instanceDb.transaction(async (tx) => {
    const { actor, target, owners } = await lockTeam(tx, merchantId, principal, userId)
    if (!isOneself) assertCovers(actor, target)
    if (target === 'owner') assertNotLast(owners)
    await removeMembership(tx, merchantId, userId)
    await revokeInvitationsOf(tx, merchantId, userId, app.clock.now())
  })
}

/** The present roles, locked: those of the session may have changed since the request began. */
async function lockTeam(tx: Tx, merchantId: string, { user }: Principal, userId: string) {
  const rows = await lockMemberships(tx, merchantId, [user.id, userId])
  const actor = rows.find((row) => row.userId === user.id)?.role
  const target = rows.find((row) => row.userId === userId)?.role
  if (actor === undefined) throw new PeopleError('not_allowed')
  if (target === undefined) throw new PeopleError('member_not_found')
  return { actor, target, owners: rows.filter(({ role }) => role === 'owner').length }
}

/** The actor may change the team, and has every right of this role. */
function assertCovers(actor: Role, role: Role): void {
  const scopes = ROLE_SCOPES[actor]
  if (!scopes.includes('team:write') || !coversRole(scopes, role)) throw new PeopleError('not_allowed')
}

function assertNotLast(owners: number): void {
  if (owners <= 1) throw new PeopleError('last_owner')
}

/** An invitation with its token, which is only in the link. */
export interface CreatedInvitation extends OpenInvitation {
  token: string
  /** Of the account of the invited person, if there is one. */
  language: string | null
}

export async function inviteMember(
  app: PeopleApp,
  principal: Principal,
  input: { email: string; role: Role; submission?: string },
): Promise<CreatedInvitation> {
  const merchantId = requireScope(principal, 'team:write')
  const email = normalizeEmail(input.email)
  if (!isEmail(email)) throw new PeopleError('email_not_valid')
  const invitee = await findUserByEmail(app.peopleDb, email)
  return app.instanceDb.transaction(async (tx) => {
    const rows = await lockMemberships(tx, merchantId, [principal.user.id, ...(invitee ? [invitee.id] : [])])
    const actor = rows.find(({ userId }) => userId === principal.user.id)?.role
    if (actor === undefined) throw new PeopleError('not_allowed')
    assertCovers(actor, input.role)
    if (rows.some(({ userId }) => userId === invitee?.id)) throw new PeopleError('already_member')
    const id = input.submission && deriveUuid(app.peopleKey, `invitation|${merchantId}|${input.submission}`)
    const invitation = { id, merchantId, email, role: input.role, invitedBy: principal.user.id }
    return createInvitation(app, tx, invitation, invitee?.language ?? null)
  })
}

/** By the operators' API: the first owner of a merchant. `invitedBy` is absent for the operator token. */
export function inviteOwner(
  app: Pick<PeopleApp, 'clock' | 'random'> & { instanceDb: Db },
  { email, merchantId, invitedBy = null }: { email: string; merchantId: string; invitedBy?: string | null },
): Promise<CreatedInvitation> {
  const invitation = { email: normalizeEmail(email), merchantId, role: 'owner', invitedBy } as const
  return createInvitation(app, app.instanceDb, invitation)
}

type InvitationInput = Pick<OpenInvitation, 'merchantId' | 'email' | 'role' | 'invitedBy'> & { id?: string }

export async function createInvitation(
  { clock, random }: Pick<PeopleApp, 'clock' | 'random'>,
  tx: Tx,
  { id = random.uuid(), ...input }: InvitationInput,
  language: string | null = null,
): Promise<CreatedInvitation> {
  const [token, createdAt] = [newToken(random), clock.now()]
  const invitation = { ...input, id, createdAt, expiresAt: addMs(createdAt, INVITATION_MS) }
  const isNew = await insertInvitation(tx, { ...invitation, tokenHash: hashOfNew(token) })
  if (!isNew) throw new PeopleError('already_invited')
  return { ...invitation, token, language }
}

export function listInvitations(app: PeopleApp, principal: Principal): Promise<OpenInvitation[]> {
  return listOpenInvitations(app.instanceDb, requireScope(principal, 'team:read'), app.clock.now())
}

export async function revokeInvitation(app: PeopleApp, principal: Principal, id: string): Promise<void> {
  const merchantId = requireScope(principal, 'team:write')
  const isRevoked = await revokeInvitationRow(app.instanceDb, merchantId, id, app.clock.now())
  if (!isRevoked) throw new PeopleError('invitation_not_found')
}

/** Whether each of these people had joined the merchant, or the operators (null), at this time. */
export async function hadJoined(
  db: Tx,
  merchantId: string | null,
  userIds: readonly string[],
  at: Date,
): Promise<boolean> {
  const people = [...new Set(userIds)]
  const count =
    merchantId === null
      ? await countOperatorsAt(db, people, at)
      : await countMembersAt(db, merchantId, people, at)
  return count === people.length
}
