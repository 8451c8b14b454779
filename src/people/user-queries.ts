// The statements over users, known devices and one-time links. They belong to the instance.

import { column, columnTable, type RowOf } from '../kit/db/columns.ts'
import { sql, type Tx } from '../kit/db/db.ts'
import { firstRow, requireRow } from '../kit/db/rows.ts'

const USER = columnTable({
  id: column<string>('uuid'),
  email: column<string>('text'),
  name: column<string>('text'),
  kind: column<'member' | 'operator'>('text'),
  passwordHash: column<string | null>('text'),
  language: column<string | null>('text'),
  totpSealed: column<string | null>('text'),
  totpPendingSealed: column<string | null>('text'),
  totpCounter: column<bigint | null>('bigint'),
  createdAt: column<Date>('timestamptz'),
  disabledAt: column<Date | null>('timestamptz'),
})

export type UserRow = RowOf<typeof USER>
export type UserKind = UserRow['kind']

const NEW_USER = ['id', 'email', 'name', 'kind', 'passwordHash', 'language', 'createdAt'] as const

const insertStatement = sql<UserRow>`
insert into users (${USER.list(NEW_USER)})
values (${USER.placeholders(NEW_USER)})
on conflict (email) do nothing
returning ${USER.select()}`

/** Undefined if there is an account with this e-mail address. */
export function insertUser(
  tx: Tx,
  user: Pick<UserRow, (typeof NEW_USER)[number]>,
): Promise<UserRow | undefined> {
  return firstRow(tx, insertStatement, USER.values(user, NEW_USER))
}

const findByEmailStatement = sql<UserRow>`
select ${USER.select()}
from users
where email = $1`

export function findUserByEmail(db: Tx, email: string): Promise<UserRow | undefined> {
  return firstRow(db, findByEmailStatement, [email])
}

const countOperatorsStatement = sql<{ count: number }>`
select count(*)::int as count
from users
where kind = 'operator' and id = any($1::uuid[]) and created_at <= $2`

/** How many of these people were operators at this time. An account never changes its kind. */
export async function countOperatorsAt(db: Tx, ids: readonly string[], at: Date): Promise<number> {
  return requireRow(await db.query(countOperatorsStatement, [ids, at])).count
}

const findForSignInStatement = sql<UserRow & { isKnownDevice: boolean }>`
select ${USER.select('u')},
  exists (select from known_devices d where d.token_hash = $3 and d.user_id = u.id) as "isKnownDevice"
from users u
where u.email = $1 and u.kind = $2 and u.disabled_at is null`

export function findUserForSignIn(
  db: Tx,
  email: string,
  kind: UserKind,
  deviceHash: Buffer | undefined,
): Promise<(UserRow & { isKnownDevice: boolean }) | undefined> {
  return firstRow(db, findForSignInStatement, [email, kind, deviceHash ?? null])
}

const isKnownDeviceStatement = sql<{ isKnown: boolean }>`
select exists (select from known_devices where token_hash = $1 and user_id = $2) as "isKnown"`

export async function isKnownDevice(
  db: Tx,
  userId: string,
  deviceHash: Buffer | undefined,
): Promise<boolean> {
  if (!deviceHash) return false
  return requireRow(await db.query(isKnownDeviceStatement, [deviceHash, userId])).isKnown
}

const findStatement = sql<UserRow>`
select ${USER.select()}
from users
where id = $1 and disabled_at is null`

/** Undefined if the user is disabled. */
export function findActiveUser(db: Tx, id: string): Promise<UserRow | undefined> {
  return firstRow(db, findStatement, [id])
}

/** A passkey is no second factor: without an authenticator app the password alone signs in too. */
type ListedUser = Pick<UserRow, 'id' | 'email' | 'name' | 'language' | 'disabledAt'> & {
  hasSecondFactor: boolean
}

const listStatement = sql<ListedUser>`
select ${USER.select('u', ['id', 'email', 'name', 'language', 'disabledAt'])},
  u.totp_sealed is not null as "hasSecondFactor"
from users u
where u.id = any($1::uuid[])`

export function listUsers(db: Tx, ids: readonly string[]): Promise<ListedUser[]> {
  return db.query(listStatement, [ids])
}

const rehashStatement = sql<{ id: string }>`
update users
set password_hash = $3
where id = $1 and password_hash = $2
returning id`

/** The same password with other parameters. False if the hash is another one by now. */
export async function replaceHash(db: Tx, id: string, old: string, fresh: string): Promise<boolean> {
  return (await db.query(rehashStatement, [id, old, fresh])).length > 0
}

const verifyEmailStatement = sql<{ id: string }>`
update users
set email_verified_at = $2
where id = $1 and email_verified_at is null
returning id`

/** True if the address was not verified before. */
export async function verifyEmail(tx: Tx, id: string, now: Date): Promise<boolean> {
  return (await tx.query(verifyEmailStatement, [id, now])).length > 0
}

const setPasswordStatement = sql<unknown>`
update users
set password_hash = $2
where id = $1`

export async function setPasswordHash(tx: Tx, id: string, hash: string | null): Promise<void> {
  await tx.query(setPasswordStatement, [id, hash])
}

const setProfileStatement = sql<unknown>`
update users
set name = $2, language = $3
where id = $1`

export async function setProfile(tx: Tx, id: string, name: string, language: string): Promise<void> {
  await tx.query(setProfileStatement, [id, name, language])
}

const disableStatement = sql<{ id: string }>`
update users
set disabled_at = coalesce(disabled_at, $2)
where id = $1
returning id`

export async function disableUserRow(tx: Tx, id: string, now: Date): Promise<boolean> {
  return (await tx.query(disableStatement, [id, now])).length > 0
}

const saveDeviceStatement = sql<unknown>`
with replaced as (
  delete from known_devices
  where token_hash = $4 and user_id = $2
)
insert into known_devices (token_hash, user_id, last_used_at)
values ($1, $2, $3)`

/** The new token of a browser; the one that it had before stops working. */
export async function saveDevice(
  tx: Tx,
  hash: Buffer,
  userId: string,
  now: Date,
  replacedHash: Buffer | undefined,
): Promise<void> {
  await tx.query(saveDeviceStatement, [hash, userId, now, replacedHash ?? null])
}

const deleteDevicesStatement = sql<unknown>`
delete from known_devices
where user_id = $1`

export async function deleteDevices(tx: Tx, userId: string): Promise<void> {
  await tx.query(deleteDevicesStatement, [userId])
}

export type LinkPurpose = 'reset_password' | 'demo_sign_in'

const insertLinkStatement = sql<unknown>`
insert into one_time_links (token_hash, purpose, user_id, created_at, expires_at)
values ($1, $2, $3, $4, $5)`

export async function insertLink(
  tx: Tx,
  link: { tokenHash: Buffer; purpose: LinkPurpose; userId: string; createdAt: Date; expiresAt: Date },
): Promise<void> {
  const { tokenHash, purpose, userId, createdAt, expiresAt } = link
  await tx.query(insertLinkStatement, [tokenHash, purpose, userId, createdAt, expiresAt])
}

const findLinkStatement = sql<UserRow>`
select ${USER.select('u')}
from one_time_links l
join users u on u.id = l.user_id and u.disabled_at is null
where l.token_hash = $1 and l.purpose = $2 and l.used_at is null and l.expires_at > $3`

/** The user of a link that is valid; it is not used by that. */
export function findLinkUser(
  db: Tx,
  tokenHash: Buffer,
  purpose: LinkPurpose,
  now: Date,
): Promise<UserRow | undefined> {
  return firstRow(db, findLinkStatement, [tokenHash, purpose, now])
}

// A second use waits for the row lock of the first one, and then finds the link used.
const useLinkStatement = sql<{ userId: string }>`
update one_time_links
set used_at = $3
where token_hash = $1 and purpose = $2 and used_at is null and expires_at > $3
returning user_id as "userId"`

/** The user of the link, once. */
export async function useLink(
  tx: Tx,
  tokenHash: Buffer,
  purpose: LinkPurpose,
  now: Date,
): Promise<string | undefined> {
  return (await firstRow(tx, useLinkStatement, [tokenHash, purpose, now]))?.userId
}

const endLinksStatement = sql<unknown>`
update one_time_links
set used_at = $2
where user_id = $1 and used_at is null`

export async function endLinks(tx: Tx, userId: string, now: Date): Promise<void> {
  await tx.query(endLinksStatement, [userId, now])
}

function buildPurgeStatement(table: string, key: string, column: string) {
  return sql<unknown>`
delete from ${table}
where ${key} in (
  select ${key}
  from ${table}
  where ${column} < $1
  limit 1000
)
returning 1`
}

const PURGES = {
  sessions: buildPurgeStatement('sessions', 'id', 'expires_at'),
  pendingSignIns: buildPurgeStatement('pending_sign_ins', 'token_hash', 'expires_at'),
  challenges: buildPurgeStatement('passkey_challenges', 'hash', 'expires_at'),
  links: buildPurgeStatement('one_time_links', 'token_hash', 'expires_at'),
  submissions: buildPurgeStatement('form_submissions', 'id', 'expires_at'),
  invitations: buildPurgeStatement('invitations', 'id', 'expires_at'),
  devices: buildPurgeStatement('known_devices', 'token_hash', 'last_used_at'),
}

/** Deletes at most a thousand rows that ended before this time. */
export async function purgeEnded(db: Tx, what: keyof typeof PURGES, before: Date): Promise<number> {
  return (await db.query(PURGES[what], [before])).length
}
