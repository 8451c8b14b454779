// Passkeys: an account has several, and one is enough to sign in, because the authenticator verifies the person (PIN or
// biometrics) and holds the key. A challenge is used once, within five minutes.

import { isPersonName } from '../core/text/formats.ts'
import { addMs } from '../kit/clock.ts'
import type { Tx } from '../kit/db/db.ts'
import { credentialIdOf, type PasskeyUse, verifyAssertion, verifyRegistration } from '../kit/webauthn.ts'
import type { Origin, PeopleApp } from './app.ts'
import { PeopleError } from './errors.ts'
import {
  type ChallengePurpose,
  deletePasskeyRow,
  findPasskey,
  insertChallenge,
  insertPasskey,
  listPasskeyRows,
  type PasskeyRow,
  savePasskeyUse,
  useChallengeHash,
} from './factor-queries.ts'
import { admitAttempt } from './limits.ts'
import { type Principal, requireRecentAuthentication, type StartedSession, startSession } from './sessions.ts'
import { renewAsUser } from './sign-in.ts'
import { hashOfNew, hashToken, newToken } from './tokens.ts'
import { findActiveUser, type UserKind } from './user-queries.ts'

const CHALLENGE_MS = 5 * 60_000
const MAX_PASSKEYS = 20
// Ed25519, ES256 and RS256, in the order of our preference.
const ALGORITHMS = [-8, -7, -257]

/** What the browser returns for a challenge; the response is the parsed JSON of its credential. */
export interface PasskeyAnswer {
  challenge: string
  response: unknown
}

/** What the page asks the browser for. */
export interface PasskeyQuestion {
  /** In base64url. The page keeps it in a cookie, so that an answer comes from the same browser. */
  challenge: string
  /** The public key options of the browser's call, as JSON with bytes in base64url. */
  options: Readonly<Record<string, unknown>>
  maxAgeSeconds: number
}

/** Asks for a new passkey of the person; those that the account has are not offered. */
export async function startRegistration(app: PeopleApp, principal: Principal): Promise<PasskeyQuestion> {
  requireRecentAuthentication(app, principal)
  const { id, email, name } = principal.user
  const rpId = siteOf(app).rpId
  return toQuestion(await createChallenge(app, 'registration', principal), {
    rp: { id: rpId, name: rpId },
    user: { id: Buffer.from(id).toString('base64url'), name: email, displayName: name },
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
    attestation: 'none',
    // Discoverable: the person signs in without an e-mail address.
    authenticatorSelection: {
      residentKey: 'required',
      requireResidentKey: true,
      userVerification: 'required',
    },
    excludeCredentials: await descriptorsOf(app, principal),
  })
}

/** Asks for a passkey of the person, to confirm who uses the session. */
export async function startConfirmation(app: PeopleApp, principal: Principal): Promise<PasskeyQuestion> {
  const allowCredentials = await descriptorsOf(app, principal)
  const wanted = { rpId: siteOf(app).rpId, userVerification: 'required', allowCredentials }
  return toQuestion(await createChallenge(app, 'step_up', principal), wanted)
}

/** Asks for any passkey of this site: the page does not know who signs in. */
async function startSignIn(app: PeopleApp, origin: Origin): Promise<PasskeyQuestion> {
  await admit(app, origin)
  const wanted = { rpId: siteOf(app).rpId, userVerification: 'required' }
  return toQuestion(await createChallenge(app, 'sign_in', null), wanted)
}

function toQuestion(challenge: string, wanted: Readonly<Record<string, unknown>>): PasskeyQuestion {
  return {
    challenge,
    options: { ...wanted, challenge, timeout: CHALLENGE_MS },
    maxAgeSeconds: CHALLENGE_MS / 1_000,
  }
}

async function descriptorsOf(app: PeopleApp, principal: Principal) {
  const passkeys = await listPasskeys(app, principal)
  return passkeys.map(({ credentialId: id }) => ({ type: 'public-key', id }))
}

/** There is nothing to guess; only the rows that a visitor can make are limited. */
function admit(app: PeopleApp, origin: Origin) {
  return admitAttempt(app, { factor: 'passkey', account: '', userId: undefined, device: null, origin })
}

export async function createChallenge(
  app: PeopleApp,
  purpose: ChallengePurpose,
  principal: Principal | null,
): Promise<string> {
  const challenge = newToken(app.random)
  await insertChallenge(app.peopleDb, {
    ...{ hash: hashOfNew(challenge), purpose, userId: principal?.user.id ?? null },
    expiresAt: addMs(app.clock.now(), CHALLENGE_MS),
  })
  return challenge
}

/** Uses up the challenge, whatever the answer is. */
async function useChallenge(
  app: PeopleApp,
  { challenge }: PasskeyAnswer,
  purpose: ChallengePurpose,
  userId: string | null,
): Promise<void> {
  const hash = hashToken(challenge)
  const isValid = hash && (await useChallengeHash(app.peopleDb, hash, purpose, userId, app.clock.now()))
  if (!isValid) throw new PeopleError('passkey_refused')
}

function siteOf({ settings }: PeopleApp): { origin: string; rpId: string } {
  const { origin, hostname: rpId } = new URL(settings.publicUrl())
  return { origin, rpId }
}

/** What an answer must be for: this site, and a verified person. */
function expectationOf(app: PeopleApp, { challenge, response }: PasskeyAnswer) {
  return { challenge, response, ...siteOf(app), requireUserVerification: true }
}

export async function addPasskey(
  app: PeopleApp,
  principal: Principal,
  answer: PasskeyAnswer & { name: string },
): Promise<PasskeyRow> {
  requireRecentAuthentication(app, principal)
  if (!isPersonName(answer.name)) throw new PeopleError('name_not_valid')
  const userId = principal.user.id
  await useChallenge(app, answer, 'registration', userId)
  const verified = verifyRegistration(expectationOf(app, answer))
  if ('refused' in verified) throw new PeopleError('passkey_refused')
  if ((await listPasskeyRows(app.peopleDb, userId)).length >= MAX_PASSKEYS)
    throw new PeopleError('too_many_passkeys')
  const { credentialId, publicKey, signCount, isBackedUp } = verified
  const passkey = await insertPasskey(app.peopleDb, {
    ...{ id: app.random.uuid(), userId, credentialId, publicKey, signCount: BigInt(signCount), isBackedUp },
    ...{ name: answer.name, createdAt: app.clock.now(), lastUsedAt: null },
  })
  if (!passkey) throw new PeopleError('passkey_refused')
  return passkey
}

export function listPasskeys(app: PeopleApp, { user }: Principal): Promise<PasskeyRow[]> {
  return listPasskeyRows(app.peopleDb, user.id)
}

export async function removePasskey(app: PeopleApp, principal: Principal, id: string): Promise<void> {
  requireRecentAuthentication(app, principal)
  const isRemoved = await deletePasskeyRow(app.peopleDb, id, principal.user.id)
  if (!isRemoved) throw new PeopleError('passkey_refused')
}

export async function signInWithPasskey(
  app: PeopleApp,
  answer: PasskeyAnswer & { kind: UserKind },
  origin: Origin,
): Promise<StartedSession> {
  const attempt = await admit(app, origin)
  await useChallenge(app, answer, 'sign_in', null)
  const { passkey, use } = await verifyAnswer(app, answer)
  const user = await findActiveUser(app.peopleDb, passkey.userId)
  if (user?.kind !== answer.kind) throw new PeopleError('passkey_refused')
  // The question and the answer were counted.
  await attempt.clear()
  await attempt.clear()
  return startSession(app, user, origin, 'sign_in.passkey', {
    passwordHash: null,
    consume: (tx) => recordUse(app, tx, passkey, use),
  })
}

/** Confirms who uses the session. Returns its new token. */
export async function confirmWithPasskey(
  app: PeopleApp,
  principal: Principal,
  answer: PasskeyAnswer,
  origin: Origin,
): Promise<string> {
  await useChallenge(app, answer, 'step_up', principal.user.id)
  const { passkey, use } = await verifyAnswer(app, answer)
  if (passkey.userId !== principal.user.id) throw new PeopleError('passkey_refused')
  await recordUse(app, app.peopleDb, passkey, use)
  return renewAsUser(app, principal, origin)
}

async function verifyAnswer(
  app: PeopleApp,
  answer: PasskeyAnswer,
): Promise<{ passkey: PasskeyRow; use: PasskeyUse }> {
  const id = credentialIdOf(answer.response)
  const passkey = id === undefined ? undefined : await findPasskey(app.peopleDb, id)
  if (!passkey) throw new PeopleError('passkey_refused')
  const credential = { ...passkey, signCount: Number(passkey.signCount) }
  const use = verifyAssertion({ ...expectationOf(app, answer), credential })
  if (!('refused' in use)) return { passkey, use }
  // The passkey may have been copied.
  if (use.refused === 'sign_count_did_not_rise')
    app.log.write('passkey.sign_count_did_not_rise', { reason: `user ${passkey.userId}` })
  throw new PeopleError('passkey_refused')
}

async function recordUse(app: PeopleApp, tx: Tx, passkey: PasskeyRow, use: PasskeyUse): Promise<void> {
  const isSaved = await savePasskeyUse(tx, passkey, use.signCount, app.clock.now())
  if (!isSaved) throw new PeopleError('passkey_refused')
}

/** The two steps of a sign-in with a passkey: the question of the page, and the browser's answer. */
export const passkeySignIn = { start: startSignIn, finish: signInWithPasskey }
