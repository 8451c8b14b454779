// The statements over all users, for operators.

import { COUNT_CAP } from '../../core/page.ts'
import { sql, type Tx } from '../../kit/db/db.ts'
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

const FILTER = '($1::text is null or u.kind = $1) and ($2::text is null or u.email = $2)'

// Ids are UUIDv7, so they sort by creation time.
const listStatement = sql<ManagedUser>`
select ${COLUMNS}
from users u
where ${FILTER}
order by u.id desc
limit $3
offset $4`

const countStatement = sql<{ total: number }>`
select count(*)::integer as total
from (
  select
  from users u
  where ${FILTER}
  limit ${String(COUNT_CAP + 1)}
) counted`

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
  const [users, counted] = await Promise.all([
    db.query(listStatement, [kind, email, limit, offset]),
    firstRow(db, countStatement, [kind, email]),
  ])
  return { users, total: counted?.total ?? 0 }
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
