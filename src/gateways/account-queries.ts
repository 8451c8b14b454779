// Every statement over merchants' gateway accounts.

import { type Db, sql } from '../kit/db/db.ts'
import { firstRow } from '../kit/db/rows.ts'

export interface AccountRow {
  merchantId: string
  id: string
  gateway: string
  sealed: string
  createdAt: Date
  updatedAt: Date
  revokedAt: Date | null
}

const ACCOUNT_COLUMNS = `
  merchant_id as "merchantId", id, gateway, sealed, created_at as "createdAt", updated_at as "updatedAt",
  revoked_at as "revokedAt"`

// Ids are UUIDv7, so their order is the order of creation.
const selectAccounts = sql<AccountRow>`
select ${ACCOUNT_COLUMNS}
from (
  select *
  from unnest((select $1::uuid[])) as u (owner)
  limit (select cardinality($1::uuid[]))
) as i
join gateway_accounts on merchant_id = i.owner
order by id desc`

/** The accounts of each merchant, including revoked ones, newest first. */
export async function listAccountRows(db: Db, merchantIds: readonly string[]): Promise<AccountRow[][]> {
  const rows = await db.query(selectAccounts, [[...new Set(merchantIds)]])
  const byMerchant = Map.groupBy(rows, ({ merchantId }) => merchantId)
  return merchantIds.map((merchantId) => byMerchant.get(merchantId) ?? [])
}

const selectLiveAccount = sql<AccountRow>`
select ${ACCOUNT_COLUMNS}
from gateway_accounts
where merchant_id = $1 and gateway = $2 and revoked_at is null`

export async function findLiveAccount(
  db: Db,
  merchantId: string,
  gateway: string,
): Promise<AccountRow | undefined> {
  return firstRow(db, selectLiveAccount, [merchantId, gateway])
}

// A loose index scan: one index lookup per name, however many accounts there are.
const selectUsedNames = sql<{ name: string }>`
with recursive used (name) as (
  (
    select gateway
    from gateway_accounts
    where revoked_at is null
    order by gateway
    limit 1
  )
  union all
  select (
    select a.gateway
    from gateway_accounts a
    where a.revoked_at is null and a.gateway > used.name
    order by a.gateway
    limit 1
  )
  from used
  where used.name is not null
)
select name
from used
where name is not null`

/** The names, with their labels, of all live accounts of merchants, each once. */
export async function listUsedNames(db: Db): Promise<string[]> {
  return (await db.query(selectUsedNames, [])).map(({ name }) => name)
}

const insertAccountStatement = sql<AccountRow>`
insert into gateway_accounts (merchant_id, id, gateway, sealed, created_at, updated_at)
values ($1, $2, $3, $4, $5, $5)
on conflict (merchant_id, gateway) where revoked_at is null do nothing
returning ${ACCOUNT_COLUMNS}`

/** Undefined if another request has created a live account for this gateway in the meantime. */
export async function insertAccount(
  db: Db,
  account: Pick<AccountRow, 'merchantId' | 'id' | 'gateway' | 'sealed' | 'createdAt'>,
): Promise<AccountRow | undefined> {
  const { merchantId, id, gateway, sealed, createdAt } = account
  return firstRow(db, insertAccountStatement, [merchantId, id, gateway, sealed, createdAt])
}

const updateAccountStatement = sql<AccountRow>`
update gateway_accounts
set sealed = $3, updated_at = $4
where merchant_id = $1 and id = $2 and revoked_at is null
returning ${ACCOUNT_COLUMNS}`

/** Undefined if the account was revoked in the meantime. */
export async function updateAccount(
  db: Db,
  merchantId: string,
  id: string,
  sealed: string,
  now: Date,
): Promise<AccountRow | undefined> {
  return firstRow(db, updateAccountStatement, [merchantId, id, sealed, now])
}

const revokeAccountStatement = sql<AccountRow>`
update gateway_accounts
set revoked_at = $3, updated_at = $3
where merchant_id = $1 and gateway = $2 and revoked_at is null
returning ${ACCOUNT_COLUMNS}`

export async function revokeLiveAccount(
  db: Db,
  merchantId: string,
  gateway: string,
  now: Date,
): Promise<AccountRow | undefined> {
  return firstRow(db, revokeAccountStatement, [merchantId, gateway, now])
}
