// The statements over second factors: TOTP, recovery codes, passkeys and their challenges.

import { column, columnTable, type RowOf } from '../kit/db/columns.ts'
import { sql, type Tx } from '../kit/db/db.ts'
import { firstRow, requireRow } from '../kit/db/rows.ts'

const startTotpStatement = sql<unknown>`
update users
set totp_pending_sealed = $2
where id = $1`

export async function savePendingTotp(db: Tx, userId: string, sealed: string): Promise<void> {
  await db.query(startTotpStatement, [userId, sealed])
}

const confirmTotpStatement = sql<{ id: string }>`
update users
set totp_sealed = totp_pending_sealed, totp_pending_sealed = null, totp_counter = $3
where id = $1 and totp_pending_sealed = $2
returning id`

/** False if the secret was replaced or confirmed meanwhile. */
export async function confirmTotpSecret(
  tx: Tx,
  userId: string,
  sealed: string,
  counter: number,
): Promise<boolean> {
  return (await tx.query(confirmTotpStatement, [userId, sealed, counter])).length > 0
}

const useCounterStatement = sql<{ id: string }>`
update users
set totp_counter = $2
where id = $1 and (totp_counter is null or totp_counter < $2)
returning id`

/** False if a code of this counter or a later one was used: each code is accepted once. */
export async function useTotpCounter(db: Tx, userId: string, counter: number): Promise<boolean> {
  return (await db.query(useCounterStatement, [userId, counter])).length > 0
}

const removeTotpStatement = sql<unknown>`
update users
set totp_sealed = null, totp_pending_sealed = null, totp_counter = null
where id = $1`

export async function removeTotpSecret(tx: Tx, userId: string): Promise<void> {
  await tx.query(removeTotpStatement, [userId])
}

const deleteCodesStatement = sql<unknown>`
delete from recovery_codes
where user_id = $1`

const insertCodesStatement = sql<unknown>`
insert into recovery_codes (hash, user_id)
select unnest($2::bytea[]), $1`

export async function replaceRecoveryCodes(tx: Tx, userId: string, hashes: readonly Buffer[]): Promise<void> {
  await tx.query(deleteCodesStatement, [userId])
  if (hashes.length > 0) await tx.query(insertCodesStatement, [userId, hashes])
}

const useCodeStatement = sql<{ userId: string }>`
delete from recovery_codes
where hash = $1 and user_id = $2
returning user_id as "userId"`

export async function useRecoveryCodeHash(db: Tx, userId: string, hash: Buffer): Promise<boolean> {
  return (await db.query(useCodeStatement, [hash, userId])).length > 0
}

const countCodesStatement = sql<{ count: number }>`
select count(*)::integer as count
from recovery_codes
where user_id = $1`

export async function countRecoveryCodes(db: Tx, userId: string): Promise<number> {
  return requireRow(await db.query(countCodesStatement, [userId])).count
}

const PASSKEY = columnTable({
  id: column<string>('uuid'),
  userId: column<string>('uuid'),
  credentialId: column<string>('text'),
  publicKey: column<Buffer>('bytea'),
  signCount: column<bigint>('bigint'),
  isBackedUp: column<boolean>('boolean'),
  name: column<string>('text'),
  createdAt: column<Date>('timestamptz'),
  lastUsedAt: column<Date | null>('timestamptz'),
})

export type PasskeyRow = RowOf<typeof PASSKEY>

const insertPasskeyStatement = sql<PasskeyRow>`
insert into passkeys (${PASSKEY.list()})
values (${PASSKEY.placeholders()})
on conflict (credential_id) do nothing
returning ${PASSKEY.select()}`

/** Undefined if the credential is registered already. */
export function insertPasskey(tx: Tx, passkey: PasskeyRow): Promise<PasskeyRow | undefined> {
  return firstRow(tx, insertPasskeyStatement, PASSKEY.values(passkey))
}

const findPasskeyStatement = sql<PasskeyRow>`
select ${PASSKEY.select()}
from passkeys
where credential_id = $1`

export function findPasskey(db: Tx, credentialId: string): Promise<PasskeyRow | undefined> {
  return firstRow(db, findPasskeyStatement, [credentialId])
}

const listPasskeysStatement = sql<PasskeyRow>`
select ${PASSKEY.select()}
from passkeys
where user_id = $1
order by created_at`

export function listPasskeyRows(db: Tx, userId: string): Promise<PasskeyRow[]> {
  return db.query(listPasskeysStatement, [userId])
}

// The count that was verified must still be the stored one: a copied authenticator does not pass beside the real one.
const usePasskeyStatement = sql<{ id: string }>`
update passkeys
set sign_count = $3, last_used_at = $4
where id = $1 and sign_count = $2
returning id`

export async function savePasskeyUse(
  tx: Tx,
  { id, signCount }: Pick<PasskeyRow, 'id' | 'signCount'>,
  newCount: number,
  now: Date,
): Promise<boolean> {
  return (await tx.query(usePasskeyStatement, [id, signCount, newCount, now])).length > 0
}

const deletePasskeyStatement = sql<{ id: string }>`
delete from passkeys
where id = $1 and user_id = $2
returning id`

export async function deletePasskeyRow(db: Tx, id: string, userId: string): Promise<boolean> {
  return (await db.query(deletePasskeyStatement, [id, userId])).length > 0
}

const deletePasskeysStatement = sql<unknown>`
delete from passkeys
where user_id = $1`

export async function deletePasskeys(tx: Tx, userId: string): Promise<void> {
  await tx.query(deletePasskeysStatement, [userId])
}

export type ChallengePurpose = 'sign_in' | 'step_up' | 'registration'

const insertChallengeStatement = sql<unknown>`
insert into passkey_challenges (hash, purpose, user_id, expires_at)
values ($1, $2, $3, $4)`

export async function insertChallenge(
  db: Tx,
  challenge: { hash: Buffer; purpose: ChallengePurpose; userId: string | null; expiresAt: Date },
): Promise<void> {
  const { hash, purpose, userId, expiresAt } = challenge
  await db.query(insertChallengeStatement, [hash, purpose, userId, expiresAt])
}

const useChallengeStatement = sql<{ hash: Buffer }>`
delete from passkey_challenges
where hash = $1 and purpose = $2 and user_id is not distinct from $3 and expires_at > $4
returning hash`

/** True once. */
export async function useChallengeHash(
  db: Tx,
  hash: Buffer,
  purpose: ChallengePurpose,
  userId: string | null,
  now: Date,
): Promise<boolean> {
  return (await db.query(useChallengeStatement, [hash, purpose, userId, now])).length > 0
}
