// Every statement over receiving accounts.

import type { Currency } from '../core/currency.ts'
import { type Db, sql, type Tx } from '../kit/db/db.ts'
import { listRows, listStatements } from '../kit/db/list-statements.ts'
import type { CountedRows, ListWindow } from '../kit/db/pagination.ts'
import { firstRow } from '../kit/db/rows.ts'
import { ACCOUNT, type AccountChannel, type AccountRow } from './account.ts'

const ACCOUNT_COLUMNS = ACCOUNT.select()

const insertAccountStatement = sql<unknown>`
insert into p2p_accounts (${ACCOUNT.list()})
values (${ACCOUNT.placeholders()})`

export async function insertAccount(tx: Tx, account: AccountRow): Promise<void> {
  await tx.query(insertAccountStatement, ACCOUNT.values(account))
}

/** Transfers name channel, currency and country of an account, so these never change. */
const CHANGEABLE = [
  'accountName',
  'accountNumber',
  'bankName',
  'network',
  'phoneNumber',
  'isActive',
  'updatedAt',
] as const

const updateAccountStatement = sql<unknown>`
update p2p_accounts
set (${ACCOUNT.list(CHANGEABLE)}) = row (${ACCOUNT.placeholders(CHANGEABLE, 3)})
where merchant_id = $1 and id = $2`

export async function updateAccount(tx: Tx, account: AccountRow): Promise<void> {
  const { merchantId, id } = account
  await tx.query(updateAccountStatement, [merchantId, id, ...ACCOUNT.values(account, CHANGEABLE)])
}

const deleteAccountStatement = sql<AccountRow>`
delete from p2p_accounts
where merchant_id = $1 and id = $2
returning ${ACCOUNT_COLUMNS}`

export async function deleteAccountRow(
  db: Db,
  merchantId: string,
  id: string,
): Promise<AccountRow | undefined> {
  return firstRow(db, deleteAccountStatement, [merchantId, id])
}

const selectAccount = sql<AccountRow>`
select ${ACCOUNT_COLUMNS}
from p2p_accounts
where merchant_id = $1 and id = $2`

export async function findAccountRow(
  db: Db,
  merchantId: string,
  id: string,
): Promise<AccountRow | undefined> {
  return firstRow(db, selectAccount, [merchantId, id])
}

const lockAccountStatement = sql<AccountRow>`
select ${ACCOUNT_COLUMNS}
from p2p_accounts
where merchant_id = $1 and id = $2
for update`

export async function lockAccount(tx: Tx, merchantId: string, id: string): Promise<AccountRow | undefined> {
  return firstRow(tx, lockAccountStatement, [merchantId, id])
}

// An account of the payment's country comes before one for any country, and an older one before a newer one. The key-share
// lock lasts until the transfer that names the account is written, so a concurrent delete waits.
const selectMatchingAccount = sql<AccountRow>`
select ${ACCOUNT_COLUMNS}
from p2p_accounts
where merchant_id = $1
  and is_active
  and channel = $2
  and currency = $3
  and (country is null or country = $4)
order by country is null, created_at, id
limit 1
for key share`

/** The active account for this channel, currency and country. */
export async function findMatchingAccount(
  tx: Tx,
  merchantId: string,
  channel: AccountChannel,
  currency: Currency,
  country: string | null,
): Promise<AccountRow | undefined> {
  return firstRow(tx, selectMatchingAccount, [merchantId, channel, currency, country])
}

export interface RailRow {
  merchantId: string
  channel: AccountChannel
  currency: Currency
  country: string | null
}

// The array is read in subselects. If the planner saw its length, it would make a new plan for every batch size.
const selectRails = sql<RailRow>`
select a.merchant_id as "merchantId", a.channel, a.currency, a.country
from (
  select *
  from unnest((select $1::uuid[])) as u (id)
  limit (select cardinality($1::uuid[]))
) as i
join p2p_accounts a on a.merchant_id = i.id and a.is_active
group by a.merchant_id, a.channel, a.currency, a.country
order by min(a.created_at), a.channel, a.currency, a.country`

/** The rails of each merchant's active accounts, those of the oldest account first. */
export async function listRails(db: Db, merchantIds: readonly string[]): Promise<RailRow[][]> {
  const rows = await db.query(selectRails, [[...new Set(merchantIds)]])
  const byMerchant = Map.groupBy(rows, ({ merchantId }) => merchantId)
  return merchantIds.map((merchantId) => byMerchant.get(merchantId) ?? [])
}

export interface AccountFilter {
  currency: string | null
  channel: string | null
}

const LIST = listStatements<AccountRow>({
  columns: ACCOUNT.select('a'),
  table: 'p2p_accounts',
  alias: 'a',
  filter: '($4::text is null or a.currency = $4) and ($5::text is null or a.channel = $5)',
  filterValues: 2,
})

export function listAccountRows(
  db: Db,
  merchantId: string,
  { currency, channel }: AccountFilter,
  window: ListWindow,
): Promise<CountedRows<AccountRow>> {
  return listRows(db, LIST, merchantId, window, [currency, channel])
}
