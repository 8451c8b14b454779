// The statements over sessions, their forms, and pending sign-ins.

import type { Mode } from '../core/merchant.ts'
import { sql, type Tx } from '../kit/db/db.ts'
import { firstRow } from '../kit/db/rows.ts'
import type { Role } from './roles.ts'
import type { UserKind } from './user-queries.ts'

export interface NewSession {
  id: string
  tokenHash: Buffer
  userId: string
  address: string
  userAgent: string
  createdAt: Date
  expiresAt: Date
  /** The hash that was verified: a password that was changed meanwhile starts no session. Null: another proof. */
  passwordHash: string | null
}

// The merchant is chosen if there is only one.
const insertStatement = sql<{ id: string; merchantId: string | null; role: Role | null }>`
with own as (
  select m.merchant_id, m.role
  from memberships m
  where m.user_id = $3
  limit 2
), only_one as (
  select merchant_id, role
  from own
  where (select count(*) from own) = 1
), inserted as (
  insert into sessions (
    id, token_hash, user_id, current_merchant_id, merchant_chosen_at, address, user_agent, created_at, last_seen_at,
    authenticated_at, expires_at
  )
  select $1, $2, u.id, o.merchant_id, case when o.merchant_id is not null then $6::timestamptz end, $4, $5, $6, $6, $6, $7
  from users u
  left join only_one o on true
  where u.id = $3 and u.disabled_at is null and ($8::text is null or u.password_hash = $8)
  returning id, current_merchant_id
)
select i.id, i.current_merchant_id as "merchantId", o.role
from inserted i
left join only_one o on true`

/** Undefined if the user is disabled, or the password was changed after it was verified. */
export function insertSession(tx: Tx, session: NewSession) {
  const { id, tokenHash, userId, address, userAgent, createdAt, expiresAt, passwordHash } = session
  return firstRow(tx, insertStatement, [
    ...[id, tokenHash, userId, address, userAgent, createdAt, expiresAt, passwordHash],
  ])
}

export interface PrincipalRow {
  sessionId: string
  authenticatedAt: Date
  userId: string
  email: string
  name: string
  kind: UserKind
  language: string | null
  hasPassword: boolean
  hasTotp: boolean
  hasPasskeys: boolean
  merchantId: string | null
  merchantName: string
  merchantStatus: 'active' | 'suspended'
  mode: Mode
  baseCurrency: string
  role: Role | null
}

// $2 is now, $3 the earliest time of the last request, $4 that of the last one that is saved.
const principalStatement = sql<PrincipalRow>`
with found as (
  select s.id, s.last_seen_at, s.authenticated_at, s.current_merchant_id, s.merchant_chosen_at, u.id as user_id, u.email,
    u.name, u.kind, u.language, u.password_hash is not null as has_password, u.totp_sealed is not null as has_totp,
    exists (select from passkeys p where p.user_id = u.id) as has_passkeys
  from sessions s
  join users u on u.id = s.user_id and u.disabled_at is null
  where s.token_hash = $1 and s.ended_at is null and s.expires_at > $2 and s.last_seen_at > $3
), touched as (
  update sessions
  set last_seen_at = $2
  where id = (select id from found where last_seen_at < $4)
)
select f.id as "sessionId", f.authenticated_at as "authenticatedAt", f.user_id as "userId", f.email, f.name, f.kind, f.language,
  f.has_password as "hasPassword", f.has_totp as "hasTotp", f.has_passkeys as "hasPasskeys",
  m.merchant_id as "merchantId", o.name as "merchantName",
  o.status as "merchantStatus", o.mode, o.base_currency as "baseCurrency", m.role
from found f
left join memberships m
  on m.merchant_id = f.current_merchant_id and m.user_id = f.user_id and m.created_at <= f.merchant_chosen_at
left join merchants o on o.id = m.merchant_id
where f.current_merchant_id is null or m.merchant_id is not null`

export interface SessionTimes {
  now: Date
  seenAfter: Date
  /** The time of the last request is saved if the saved one is older than this. */
  saveIfBefore: Date
}

/** Undefined if the session, the user or the membership has ended. */
export function findPrincipal(
  db: Tx,
  tokenHash: Buffer,
  { now, seenAfter, saveIfBefore }: SessionTimes,
): Promise<PrincipalRow | undefined> {
  return firstRow(db, principalStatement, [tokenHash, now, seenAfter, saveIfBefore])
}

const rotateStatement = sql<{ id: string }>`
update sessions
set token_hash = $2, authenticated_at = $3
where id = $1 and ended_at is null
returning id`

export async function rotateSession(tx: Tx, id: string, tokenHash: Buffer, now: Date): Promise<boolean> {
  return (await tx.query(rotateStatement, [id, tokenHash, now])).length > 0
}

const chooseStatement = sql<{ id: string }>`
update sessions s
set current_merchant_id = m.merchant_id, merchant_chosen_at = $4
from memberships m
where s.id = $1 and s.ended_at is null and m.merchant_id = $2 and m.user_id = $3 and s.user_id = $3
returning s.id`

export async function chooseSessionMerchant(
  db: Tx,
  sessionId: string,
  merchantId: string,
  userId: string,
  now: Date,
): Promise<boolean> {
  return (await db.query(chooseStatement, [sessionId, merchantId, userId, now])).length > 0
}

export interface SessionRow {
  id: string
  address: string
  userAgent: string
  createdAt: Date
  lastSeenAt: Date
}

const listStatement = sql<SessionRow>`
select id, address, user_agent as "userAgent", created_at as "createdAt", last_seen_at as "lastSeenAt"
from sessions
where user_id = $1 and ended_at is null and expires_at > $2 and last_seen_at > $3
order by last_seen_at desc
limit 100`

export function listSessionRows(db: Tx, userId: string, now: Date, seenAfter: Date): Promise<SessionRow[]> {
  return db.query(listStatement, [userId, now, seenAfter])
}

const endStatement = sql<{ id: string }>`
update sessions
set ended_at = $3
where id = $1 and user_id = $2 and ended_at is null
returning id`

export async function endSessionRow(tx: Tx, id: string, userId: string, now: Date): Promise<boolean> {
  return (await tx.query(endStatement, [id, userId, now])).length > 0
}

const endByTokenStatement = sql<{ id: string }>`
update sessions
set ended_at = $2
where token_hash = $1 and ended_at is null
returning id`

export async function endSessionByToken(tx: Tx, tokenHash: Buffer, now: Date): Promise<void> {
  await tx.query(endByTokenStatement, [tokenHash, now])
}

const endOthersStatement = sql<{ id: string }>`
update sessions
set ended_at = $3
where user_id = $1 and id is distinct from $2 and ended_at is null
returning id`

/** Ends all sessions of the user but one; with null all of them. Returns their number. */
export async function endOtherSessions(
  tx: Tx,
  userId: string,
  keptId: string | null,
  now: Date,
): Promise<number> {
  return (await tx.query(endOthersStatement, [userId, keptId, now])).length
}

const insertSubmissionStatement = sql<{ id: string }>`
insert into form_submissions (id, expires_at)
values ($1, $2)
on conflict do nothing
returning id`

/** True once for each form. */
export async function insertSubmission(db: Tx, id: string, expiresAt: Date): Promise<boolean> {
  return (await db.query(insertSubmissionStatement, [id, expiresAt])).length > 0
}

const deleteSubmissionStatement = sql<unknown>`
delete from form_submissions
where id = $1`

export async function deleteSubmission(db: Tx, id: string): Promise<void> {
  await db.query(deleteSubmissionStatement, [id])
}

const insertPendingStatement = sql<unknown>`
insert into pending_sign_ins (token_hash, user_id, expires_at)
values ($1, $2, $3)`

export async function insertPending(db: Tx, hash: Buffer, userId: string, expiresAt: Date): Promise<void> {
  await db.query(insertPendingStatement, [hash, userId, expiresAt])
}

const findPendingStatement = sql<{ userId: string }>`
select user_id as "userId"
from pending_sign_ins
where token_hash = $1 and expires_at > $2`

export async function findPending(db: Tx, hash: Buffer, now: Date): Promise<string | undefined> {
  return (await firstRow(db, findPendingStatement, [hash, now]))?.userId
}

const takePendingStatement = sql<{ userId: string }>`
delete from pending_sign_ins
where token_hash = $1 and expires_at > $2
returning user_id as "userId"`

/** Completes a pending sign-in, once. */
export async function takePending(tx: Tx, hash: Buffer, now: Date): Promise<boolean> {
  return (await tx.query(takePendingStatement, [hash, now])).length > 0
}

const deletePendingStatement = sql<unknown>`
delete from pending_sign_ins
where user_id = $1`

export async function deletePending(tx: Tx, userId: string): Promise<void> {
  await tx.query(deletePendingStatement, [userId])
}
