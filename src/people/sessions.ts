// Sessions of people, and the principal that a session stands for. Nothing is cached: a session that was ended, a membership
// that was removed and a user who was disabled have no effect on any process from the next request on.

import { isUuid } from '../core/ids.ts'
import type { Merchant, PersonScope } from '../core/merchant.ts'
import { addMs, type Clock } from '../kit/clock.ts'
import { deriveUuid } from '../kit/crypto.ts'
import type { AuditContext } from '../kit/db/audit-context.ts'
import type { Tx } from '../kit/db/db.ts'
import { type Origin, type PeopleApp, type PeopleOperation, runAsUser } from './app.ts'
import { PeopleError } from './errors.ts'
import { ROLE_SCOPES, type Role } from './roles.ts'
import {
  chooseSessionMerchant,
  deleteSubmission,
  endOtherSessions,
  endSessionByToken,
  endSessionRow,
  findPrincipal,
  insertSession,
  insertSubmission,
  listSessionRows,
  type PrincipalRow,
  rotateSession,
  type SessionRow,
} from './session-queries.ts'
import { hashOfNew, hashToken, newToken } from './tokens.ts'
import { saveDevice, type UserKind, type UserRow } from './user-queries.ts'

const MINUTE_MS = 60_000
const IDLE_MS = 30 * MINUTE_MS
const ABSOLUTE_MS = 12 * 60 * MINUTE_MS
// The time of the last request is saved at most once a minute, so a session may end up to a minute early.
const SAVE_SEEN_MS = MINUTE_MS
const LONG_AGO = new Date(0)
const RECENT_MS = 5 * MINUTE_MS

export interface Principal {
  user: {
    id: string
    email: string
    name: string
    kind: UserKind
    language: string | null
    hasPassword: boolean
    hasTotp: boolean
    hasPasskeys: boolean
  }
  /** Null for an operator, and until a member of several merchants has chosen one. */
  merchant: (Merchant & { status: 'active' | 'suspended' }) | null
  role: Role | 'operator' | null
  scopes: readonly PersonScope[]
  sessionId: string
  authenticatedAt: Date
}

/** A session that has just begun. The tokens are for cookies, and are not shown again. */
export interface StartedSession {
  sessionId: string
  token: string
  deviceToken: string
}

interface Proof {
  /** The hash of the password that was verified; null if the person was identified in another way. */
  passwordHash: string | null
  /** Writes that must be done with the session or not at all. It throws if the proof was used meanwhile. */
  consume?: (tx: Tx) => Promise<void>
}

/** Starts a session with a new token; the one of the same browser ends. */
export async function startSession(
  app: PeopleApp,
  user: Pick<UserRow, 'id' | 'kind'>,
  origin: Origin,
  operation: PeopleOperation,
  { passwordHash, consume }: Proof,
): Promise<StartedSession> {
  const [id, token] = [app.random.uuid(), newToken(app.random)]
  const deviceToken = newToken(app.random)
  const { address, userAgent } = origin
  const actor = { id: user.id, sessionId: id, target: id }
  await runAsUser(app, actor, origin, operation, () =>
    app.peopleDb.transaction(async (tx) => {
      await consume?.(tx)
      // After it: a membership that it adds must not begin later than the session.
      const now = app.clock.now()
      const replaced = hashToken(origin.sessionToken)
      if (replaced) await endSessionByToken(tx, replaced, now)
      const inserted = await insertSession(tx, {
        ...{ id, tokenHash: hashOfNew(token), userId: user.id, address, userAgent: userAgent.slice(0, 300) },
        ...{ createdAt: now, expiresAt: addMs(now, ABSOLUTE_MS), passwordHash },
      })
      if (!inserted) throw new PeopleError('sign_in_failed')
      await saveDevice(tx, hashOfNew(deviceToken), user.id, now, hashToken(origin.deviceToken))
    }),
  )
  return { sessionId: id, token, deviceToken }
}

/**
 * Whether the form is submitted for the first time. If it made nothing, call `release`, so that the person can submit it
 * again.
 */
export async function useSubmission(
  { peopleDb, clock, peopleKey }: Pick<PeopleApp, 'peopleDb' | 'clock' | 'peopleKey'>,
  { user }: Principal,
  submission: string,
): Promise<{ release(): Promise<void> } | undefined> {
  const id = deriveUuid(peopleKey, `submission|${user.id}|${submission}`)
  const expiresAt = addMs(clock.now(), 2 * ABSOLUTE_MS)
  const isFirst = await insertSubmission(peopleDb, id, expiresAt)
  return isFirst ? { release: () => deleteSubmission(peopleDb, id) } : undefined
}

/**
 * Who makes a request, by the token of its cookie; undefined if the session has ended. A passive request was made by the
 * script of a page and not by the person: the session stays as idle as it was.
 */
export async function principalOf(
  app: Pick<PeopleApp, 'peopleDb' | 'clock'>,
  token: string | undefined,
  { isPassive = false } = {},
): Promise<Principal | undefined> {
  const hash = hashToken(token)
  if (!hash) return undefined
  const now = app.clock.now()
  const times = {
    now,
    seenAfter: addMs(now, -IDLE_MS),
    saveIfBefore: isPassive ? LONG_AGO : addMs(now, -SAVE_SEEN_MS),
  }
  const row = await findPrincipal(app.peopleDb, hash, times)
  return row && toPrincipal(row)
}

function toPrincipal(row: PrincipalRow): Principal {
  const { userId, email, name, kind, language, hasPassword, hasTotp, hasPasskeys } = row
  const { sessionId, authenticatedAt, role, merchantId } = row
  const merchant = merchantId === null ? null : { ...merchantOf(row), id: merchantId }
  return {
    user: { id: userId, email, name, kind, language, hasPassword, hasTotp, hasPasskeys },
    merchant,
    role: kind === 'operator' ? 'operator' : role,
    scopes: role === null ? [] : ROLE_SCOPES[role],
    sessionId,
    authenticatedAt,
  }
}

const merchantOf = ({ merchantName: name, mode, baseCurrency, merchantStatus: status }: PrincipalRow) => ({
  ...{ name, mode, baseCurrency, status },
})

/** The actor of what a person changes, for runAudited. */
export function auditOf(
  { user, role, sessionId }: Principal,
  { address, requestId }: Origin,
  { operation, target, at }: Pick<AuditContext, 'operation' | 'target' | 'at'>,
): AuditContext {
  const actor = { actorType: 'user' as const, actorId: user.id, role: role ?? undefined, sessionId }
  return { ...actor, address, requestId, operation, target, at }
}

/** Whether the person has signed in or confirmed it within five minutes. */
export function isRecentlyAuthenticated(
  { clock }: { clock: Clock },
  { authenticatedAt }: Pick<Principal, 'authenticatedAt'>,
): boolean {
  return authenticatedAt >= addMs(clock.now(), -RECENT_MS)
}

/** Throws unless the person has signed in or confirmed it within five minutes. */
export function requireRecentAuthentication(
  app: { clock: Clock },
  principal: Pick<Principal, 'authenticatedAt'>,
): void {
  if (!isRecentlyAuthenticated(app, principal)) throw new PeopleError('authentication_required')
}

/** A new token for the session, after the person has confirmed it: the one before stops working. */
export async function renewSession(app: PeopleApp, tx: Tx, sessionId: string): Promise<string> {
  const token = newToken(app.random)
  const isRenewed = await rotateSession(tx, sessionId, hashOfNew(token), app.clock.now())
  if (!isRenewed) throw new PeopleError('session_ended')
  return token
}

/** Continues the session for another merchant of the person. */
export async function chooseMerchant(
  app: PeopleApp,
  { sessionId, user }: Principal,
  merchantId: string,
): Promise<void> {
  const isMember =
    isUuid(merchantId) &&
    (await chooseSessionMerchant(app.peopleDb, sessionId, merchantId, user.id, app.clock.now()))
  if (!isMember) throw new PeopleError('not_allowed')
}

export function listSessions(app: PeopleApp, { user }: Principal): Promise<SessionRow[]> {
  const now = app.clock.now()
  return listSessionRows(app.peopleDb, user.id, now, addMs(now, -IDLE_MS))
}

/** Ends one of the person's own sessions. */
export async function endSession(app: PeopleApp, { user }: Principal, sessionId: string): Promise<void> {
  const isEnded = await endSessionRow(app.peopleDb, sessionId, user.id, app.clock.now())
  if (!isEnded) throw new PeopleError('session_ended')
}

/** Ends every session of the person but this one. Returns their number. */
export function endSessionsElsewhere(app: PeopleApp, { user, sessionId }: Principal): Promise<number> {
  return endOtherSessions(app.peopleDb, user.id, sessionId, app.clock.now())
}

export function signOut(app: PeopleApp, principal: Principal, origin: Origin): Promise<void> {
  const { user, role, sessionId } = principal
  const actor = { id: user.id, role: role ?? undefined, sessionId, target: sessionId }
  return runAsUser(app, actor, origin, 'sign_out', async () => {
    await endSessionRow(app.peopleDb, sessionId, user.id, app.clock.now())
  })
}
