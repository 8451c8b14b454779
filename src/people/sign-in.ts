// Signing in by password and second factor, and confirming it again for what needs a recent proof. The answer to a wrong
// e-mail address, a wrong password and a limit does not depend on whether the account exists, and neither does the work.

import { addMs } from '../kit/clock.ts'
import { type Origin, type PeopleApp, type PeopleOperation, runAsUser } from './app.ts'
import { PeopleError } from './errors.ts'
import { admitAttempt } from './limits.ts'
import { useSecondFactor } from './second-factors.ts'
import { findPending, insertPending, takePending } from './session-queries.ts'
import { type Principal, renewSession, type StartedSession, startSession } from './sessions.ts'
import { hashOfNew, hashToken, newToken } from './tokens.ts'
import {
  findActiveUser,
  findUserForSignIn,
  isKnownDevice,
  replaceHash,
  type UserKind,
  type UserRow,
} from './user-queries.ts'

// Long enough to find the phone.
const PENDING_MS = 10 * 60_000

export type SignedIn =
  | ({ kind: 'session' } & StartedSession)
  /** The first factor was right; `completeSignIn` takes this token and a code. It opens nothing else. */
  | { kind: 'second_factor'; pendingToken: string }

/** Of the demo people in staging, who have no password at first. */
export const DEMO_DOMAIN = '@demo.example'

type Confirmation = 'code' | 'password' | 'none_needed' | 'impossible'

/** How the person confirms who they are; the page asks for it. */
export function confirmationOf(
  { mode }: Pick<PeopleApp, 'mode'>,
  { email, hasPassword, hasTotp }: Pick<Principal['user'], 'email' | 'hasPassword' | 'hasTotp'>,
): Confirmation {
  if (hasTotp) return 'code'
  if (hasPassword) return 'password'
  return mode === 'test' && email.endsWith(DEMO_DOMAIN) ? 'none_needed' : 'impossible'
}

const isDemoPerson = (app: PeopleApp, { email, passwordHash, totpSealed }: UserRow) => {
  const has = { hasPassword: passwordHash !== null, hasTotp: totpSealed !== null }
  return confirmationOf(app, { email, ...has }) === 'none_needed'
}

/** As accounts are stored and compared. */
export function normalizeEmail(email: string): string {
  return email.trim().normalize('NFC').toLowerCase()
}

export async function signIn(
  app: PeopleApp,
  input: { email: string; password: string; kind: UserKind },
  origin: Origin,
): Promise<SignedIn> {
  const email = normalizeEmail(input.email)
  const user = await findUserForSignIn(app.peopleDb, email, input.kind, hashToken(origin.deviceToken))
  const attempt = await admitAttempt(app, {
    ...{ factor: 'password', account: `${input.kind} ${email}`, userId: user?.id, origin },
    device: user?.isKnownDevice ? (origin.deviceToken ?? null) : null,
  })
  const isRight = await app.passwords.verify(input.password, user?.passwordHash ?? null)
  if (!user || !isRight) throw new PeopleError('sign_in_failed')
  await attempt.clear()
  const passwordHash = await rehashed(app, user, input.password)
  return passFirstFactor(app, user, origin, 'sign_in.password', passwordHash)
}

/** Starts a session, or waits for the code if the person has an authenticator app. */
export async function passFirstFactor(
  app: PeopleApp,
  user: UserRow,
  origin: Origin,
  operation: PeopleOperation,
  passwordHash: string | null,
): Promise<SignedIn> {
  if (user.totpSealed === null)
    return { kind: 'session', ...(await startSession(app, user, origin, operation, { passwordHash })) }
  const pendingToken = newToken(app.random)
  await insertPending(app.peopleDb, hashOfNew(pendingToken), user.id, addMs(app.clock.now(), PENDING_MS))
  return { kind: 'second_factor', pendingToken }
}

/** The stored hash of the password; one with older parameters is replaced. */
async function rehashed(app: PeopleApp, user: UserRow, password: string): Promise<string | null> {
  const stored = user.passwordHash
  if (stored === null || !app.passwords.isOutdated(stored)) return stored
  const fresh = await app.passwords.hash(password)
  if (await replaceHash(app.peopleDb, user.id, stored, fresh)) return fresh
  // Another sign-in has replaced it, or the password was changed.
  const current = (await findActiveUser(app.peopleDb, user.id))?.passwordHash ?? null
  if (!(await app.passwords.verify(password, current))) throw new PeopleError('sign_in_failed')
  return current
}

/** Completes a sign-in with a code of the authenticator app or a recovery code. */
export async function completeSignIn(
  app: PeopleApp,
  input: { pendingToken: string | undefined; code: string },
  origin: Origin,
): Promise<StartedSession> {
  const hash = hashToken(input.pendingToken)
  const userId = hash && (await findPending(app.peopleDb, hash, app.clock.now()))
  const user = userId && (await findActiveUser(app.peopleDb, userId))
  if (!hash || !user) throw new PeopleError('session_ended')
  const isKnown = await isKnownDevice(app.peopleDb, user.id, hashToken(origin.deviceToken))
  // A code has six digits, so all browsers that are not known share one count, whatever their addresses.
  const device = (isKnown && origin.deviceToken) || 'unknown'
  const attempt = await admitAttempt(app, {
    ...{ factor: 'second_factor', account: user.id, userId: user.id, origin, device },
  })
  const isRight = await useAudited(app, user, input.code, origin, 'sign_in.second_factor')
  if (!isRight) throw new PeopleError('second_factor_failed')
  await attempt.clear()
  return startSession(app, user, origin, 'sign_in.second_factor', {
    passwordHash: user.passwordHash,
    consume: async (tx) => {
      if (!(await takePending(tx, hash, app.clock.now()))) throw new PeopleError('session_ended')
    },
  })
}

/** The use of a recovery code is a change of its own in the audit log. */
function useAudited(app: PeopleApp, user: UserRow, code: string, origin: Origin, operation: PeopleOperation) {
  return runAsUser(app, { id: user.id, target: user.id }, origin, operation, () =>
    useSecondFactor(app, user, code),
  )
}

/**
 * Confirms who uses the session: by a code if the person has an authenticator app, by the password otherwise. The demo owner
 * has neither. Returns the new token of the session.
 */
export async function confirmIdentity(
  app: PeopleApp,
  principal: Principal,
  proof: { password?: string; code?: string },
  origin: Origin,
): Promise<string> {
  const { sessionId, role } = principal
  const user = await findActiveUser(app.peopleDb, principal.user.id)
  if (!user) throw new PeopleError('session_ended')
  if (isDemoPerson(app, user)) return renewAsUser(app, { user, role, sessionId }, origin)
  const attempt = await admitAttempt(app, {
    ...{ factor: 'step_up', account: user.id, userId: user.id, device: sessionId, origin },
  })
  if (user.totpSealed === null) {
    const isRight = await app.passwords.verify(proof.password ?? '', user.passwordHash)
    if (!isRight) throw new PeopleError('sign_in_failed')
  } else {
    const isRight = await useAudited(app, user, proof.code ?? '', origin, 'identity.confirm')
    if (!isRight) throw new PeopleError('second_factor_failed')
  }
  await attempt.clear()
  return renewAsUser(app, { user, role, sessionId }, origin)
}

/** A new token after a proof, in the audit log. */
export function renewAsUser(
  app: PeopleApp,
  { user, role, sessionId }: Pick<Principal, 'role' | 'sessionId'> & { user: { id: string } },
  origin: Origin,
): Promise<string> {
  const actor = { id: user.id, role: role ?? undefined, sessionId, target: sessionId }
  return runAsUser(app, actor, origin, 'identity.confirm', () =>
    app.peopleDb.transaction((tx) => renewSession(app, tx, sessionId)),
  )
}
