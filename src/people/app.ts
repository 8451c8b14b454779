import type { Mode } from '../core/merchant.ts'
import type { Clock } from '../kit/clock.ts'
import type { Vault } from '../kit/crypto.ts'
import { type AuditContext, runAudited } from '../kit/db/audit-context.ts'
import type { Db } from '../kit/db/db.ts'
import type { Log } from '../kit/observability/log.ts'
import type { Random } from '../kit/random.ts'
import type { PasswordHasher } from './passwords.ts'

export interface PeopleApp {
  /** Scoped to the merchant inside a request of a merchant: memberships and invitations are read and changed with it. */
  instanceDb: Db
  /** Never scoped to a merchant: users, sessions and links belong to the instance. Its changes are audited. */
  peopleDb: Db
  clock: Clock
  random: Random
  vault: Vault
  mode: Mode
  passwords: PasswordHasher
  log: Log
  settings: { publicUrl(): string }
  /** Hashes recovery codes, and the accounts and addresses of failed attempts. */
  peopleKey: Uint8Array
}

/** Where a request comes from. */
export interface Origin {
  /** The client's address, for the audit log and the list of sessions. */
  address: string
  /** The same, in IPv6 its /64, by which limits count: a client has all addresses of its /64. */
  visitor: string
  userAgent: string
  requestId: string
  /** The token of a browser that was signed in before. */
  deviceToken?: string
  /** The session of this browser, which a new one replaces. */
  sessionToken?: string
}

/** The steps of people that the audit log records by a name, because they are no operations of the API. */
export const PEOPLE_OPERATIONS = [
  'sign_in.password',
  'sign_in.second_factor',
  'sign_in.passkey',
  'sign_in.identity_provider',
  'sign_in.demo_link',
  'sign_in.limit',
  'sign_out',
  'identity.confirm',
  'password.reset_request',
  'password.reset',
  'invitation.accept',
] as const

export type PeopleOperation = (typeof PEOPLE_OPERATIONS)[number]

/** Runs a step of a person who signs in or out. What a person changes later is run with `auditOf` of sessions.ts. */
export function runAsUser<Result>(
  app: Pick<PeopleApp, 'clock'>,
  actor: { id: string; role?: string; sessionId?: string; target?: string },
  { address, requestId }: Origin,
  operation: PeopleOperation,
  work: () => Result,
): Result {
  const context: AuditContext = {
    actorType: 'user',
    actorId: actor.id,
    ...(actor.role !== undefined && { role: actor.role }),
    ...(actor.sessionId !== undefined && { sessionId: actor.sessionId }),
    ...{ address, requestId, operation },
    target: actor.target ?? null,
    at: app.clock.now(),
  }
  return runAudited(context, work)
}
