// The statements over all users, for operators.

import { COUNT_CAP } from '../../core/page.ts'
import { type Statement, sql, type Tx } from '../../kit/db/db.ts'
import { firstRow } from '../../kit/db/rows.ts'
import type { UserKind } from '../user-queries.ts'

export interface ManagedUser {
  id: string
  email: string
  name: string
  kind: UserKind
  hasSecondFactor: boolean
  merchants: string[]
  createdAt: Date
  disabledAt: Date | null
}

const COLUMNS = `u.id, u.email, u.name, u.kind, u.totp_sealed is not null as "hasSecondFactor",
  array(select m.merchant_id::text from memberships m where m.user_id = u.id order by m.created_at) as merchants,
  u.created_at as "createdAt", u.disabled_at as "disabledAt"`

interface UserList {
  page: Statement<ManagedUser>
  count: Statement<{ total: number }>
}

// A statement for each filter, because one for all of them could use no index. The values of the filter come first.
function buildPageStatement(filter: string, values: number): Statement<ManagedUser> {
  // Ids are UUIDv7, so they sort by creation time.
  return sql<ManagedUser>`
select ${COLUMNS}
from users u
where ${filter}
order by u.id desc
limit $${String(values + 1)}
offset $${String(values + 2)}`
}

function buildCountStatement(filter: string): Statement<{ total: number }> {
  return sql<{ total: number }>`
select count(*)::integer as total
from (
  select
  from users u
  where ${filter}
  limit ${String(COUNT_CAP + 1)}
) counted`
}

const KIND = 'u.kind = $1'
const EMAIL = 'u.email = $1'
const KIND_AND_EMAIL = 'u.kind = $1 and u.email = $2'
const ALL: UserList = { page: buildPageStatement('true', 0), count: buildCountStatement('true') }
const OF_KIND: UserList = { page: buildPageStatement(KIND, 1), count: buildCountStatement(KIND) }
const OF_EMAIL: UserList = { page: buildPageStatement(EMAIL, 1), count: buildCountStatement(EMAIL) }
const OF_KIND_AND_EMAIL: UserList = {
  page: buildPageStatement(KIND_AND_EMAIL, 2),
  count: buildCountStatement(KIND_AND_EMAIL),
}

export interface UserFilter {
  kind: UserKind | null
  email: string | null
}

export async function listManagedUsers(
  db: Tx,
  { kind, email }: UserFilter,
  limit: number,
  offset: number,
): Promise<{ users: ManagedUser[]; total: number }> {
  const { page, count } = listFor(kind, email)
  const values = [kind, email].filter((value) => value !== null)
  const [users, counted] = await Promise.all([
    db.query(page, [...values, limit, offset]),
    firstRow(db, count, values),
  ])
  return { users, total: counted?.total ?? 0 }
}

function listFor(kind: UserKind | null, email: string | null): UserList {
  if (kind === null) return email === null ? ALL : OF_EMAIL
  return email === null ? OF_KIND : OF_KIND_AND_EMAIL
}

const findStatement = sql<ManagedUser>`
select ${COLUMNS}
from users u
where u.id = $1`

export function findManagedUser(db: Tx, id: string): Promise<ManagedUser | undefined> {
  return firstRow(db, findStatement, [id])
}

const enableStatement = sql<unknown>`
update users
set disabled_at = null
where id = $1`

export async function enableUserRow(tx: Tx, id: string): Promise<void> {
  await tx.query(enableStatement, [id])
}
