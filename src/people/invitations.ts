// Accepting an invitation: with a new account, or with the one that the person is signed in with. The link works once.

import { isPersonName } from '../core/text/formats.ts'
import type { Tx } from '../kit/db/db.ts'
import { type Origin, type PeopleApp, runAsUser } from './app.ts'
import { PeopleError } from './errors.ts'
import { assertGoodPassword } from './passwords.ts'
import { type Principal, type StartedSession, startSession } from './sessions.ts'
import {
  addMembership,
  type FoundInvitation,
  findInvitation,
  type OpenInvitation,
  useInvitationRow,
} from './team-queries.ts'
import { hashToken } from './tokens.ts'
import { findUserByEmail, insertUser } from './user-queries.ts'

export interface ShownInvitation extends OpenInvitation {
  /** The person signs in to accept it; otherwise they choose a name and a password. */
  hasAccount: boolean
}

/** What the page of the link shows; it is not used by that. */
export async function showInvitation(app: PeopleApp, token: string): Promise<ShownInvitation> {
  const { invitation } = await requireInvitation(app, token)
  const user = await findUserByEmail(app.peopleDb, invitation.email)
  return { ...invitation, hasAccount: user !== undefined }
}

async function requireInvitation(app: PeopleApp, token: string) {
  const hash = hashToken(token)
  const invitation = hash && (await findInvitation(app.peopleDb, hash))
  if (!invitation) throw new PeopleError('link_not_valid')
  const end = endOf(invitation, app.clock.now())
  if (end) throw new PeopleError(end)
  return { hash, invitation }
}

/** The holder of the link may know how it ended: only they have its token. */
function endOf({ usedAt, revokedAt, expiresAt }: FoundInvitation, now: Date) {
  if (usedAt) return 'invitation_used'
  if (revokedAt) return 'invitation_revoked'
  return expiresAt <= now && 'invitation_expired'
}

/** Creates the account of the invitation, and signs in. */
export async function acceptWithNewAccount(
  app: PeopleApp,
  token: string,
  input: { name: string; password: string; language: string | null },
  origin: Origin,
): Promise<StartedSession> {
  const { hash, invitation } = await requireInvitation(app, token)
  const { email, role } = invitation
  if (await findUserByEmail(app.peopleDb, email)) {
    // The same form, sent twice, may have made the account just now.
    await requireInvitation(app, token)
    throw new PeopleError('account_exists')
  }
  if (!isPersonName(input.name)) throw new PeopleError('name_not_valid')
  assertGoodPassword(input.password, email)
  const passwordHash = await app.passwords.hash(input.password)
  const { name, language } = input
  const kind = role === 'operator' ? 'operator' : 'member'
  const user = {
    id: app.random.uuid(),
    email,
    name,
    kind,
    passwordHash,
    language,
    createdAt: app.clock.now(),
  } as const
  return startSession(app, user, origin, 'invitation.accept', {
    passwordHash,
    consume: async (tx) => {
      await useInvitation(app, tx, hash)
      if (!(await insertUser(tx, user))) throw new PeopleError('account_exists')
      await join(app, tx, invitation, user.id)
    },
  })
}

/** Adds the merchant of the invitation to the account that is signed in. Choose it afterwards. */
export async function acceptAsMember(
  app: PeopleApp,
  { user, sessionId }: Principal,
  token: string,
  origin: Origin,
): Promise<void> {
  const { hash, invitation } = await requireInvitation(app, token)
  // Operators have accounts of their own.
  if (user.email !== invitation.email || user.kind === 'operator' || invitation.role === 'operator')
    throw new PeopleError('wrong_account')
  const actor = { id: user.id, sessionId, target: invitation.id }
  await runAsUser(app, actor, origin, 'invitation.accept', () =>
    app.peopleDb.transaction(async (tx) => {
      await useInvitation(app, tx, hash)
      await join(app, tx, invitation, user.id)
    }),
  )
}

/** It may have ended since it was read: the refusal says how. */
async function useInvitation(app: PeopleApp, tx: Tx, hash: Buffer): Promise<void> {
  const now = app.clock.now()
  if (await useInvitationRow(tx, hash, now)) return
  const ended = await findInvitation(tx, hash)
  throw new PeopleError((ended && endOf(ended, now)) || 'link_not_valid')
}

async function join(
  { clock }: PeopleApp,
  tx: Tx,
  { merchantId, role }: OpenInvitation,
  userId: string,
): Promise<void> {
  if (merchantId === null || role === 'operator') return
  const isAdded = await addMembership(tx, { merchantId, userId, role, createdAt: clock.now() })
  if (!isAdded) throw new PeopleError('already_member')
}
