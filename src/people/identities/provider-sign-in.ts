// Sign-in of members with the identity provider of the instance. The first sign-in binds its subject to the account with the
// verified e-mail address; from then on only the subject counts. It creates no account and no membership.

import { isRecord } from '../../core/canonical.ts'
import { addMs } from '../../kit/clock.ts'
import { type VaultContext, VaultError } from '../../kit/crypto.ts'
import type { Oidc, OidcIdentity, PendingSignIn } from '../../kit/http/oidc.ts'
import { endUnverifiedAccess } from '../accounts.ts'
import { type Origin, type PeopleApp, runAsUser } from '../app.ts'
import { PeopleError } from '../errors.ts'
import { admitAttempt } from '../limits.ts'
import { normalizeEmail, passFirstFactor, type SignedIn } from '../sign-in.ts'
import { findActiveUser, findUserByEmail, type UserRow } from '../user-queries.ts'
import { findIdentityUser, insertIdentity } from './identity-queries.ts'

/** Long enough to sign in at the provider, with a second factor there. */
const PROVIDER_SIGN_IN_MS = 10 * 60_000

// It is in a cookie, and in no table.
const COOKIE: VaultContext = { table: 'cookies', column: 'oidc', rowId: '', merchantId: '' }

interface Started {
  pending: PendingSignIn
  next: string
  expiresAt: number
}

/** The address of the provider, and the sealed secrets of this sign-in for a cookie of the browser. */
async function start(
  app: PeopleApp,
  oidc: Oidc,
  next: string,
): Promise<{ url: string; sealed: string; maxAgeSeconds: number }> {
  const begun = await oidc.begin()
  if ('refused' in begun) throw refusal(app, begun)
  const expiresAt = addMs(app.clock.now(), PROVIDER_SIGN_IN_MS).getTime()
  const started: Started = { pending: begun.pending, next, expiresAt }
  const sealed = app.vault.seal(JSON.stringify(started), COOKIE)
  return { url: begun.url, sealed, maxAgeSeconds: PROVIDER_SIGN_IN_MS / 1_000 }
}

/** The query is the one with which the provider sent the browser back. */
async function finish(
  app: PeopleApp,
  oidc: Oidc,
  { query, sealed }: { query: URLSearchParams; sealed: string | undefined },
  origin: Origin,
): Promise<{ result: SignedIn; next: string }> {
  const started = openStarted(app, sealed)
  if (!started) throw new PeopleError('identity_refused')
  const attempt = await admitAttempt(app, {
    ...{ factor: 'identity_provider', account: '', userId: undefined, device: null, origin },
  })
  const identity = await oidc.finish(query, started.pending)
  if ('refused' in identity) throw refusal(app, identity)
  const user = await findOrBind(app, identity, origin)
  await attempt.clear()
  const result = await passFirstFactor(app, user, origin, 'sign_in.identity_provider', null)
  return { result, next: started.next }
}

function openStarted(app: PeopleApp, sealed: string | undefined): Started | undefined {
  if (sealed === undefined) return undefined
  try {
    const value: unknown = JSON.parse(app.vault.open(sealed, COOKIE))
    if (!isRecord(value) || Number(value.expiresAt) <= app.clock.now().getTime()) return undefined
    // A boundary: only we can have sealed it.
    return value as unknown as Started
  } catch (error) {
    if (error instanceof VaultError) return undefined
    throw error
  }
}

function refusal({ log }: PeopleApp, { refused, detail }: { refused: string; detail: string }): PeopleError {
  log.write('oidc.sign_in_refused', { reason: refused, error: detail })
  return new PeopleError(refused === 'provider_unavailable' ? 'identity_unavailable' : 'identity_refused')
}

async function findOrBind(app: PeopleApp, identity: OidcIdentity, origin: Origin): Promise<UserRow> {
  const boundTo = await findIdentityUser(app.peopleDb, identity)
  const userId = boundTo ?? (await bind(app, identity, origin))
  const user = userId === undefined ? undefined : await findActiveUser(app.peopleDb, userId)
  if (user?.kind !== 'member') throw new PeopleError('identity_without_account')
  return user
}

/** Binds the subject to the member with this e-mail address. Undefined if there is none. */
async function bind(app: PeopleApp, identity: OidcIdentity, origin: Origin): Promise<string | undefined> {
  const user = await findUserByEmail(app.peopleDb, normalizeEmail(identity.email))
  if (user?.kind !== 'member' || user.disabledAt) return undefined
  const actor = { id: user.id, target: user.id }
  await runAsUser(app, actor, origin, 'sign_in.identity_provider', () =>
    app.peopleDb.transaction(async (tx) => {
      const isBound = await insertIdentity(tx, identity, user.id, app.clock.now())
      if (!isBound) throw new PeopleError('identity_refused')
      await endUnverifiedAccess(app, tx, user.id)
    }),
  )
  return user.id
}

/** The two steps of a sign-in with the identity provider: to it, and back. */
export const providerSignIn = { start, finish }
