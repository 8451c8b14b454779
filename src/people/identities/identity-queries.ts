// The statements over identities: which account a subject of an identity provider is bound to.

import { sql, type Tx } from '../../kit/db/db.ts'
import { firstRow } from '../../kit/db/rows.ts'

export interface Identity {
  issuer: string
  subject: string
}

const findStatement = sql<{ userId: string }>`
select user_id as "userId"
from identities
where issuer = $1 and subject = $2`

/** Also of a user who is disabled. */
export async function findIdentityUser(db: Tx, { issuer, subject }: Identity): Promise<string | undefined> {
  return (await firstRow(db, findStatement, [issuer, subject]))?.userId
}

const insertStatement = sql<{ userId: string }>`
insert into identities (issuer, subject, user_id, created_at)
values ($1, $2, $3, $4)
on conflict do nothing
returning user_id as "userId"`

/** False if the subject is bound already, or the user to another subject of this provider. */
export async function insertIdentity(
  tx: Tx,
  { issuer, subject }: Identity,
  userId: string,
  now: Date,
): Promise<boolean> {
  return (await tx.query(insertStatement, [issuer, subject, userId, now])).length > 0
}
