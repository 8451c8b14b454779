// Changes of an account: its password, a password reset, and the end of the account.

import { isPersonName } from '../core/text/formats.ts'
import type { Tx } from '../kit/db/db.ts'
import { type Origin, type PeopleApp, runAsUser } from './app.ts'
import { PeopleError } from './errors.ts'
import { deletePasskeys, removeTotpSecret, replaceRecoveryCodes } from './factor-queries.ts'
import { admitAttempt } from './limits.ts'
import {
  addPasskey,
  confirmWithPasskey,
  listPasskeys,
  type PasskeyAnswer,
  removePasskey,
  startConfirmation,
  startRegistration,
} from './passkeys.ts'
import { assertGoodPassword } from './passwords.ts'
import {
  confirmTotp,
  recoveryCodesLeft,
  removeTotp,
  renewRecoveryCodes,
  startTotp,
} from './second-factors.ts'
import { deletePending, endOtherSessions } from './session-queries.ts'
import {
  chooseMerchant,
  endSession,
  endSessionsElsewhere,
  isRecentlyAuthenticated,
  listSessions,
  type Principal,
  renewSession,
  requireRecentAuthentication,
  signOut,
  useSubmission,
} from './sessions.ts'
import { confirmationOf, confirmIdentity, normalizeEmail } from './sign-in.ts'
import { listMembershipsOfUser, revokeInvitationsOf } from './team-queries.ts'
import { createLink, hashToken } from './tokens.ts'
import {
  deleteDevices,
  disableUserRow,
  endLinks,
  findLinkUser,
  findUserByEmail,
  setPasswordHash,
  setProfile,
  useLink,
  verifyEmail,
} from './user-queries.ts'

const MINUTE_MS = 60_000
const RESET_MS = 60 * MINUTE_MS

/** What a person does with their own account, for the pages. */
export function accountOf(app: PeopleApp, principal: Principal, origin: Origin) {
  return {
    isRecentlyAuthenticated: () => isRecentlyAuthenticated(app, principal),
    confirmation: () => confirmationOf(app, principal.user),
    confirm: (proof: { password?: string; code?: string }) => confirmIdentity(app, principal, proof, origin),
    saveProfile: (profile: { name: string; language: string }) => saveProfile(app, principal, profile),
    changePassword: (password: string) => changePassword(app, principal, password),
    sessions: () => listSessions(app, principal),
    endSession: (id: string) => endSession(app, principal, id),
    endSessionsElsewhere: () => endSessionsElsewhere(app, principal),
    startTotp: (issuer: string) => startTotp(app, principal, issuer),
    confirmTotp: (code: string) => confirmTotp(app, principal, code),
    removeTotp: () => removeTotp(app, principal),
    renewRecoveryCodes: () => renewRecoveryCodes(app, principal),
    recoveryCodesLeft: () => recoveryCodesLeft(app, principal),
    passkeys: () => listPasskeys(app, principal),
    startPasskey: () => startRegistration(app, principal),
    addPasskey: (answer: PasskeyAnswer & { name: string }) => addPasskey(app, principal, answer),
    removePasskey: (id: string) => removePasskey(app, principal, id),
    startConfirmation: () => startConfirmation(app, principal),
    confirmWithPasskey: (answer: PasskeyAnswer) => confirmWithPasskey(app, principal, answer, origin),
    memberships: () => listMembershipsOfUser(app.peopleDb, principal.user.id),
    choose: (merchantId: string) => chooseMerchant(app, principal, merchantId),
    signOut: () => signOut(app, principal, origin),
    useSubmission: (submission: string) => useSubmission(app, principal, submission),
  }
}

/** The person's own name and language. */
async function saveProfile(
  app: PeopleApp,
  { user }: Principal,
  { name, language }: { name: string; language: string },
): Promise<void> {
  if (!isPersonName(name)) throw new PeopleError('name_not_valid')
  await setProfile(app.peopleDb, user.id, name, language)
}

/** Ends the other sessions, and returns the new token of this one. */
export async function changePassword(
  app: PeopleApp,
  principal: Principal,
  password: string,
): Promise<string> {
  requireRecentAuthentication(app, principal)
  const { user, sessionId } = principal
  assertGoodPassword(password, user.email)
  const hash = await app.passwords.hash(password)
  return app.peopleDb.transaction(async (tx) => {
    await replacePassword(app, tx, user.id, hash, sessionId)
    return renewSession(app, tx, sessionId)
  })
}

/** With what was proved by the old password: sessions, pending sign-ins, links and known devices end. */
async function replacePassword(
  app: PeopleApp,
  tx: Tx,
  userId: string,
  hash: string | null,
  keptSession: string | null,
): Promise<void> {
  await setPasswordHash(tx, userId, hash)
  await endAccess(app, tx, userId, keptSession)
}

async function endAccess(app: PeopleApp, tx: Tx, userId: string, keptSession: string | null): Promise<void> {
  const now = app.clock.now()
  await endOtherSessions(tx, userId, keptSession, now)
  await deletePending(tx, userId)
  await endLinks(tx, userId, now)
  await deleteDevices(tx, userId)
}

interface PasswordReset {
  email: string
  /** Of the account; null if none was chosen. */
  language: string | null
  token: string
}

/**
 * A link that resets the password. Show the same page whether there is such an account, and run the returned function after
 * the response, so that its time says nothing either. The function returns the token for the link, to be sent to the e-mail
 * address; undefined if there is no account.
 */
export async function requestPasswordReset(
  app: PeopleApp,
  email: string,
  origin: Origin,
): Promise<() => Promise<PasswordReset | undefined>> {
  const address = normalizeEmail(email)
  const user = await findUserByEmail(app.peopleDb, address)
  await admitAttempt(app, { factor: 'reset', account: address, userId: user?.id, device: null, origin })
  return async () => {
    if (!user || user.disabledAt) return undefined
    const actor = { id: user.id, target: user.id }
    const token = await runAsUser(app, actor, origin, 'password.reset_request', () =>
      createLink(app, app.peopleDb, 'reset_password', user.id, RESET_MS),
    )
    return { email: user.email, language: user.language, token }
  }
}

/**
 * Sets a password with the token of a link. The person signs in afterwards, with the second factor if there is one. The first
 * link proves that the person owns the e-mail address: factors that were registered before may be of someone else, and end.
 */
export async function resetPassword(
  app: PeopleApp,
  token: string,
  password: string,
  origin: Origin,
): Promise<void> {
  const hash = hashToken(token)
  const user = hash && (await findLinkUser(app.peopleDb, hash, 'reset_password', app.clock.now()))
  if (!user) throw new PeopleError('link_not_valid')
  assertGoodPassword(password, user.email)
  const passwordHash = await app.passwords.hash(password)
  await runAsUser(app, { id: user.id, target: user.id }, origin, 'password.reset', () =>
    app.peopleDb.transaction(async (tx) => {
      const userId = await useLink(tx, hash, 'reset_password', app.clock.now())
      if (userId === undefined) throw new PeopleError('link_not_valid')
      await replacePassword(app, tx, userId, passwordHash, null)
      if (await verifyEmail(tx, userId, app.clock.now())) await removeFactors(tx, userId)
    }),
  )
}

/**
 * The identity provider has proved the e-mail address. If that is the first proof, the password and the factors may be of
 * someone else, and end.
 */
export async function endUnverifiedAccess(app: PeopleApp, tx: Tx, userId: string): Promise<void> {
  if (!(await verifyEmail(tx, userId, app.clock.now()))) return
  await replacePassword(app, tx, userId, null, null)
  await removeFactors(tx, userId)
}

async function removeFactors(tx: Tx, userId: string): Promise<void> {
  await removeTotpSecret(tx, userId)
  await replaceRecoveryCodes(tx, userId, [])
  await deletePasskeys(tx, userId)
}

/**
 * An account that is disabled cannot sign in, and its sessions and the invitations that it has made end. It stays in the audit
 * log.
 */
export async function disableUser(app: PeopleApp, userId: string): Promise<void> {
  const now = app.clock.now()
  await app.peopleDb.transaction(async (tx) => {
    if (!(await disableUserRow(tx, userId, now))) throw new PeopleError('member_not_found')
    await endAccess(app, tx, userId, null)
    await revokeInvitationsOf(tx, null, userId, now)
  })
}
