// The statements over memberships and invitations. Those of a merchant's team read no other table, so that they run under
// row-level security.

import { column, columnTable, type RowOf } from '../kit/db/columns.ts'
import { sql, type Tx } from '../kit/db/db.ts'
import { firstRow, requireRow } from '../kit/db/rows.ts'
import type { Role } from './roles.ts'

const MEMBERSHIP = columnTable({
  merchantId: column<string>('uuid'),
  userId: column<string>('uuid'),
  role: column<Role>('text'),
  createdAt: column<Date>('timestamptz'),
})

export type MembershipRow = RowOf<typeof MEMBERSHIP>

const addStatement = sql<{ userId: string }>`
insert into memberships (${MEMBERSHIP.list()})
values (${MEMBERSHIP.placeholders()})
on conflict (merchant_id, user_id) do nothing
returning user_id as "userId"`

/** False if the person is a member already. */
export async function addMembership(tx: Tx, membership: MembershipRow): Promise<boolean> {
  return (await tx.query(addStatement, MEMBERSHIP.values(membership))).length > 0
}

const listStatement = sql<MembershipRow>`
select ${MEMBERSHIP.select()}
from memberships
where merchant_id = $1
order by user_id
limit 1000`

export function listMemberships(db: Tx, merchantId: string): Promise<MembershipRow[]> {
  return db.query(listStatement, [merchantId])
}

const countAtStatement = sql<{ count: number }>`
select count(*)::int as count
from memberships
where merchant_id = $1 and user_id = any($2::uuid[]) and created_at <= $3`

/** How many of these people are members and were so at this time. */
export async function countMembersAt(
  db: Tx,
  merchantId: string,
  userIds: readonly string[],
  at: Date,
): Promise<number> {
  return requireRow(await db.query(countAtStatement, [merchantId, userIds, at])).count
}

const listOfUserStatement = sql<MembershipRow & { merchantName: string }>`
select ${MEMBERSHIP.select('m')}, o.name as "merchantName"
from memberships m
join merchants o on o.id = m.merchant_id
where m.user_id = $1
order by o.name
limit 1000`

export function listMembershipsOfUser(db: Tx, userId: string) {
  return db.query(listOfUserStatement, [userId])
}

const lockStatement = sql<Pick<MembershipRow, 'userId' | 'role'>>`
select user_id as "userId", role
from memberships
where merchant_id = $1 and (role = 'owner' or user_id = any($2::uuid[]))
order by user_id
for update`

/** The owners and these people, locked: two changes of roles happen one after the other. */
export function lockMemberships(tx: Tx, merchantId: string, userIds: readonly string[]) {
  return tx.query(lockStatement, [merchantId, userIds])
}

const setRoleStatement = sql<unknown>`
update memberships
set role = $3
where merchant_id = $1 and user_id = $2`

export async function setRole(tx: Tx, merchantId: string, userId: string, role: Role): Promise<void> {
  await tx.query(setRoleStatement, [merchantId, userId, role])
}

const removeStatement = sql<unknown>`
delete from memberships
where merchant_id = $1 and user_id = $2`

export async function removeMembership(tx: Tx, merchantId: string, userId: string): Promise<void> {
  await tx.query(removeStatement, [merchantId, userId])
}

const INVITATION = columnTable({
  id: column<string>('uuid'),
  tokenHash: column<Buffer>('bytea'),
  merchantId: column<string | null>('uuid'),
  email: column<string>('text'),
  role: column<Role | 'operator'>('text'),
  invitedBy: column<string | null>('uuid'),
  createdAt: column<Date>('timestamptz'),
  expiresAt: column<Date>('timestamptz'),
})

export type InvitationRow = RowOf<typeof INVITATION>
const SHOWN = INVITATION.except('tokenHash')
export type OpenInvitation = Omit<InvitationRow, 'tokenHash'>

const insertInvitationStatement = sql<{ id: string }>`
insert into invitations (${INVITATION.list()})
values (${INVITATION.placeholders()})
on conflict (id) do nothing
returning id`

/** False if there is one with this id. */
export async function insertInvitation(tx: Tx, invitation: InvitationRow): Promise<boolean> {
  return (await tx.query(insertInvitationStatement, INVITATION.values(invitation))).length > 0
}

const listInvitationsStatement = sql<OpenInvitation>`
select ${INVITATION.select('', SHOWN)}
from invitations
where merchant_id = $1 and used_at is null and revoked_at is null and expires_at > $2
order by created_at desc
limit 1000`

export function listOpenInvitations(db: Tx, merchantId: string, now: Date): Promise<OpenInvitation[]> {
  return db.query(listInvitationsStatement, [merchantId, now])
}

const revokeStatement = sql<{ id: string }>`
update invitations
set revoked_at = $3
where merchant_id = $1 and id = $2 and used_at is null and revoked_at is null
returning id`

export async function revokeInvitationRow(
  db: Tx,
  merchantId: string,
  id: string,
  now: Date,
): Promise<boolean> {
  return (await db.query(revokeStatement, [merchantId, id, now])).length > 0
}

const listOfOperatorsStatement = sql<OpenInvitation>`
select ${INVITATION.select('', SHOWN)}
from invitations
where merchant_id is null and used_at is null and revoked_at is null and expires_at > $1
order by created_at desc
limit 1000`

/** Of operators. */
export function listOperatorInvitationRows(db: Tx, now: Date): Promise<OpenInvitation[]> {
  return db.query(listOfOperatorsStatement, [now])
}

const lockOperatorEmailStatement = sql<unknown>`
select pg_advisory_xact_lock(hashtextextended('operator_invitations', 0) # hashtextextended($1::text, 0))`

const findOfOperatorStatement = sql<OpenInvitation>`
select ${INVITATION.select('', SHOWN)}
from invitations
where merchant_id is null and email = $1 and used_at is null and revoked_at is null and expires_at > $2
limit 1`

/** The open invitation of this address. Until the end of the transaction no other one is made for it. */
export async function lockOperatorInvitation(
  tx: Tx,
  email: string,
  now: Date,
): Promise<OpenInvitation | undefined> {
  await tx.query(lockOperatorEmailStatement, [email])
  return firstRow(tx, findOfOperatorStatement, [email, now])
}

const revokeOfOperatorStatement = sql<OpenInvitation>`
update invitations
set revoked_at = $2
where id = $1 and merchant_id is null and used_at is null and revoked_at is null and expires_at > $2
returning ${INVITATION.select('', SHOWN)}`

/** Undefined if it is not open. */
export function revokeOperatorInvitationRow(
  db: Tx,
  id: string,
  now: Date,
): Promise<OpenInvitation | undefined> {
  return firstRow(db, revokeOfOperatorStatement, [id, now])
}

const revokeOfMemberStatement = sql<unknown>`
update invitations
set revoked_at = $3
where merchant_id = $1 and invited_by = $2 and used_at is null and revoked_at is null`

const revokeOfUserStatement = sql<unknown>`
update invitations
set revoked_at = $2
where invited_by = $1 and used_at is null and revoked_at is null`

/** Of one merchant; with null of all of them. */
export async function revokeInvitationsOf(
  tx: Tx,
  merchantId: string | null,
  userId: string,
  now: Date,
): Promise<void> {
  if (merchantId === null) await tx.query(revokeOfUserStatement, [userId, now])
  else await tx.query(revokeOfMemberStatement, [merchantId, userId, now])
}

export interface FoundInvitation extends OpenInvitation {
  usedAt: Date | null
  revokedAt: Date | null
}

const findInvitationStatement = sql<FoundInvitation>`
select ${INVITATION.select('', SHOWN)}, used_at as "usedAt", revoked_at as "revokedAt"
from invitations
where token_hash = $1`

/** Also one that has ended. */
export function findInvitation(db: Tx, tokenHash: Buffer): Promise<FoundInvitation | undefined> {
  return firstRow(db, findInvitationStatement, [tokenHash])
}

const useInvitationStatement = sql<{ id: string }>`
update invitations
set used_at = $2
where token_hash = $1 and used_at is null and revoked_at is null and expires_at > $2
returning id`

/** True once. */
export async function useInvitationRow(tx: Tx, tokenHash: Buffer, now: Date): Promise<boolean> {
  return (await tx.query(useInvitationStatement, [tokenHash, now])).length > 0
}
