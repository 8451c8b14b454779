// The second factor: codes of an authenticator app, each accepted once, and recovery codes for the loss of the phone.

import { hmacSha256 } from '../kit/crypto.ts'
import { newTotpSecret, totpUri, verifyTotp } from '../kit/totp.ts'
import type { PeopleApp } from './app.ts'
import { PeopleError } from './errors.ts'
import {
  confirmTotpSecret,
  countRecoveryCodes,
  removeTotpSecret,
  replaceRecoveryCodes,
  savePendingTotp,
  useRecoveryCodeHash,
  useTotpCounter,
} from './factor-queries.ts'
import { type Principal, requireRecentAuthentication } from './sessions.ts'
import { findActiveUser, type UserRow } from './user-queries.ts'

// Users belong to no merchant.
const NIL_UUID = '00000000-0000-0000-0000-000000000000'
/** Both columns use one context, because a secret moves from one to the other. */
const contextOf = (userId: string) => ({
  table: 'users',
  column: 'totp_sealed',
  rowId: userId,
  merchantId: NIL_UUID,
})

/** A new secret, shown once. It is used only after `confirmTotp`. */
export async function startTotp(
  app: PeopleApp,
  principal: Principal,
  issuer: string,
): Promise<{ secret: string; uri: string }> {
  requireRecentAuthentication(app, principal)
  const { id, email } = principal.user
  const secret = newTotpSecret(app.random)
  await savePendingTotp(app.peopleDb, id, app.vault.seal(secret, contextOf(id)))
  return { secret, uri: totpUri({ issuer, account: email, secret }) }
}

/** Turns the second factor on with the first code of the app. Returns recovery codes, which are not shown again. */
export async function confirmTotp(app: PeopleApp, principal: Principal, code: string): Promise<string[]> {
  requireRecentAuthentication(app, principal)
  const user = await findActiveUser(app.peopleDb, principal.user.id)
  const sealed = user?.totpPendingSealed
  if (!sealed) throw new PeopleError('totp_not_started')
  const secret = app.vault.open(sealed, contextOf(user.id))
  const counter = verifyTotp({ secret, code, now: app.clock.now(), lastCounter: null })
  if (counter === null) throw new PeopleError('second_factor_failed')
  const codes = newRecoveryCodes(app)
  await app.peopleDb.transaction(async (tx) => {
    if (!(await confirmTotpSecret(tx, user.id, sealed, counter))) throw new PeopleError('totp_not_started')
    await replaceRecoveryCodes(tx, user.id, hashesOf(app, user.id, codes))
  })
  return codes
}

export async function removeTotp(app: PeopleApp, principal: Principal): Promise<void> {
  requireRecentAuthentication(app, principal)
  await app.peopleDb.transaction(async (tx) => {
    await removeTotpSecret(tx, principal.user.id)
    await replaceRecoveryCodes(tx, principal.user.id, [])
  })
}

/** New recovery codes; the old ones stop working. */
export async function renewRecoveryCodes(app: PeopleApp, principal: Principal): Promise<string[]> {
  requireRecentAuthentication(app, principal)
  if (!principal.user.hasTotp) throw new PeopleError('totp_not_started')
  const codes = newRecoveryCodes(app)
  const { id } = principal.user
  await app.peopleDb.transaction((tx) => replaceRecoveryCodes(tx, id, hashesOf(app, id, codes)))
  return codes
}

export function recoveryCodesLeft(app: PeopleApp, { user }: Principal): Promise<number> {
  return countRecoveryCodes(app.peopleDb, user.id)
}

/** Whether the code is right: one of the app, or a recovery code. Either is used up by that. */
export async function useSecondFactor(app: PeopleApp, user: UserRow, code: string): Promise<boolean> {
  if (user.totpSealed === null) return false
  const recovery = readRecoveryCode(code)
  if (recovery !== undefined) {
    const [hash] = hashesOf(app, user.id, [recovery])
    return hash !== undefined && useRecoveryCodeHash(app.peopleDb, user.id, hash)
  }
  const secret = app.vault.open(user.totpSealed, contextOf(user.id))
  const lastCounter = user.totpCounter === null ? null : Number(user.totpCounter)
  const counter = verifyTotp({ secret, code, now: app.clock.now(), lastCounter })
  return counter !== null && useTotpCounter(app.peopleDb, user.id, counter)
}

const RECOVERY_CODES = 10
// 60 bits in base32, without characters that look alike.
const CODE_ALPHABET = '23456789abcdefghjkmnopqrstuvwxyz'
const CODE_LENGTH = 12
const RECOVERY_CODE = /^[2-9a-hjkm-z]{12}$/

function newRecoveryCodes({ random }: PeopleApp): string[] {
  return Array.from({ length: RECOVERY_CODES }, () =>
    [...random.bytes(CODE_LENGTH)].map((byte) => CODE_ALPHABET.charAt(byte % 32)).join(''),
  )
}

/** As people type it, with spaces, hyphens and capitals; undefined if it has not the form of a recovery code. */
function readRecoveryCode(text: string): string | undefined {
  const code = text.toLowerCase().replaceAll(/[\s-]/g, '')
  return RECOVERY_CODE.test(code) ? code : undefined
}

function hashesOf({ peopleKey }: PeopleApp, userId: string, codes: readonly string[]): Buffer[] {
  return codes.map((code) => hmacSha256(peopleKey, `recovery|${userId}|${code}`))
}
