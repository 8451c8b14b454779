// Every statement over receiving accounts.

import type { Currency } from '../core/currency.ts'
import { COUNT_CAP } from '../core/page.ts'
import { type Db, sql, type Tx } from '../kit/db.ts'
import type { ListWindow } from '../kit/pagination.ts'

export type AccountChannel = 'bank_transfer' | 'mobile_money'

/** Where money is sent to. */
export interface Destination {
  accountName: string
  accountNumber: string | null
  bankName: string | null
  /** The code of a network of core/networks.ts. */
  network: string | null
  /** E.164. */
  phoneNumber: string | null
}

export interface AccountRow extends Destination {
  merchantId: string
  id: string
  channel: AccountChannel
  currency: Currency
  /** Null: any country that uses the currency. */
  country: string | null
  isActive: boolean
  createdAt: Date
  updatedAt: Date
}

const ACCOUNT_COLUMNS = `
  merchant_id as "merchantId", id, channel, currency, country, account_name as "accountName",
  account_number as "accountNumber", bank_name as "bankName", network, phone_number as "phoneNumber",
  is_active as "isActive", created_at as "createdAt", updated_at as "updatedAt"`

const insertAccountStatement = sql<unknown>`
insert into p2p_accounts (
  merchant_id, id, channel, currency, country, account_name, account_number, bank_name, network, phone_number,
  is_active, created_at, updated_at
)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12)`

export async function insertAccount(tx: Tx, account: AccountRow): Promise<void> {
  await tx.query(insertAccountStatement, [
    account.merchantId,
    account.id,
    account.channel,
    account.currency,
    account.country,
    account.accountName,
    account.accountNumber,
    account.bankName,
    account.network,
    account.phoneNumber,
    account.isActive,
    account.createdAt,
  ])
}

const updateAccountStatement = sql<unknown>`
update p2p_accounts
set
  account_name = $3,
  account_number = $4,
  bank_name = $5,
  network = $6,
  phone_number = $7,
  is_active = $8,
  updated_at = $9
where merchant_id = $1 and id = $2`

export async function updateAccount(tx: Tx, account: AccountRow): Promise<void> {
  await tx.query(updateAccountStatement, [
    account.merchantId,
    account.id,
    account.accountName,
    account.accountNumber,
    account.bankName,
    account.network,
    account.phoneNumber,
    account.isActive,
    account.updatedAt,
  ])
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
  const [row] = await db.query(deleteAccountStatement, [merchantId, id])
  return row
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
  const [row] = await db.query(selectAccount, [merchantId, id])
  return row
}

const lockAccountStatement = sql<AccountRow>`
select ${ACCOUNT_COLUMNS}
from p2p_accounts
where merchant_id = $1 and id = $2
for update`

export async function lockAccount(tx: Tx, merchantId: string, id: string): Promise<AccountRow | undefined> {
  const [row] = await tx.query(lockAccountStatement, [merchantId, id])
  return row
}

// An account of the very country goes before one for all of them, the older before the newer. It is held until the
// transfer that names it is written: whoever deletes it at this moment goes first, or waits.
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

/** The account that takes money of this kind. */
export async function findMatchingAccount(
  tx: Tx,
  merchantId: string,
  channel: AccountChannel,
  currency: Currency,
  country: string | null,
): Promise<AccountRow | undefined> {
  const [row] = await tx.query(selectMatchingAccount, [merchantId, channel, currency, country])
  return row
}

export interface RailRow {
  merchantId: string
  channel: AccountChannel
  currency: Currency
  country: string | null
}

// From the array itself the planner would see how many there are, and plan anew for every batch.
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

/** What each merchant can be sent, by the age of its accounts. */
export async function listRails(db: Db, merchantIds: readonly string[]): Promise<RailRow[][]> {
  const rows = await db.query(selectRails, [[...new Set(merchantIds)]])
  const byMerchant = Map.groupBy(rows, ({ merchantId }) => merchantId)
  return merchantIds.map((merchantId) => byMerchant.get(merchantId) ?? [])
}

export interface AccountFilter {
  currency: string | null
  channel: string | null
  createdFrom: Date | null
  createdTo: Date | null
}

const FILTER = `
  merchant_id = $1
  and ($2::text is null or currency = $2)
  and ($3::text is null or channel = $3)
  and ($4::timestamptz is null or created_at >= $4)
  and ($5::timestamptz is null or created_at <= $5)`

const filterValues = ({ currency, channel, createdFrom, createdTo }: AccountFilter) => [
  currency,
  channel,
  createdFrom,
  createdTo,
]

const countAccountsStatement = sql<{ total: number }>`
select count(*)::integer as total
from (
  select 1
  from p2p_accounts
  where ${FILTER}
  limit ${String(COUNT_CAP + 1)}
) counted`

/** At most one more than the cap, which is how the caller knows that there are more. */
export async function countAccounts(db: Db, merchantId: string, filter: AccountFilter): Promise<number> {
  const [row] = await db.query(countAccountsStatement, [merchantId, ...filterValues(filter)])
  return row?.total ?? 0
}

const selectNewestAccounts = sql<AccountRow>`
select ${ACCOUNT_COLUMNS}
from p2p_accounts
where ${FILTER}
  and ($6::timestamptz is null or (created_at, id) < ($6, $7::uuid))
order by created_at desc, id desc
limit $8
offset $9`

const selectOldestAccounts = sql<AccountRow>`
select ${ACCOUNT_COLUMNS}
from p2p_accounts
where ${FILTER}
  and ($6::timestamptz is null or (created_at, id) > ($6, $7::uuid))
order by created_at, id
limit $8
offset $9`

/** One more than the page has, which is how the caller knows that there is a next one. */
export async function listAccountRows(
  db: Db,
  merchantId: string,
  filter: AccountFilter,
  window: ListWindow,
): Promise<AccountRow[]> {
  const statement = window.order === 'desc' ? selectNewestAccounts : selectOldestAccounts
  const after = [window.after?.at ?? null, window.after?.id ?? null]
  const page = [window.limit + 1, window.offset]
  return db.query(statement, [merchantId, ...filterValues(filter), ...after, ...page])
}
