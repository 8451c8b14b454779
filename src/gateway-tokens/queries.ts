// Every statement over gateway_tokens. The times are those of the database, so that processes with different clocks agree.

import { type Db, sql } from '../kit/db/db.ts'
import { firstRow } from '../kit/db/rows.ts'
import type { TokenRow } from './plan.ts'

/** Which row, and who writes it. */
export interface TokenKey {
  id: string
  gateway: string
  accountId: string | null
}

const selectToken = sql<TokenRow & { now: Date }>`
select
  clock_timestamp() as now, coalesce(t.version, 0) as version, t.sealed, t.granted_with as "grantedWith",
  t.granted_at as "grantedAt", t.renew_at as "renewAt", t.expires_at as "expiresAt", t.leased_until as "leasedUntil",
  coalesce(t.grants, '{}') as grants, t.failure, t.failed_with as "failedWith",
  coalesce(t.is_refused, false) as "isRefused", t.retry_at as "retryAt"
from (select $1::uuid as id) as wanted
left join gateway_tokens t on t.id = wanted.id`

/** The row, and the time of the database. Version 0: there is none yet. */
export async function readToken(db: Db, id: string): Promise<{ row: TokenRow; now: Date }> {
  const found = await firstRow(db, selectToken, [id])
  if (!found) throw new Error('the statement always returns a row')
  const { now, ...row } = found
  return { row, now }
}

const writeTokenStatement = sql<{ version: bigint }>`
insert into gateway_tokens as t (
  id, gateway, account_id, version, sealed, granted_with, granted_at, renew_at, expires_at, leased_until, grants, failure,
  failed_with, is_refused, retry_at, purge_at
)
values ($1, $2, $3, $4::bigint + 1, $5, $6, $7, $8, $9, $10, $11::timestamptz[], $12, $13, $14, $15, $16)
on conflict (id) do update
set
  gateway = excluded.gateway,
  account_id = excluded.account_id,
  version = excluded.version,
  sealed = excluded.sealed,
  granted_with = excluded.granted_with,
  granted_at = excluded.granted_at,
  renew_at = excluded.renew_at,
  expires_at = excluded.expires_at,
  leased_until = excluded.leased_until,
  grants = excluded.grants,
  failure = excluded.failure,
  failed_with = excluded.failed_with,
  is_refused = excluded.is_refused,
  retry_at = excluded.retry_at,
  purge_at = excluded.purge_at
where t.version = $4::bigint
returning t.version`

/** Writes the row if it still has this version, and returns the new one; undefined if another process was first. */
export async function writeToken(
  db: Db,
  { id, gateway, accountId }: TokenKey,
  row: TokenRow,
  purgeAt: Date,
): Promise<bigint | undefined> {
  const { version, sealed, grantedWith, grantedAt, renewAt, expiresAt, leasedUntil, grants } = row
  const { failure, failedWith, isRefused, retryAt } = row
  const token = [sealed, grantedWith, grantedAt, renewAt, expiresAt, leasedUntil, grants]
  const values = [id, gateway, accountId, version, ...token, failure, failedWith, isRefused, retryAt, purgeAt]
  return (await firstRow(db, writeTokenStatement, values))?.version
}

const clearTokensStatement = sql<unknown>`
update gateway_tokens
set sealed = null, granted_with = null, version = version + 1
where account_id = $1`

export function clearTokensOf(db: Db, accountId: string): Promise<unknown> {
  return db.query(clearTokensStatement, [accountId])
}

// A process that claims a row at its end may be about to write it, so an hour passes first.
const purgeTokensStatement = sql<{ id: string }>`
delete from gateway_tokens
where id in (
  select id
  from gateway_tokens
  where purge_at < now() - interval '1 hour'
  order by purge_at
  limit 1000
)
  and purge_at < now() - interval '1 hour'
returning id`

export async function purgeTokens(db: Db): Promise<number> {
  return (await db.query(purgeTokensStatement)).length
}
