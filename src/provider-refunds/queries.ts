// The statements that schedule and claim lookups at providers: of the refunds of one attempt, and of the refunds and
// disputes of a whole account.

import { worksHere } from '../kit/cells/moving-queries.ts'
import { type Db, sql } from '../kit/db/db.ts'

/** An attempt by its names at the gateway. Only the gateway knows them, so no tenant is checked. */
export interface NamedAttempts {
  gateway: string
  accountId: string | null
  /** Our keys, the provider's references or receipt numbers. */
  names: readonly string[]
}

// Each name has an index of its own.
const scheduleLookupsStatement = sql<{ id: string }>`
with named as (
  select merchant_id, id from attempts where gateway_key = any ($3::text[])
  union
  select merchant_id, id from attempts where gateway = $1 and gateway_reference = any ($3::text[])
  union
  select merchant_id, id from attempts where receipt_number = any ($3::text[])
)
update attempts a
set refund_lookup_due_at = $4
from named n
where a.merchant_id = n.merchant_id
  and a.id = n.id
  and a.gateway = $1
  and a.account_id is not distinct from $2
  and a.status in ('succeeded', 'duplicate_success')
  and (a.refund_lookup_due_at is null or a.refund_lookup_due_at > $4)
  and ${worksHere('a')}
returning a.id`

/** Makes the paid ones of these attempts due for a lookup of their refunds. */
export async function scheduleLookups(db: Db, attempts: NamedAttempts, at: Date): Promise<void> {
  const { gateway, accountId, names } = attempts
  await db.query(scheduleLookupsStatement, [gateway, accountId, names, at])
}

// Lateral, with an offset: the planner then reads payments and attempts by their indexes, however many it expects. The
// gateway is in the index of payments, which leaves out those by other gateways.
const schedulePaidStatement = sql<unknown>`
update attempts a
set refund_lookup_due_at = $5
where a.gateway_key = any (
    array(
      select paid.gateway_key
      from unnest($6::uuid[]) as merchant (id)
      cross join unnest($3::timestamptz[], $4::timestamptz[]) as period (paid_after, paid_until)
      cross join lateral (
        select merchant_id, id
        from payments
        where merchant_id = merchant.id
          and gateway = $1
          and paid_at > period.paid_after
          and paid_at <= period.paid_until
        offset 0
      ) p
      cross join lateral (
        select gateway_key
        from attempts
        where merchant_id = p.merchant_id and payment_id = p.id
        offset 0
      ) paid
    )
  )
  and a.gateway = $1
  and a.account_id is not distinct from $2
  and a.status in ('succeeded', 'duplicate_success')
  and (a.refund_lookup_due_at is null or a.refund_lookup_due_at > $5)
  and ${worksHere('a')}`

// Each costs some microseconds for each period.
const MERCHANTS_AT_ONCE = 1_000

const selectMerchantIds = sql<{ id: string }>`
select id
from merchants
where id > $1
order by id
limit ${String(MERCHANTS_AT_ONCE)}`

const FIRST_ID = '00000000-0000-0000-0000-000000000000'

async function* readMerchantIds(db: Db): AsyncGenerator<string[]> {
  let after: string | undefined = FIRST_ID
  while (after !== undefined) {
    const ids: string[] = (await db.query(selectMerchantIds, [after])).map(({ id }) => id)
    if (ids.length > 0) yield ids
    after = ids.at(-1)
  }
}

/**
 * Makes the attempts of the payments that were paid in these periods due for a lookup of their refunds. `merchantId`:
 * the owner of the account; null if it is one of the instance, with which any merchant may have collected.
 */
export async function schedulePaid(
  db: Db,
  {
    gateway,
    accountId,
    merchantId,
  }: Pick<NamedAttempts, 'gateway' | 'accountId'> & { merchantId: string | null },
  periods: readonly { from: Date; to: Date }[],
  at: Date,
): Promise<void> {
  const [from, to] = [periods.map((one) => one.from), periods.map((one) => one.to)]
  const pages = merchantId === null ? readMerchantIds(db) : [[merchantId]]
  for await (const merchantIds of pages)
    await db.query(schedulePaidStatement, [gateway, accountId, from, to, at, merchantIds])
}

// A dispute that is recorded with the same status is not asked about again. One with an unknown status is asked about by
// the resolver, ever more rarely.
const wakeDisputedStatement = sql<unknown>`
with listed as (
  select name, reference, status
  from unnest($3::text[], $4::text[], $5::text[]) as listed (name, reference, status)
),
named as (
  select a.merchant_id, a.id, l.reference, l.status
  from listed l
  join attempts a on a.gateway_key = l.name
  union
  select a.merchant_id, a.id, l.reference, l.status
  from listed l
  join attempts a on a.gateway = $1 and a.gateway_reference = l.name
  union
  select a.merchant_id, a.id, l.reference, l.status
  from listed l
  join attempts a on a.receipt_number = l.name
)
update attempts a
set due_at = $6, polls = 0
from named n
where a.merchant_id = n.merchant_id
  and a.id = n.id
  and a.gateway = $1
  and a.account_id is not distinct from $2
  and a.status in ('succeeded', 'duplicate_success')
  and (a.due_at is null or (a.due_at > $6 and n.status <> 'unrecognized'))
  and ${worksHere('a')}
  and not exists (
    select
    from disputes d
    where d.merchant_id = a.merchant_id
      and d.payment_id = a.payment_id
      and d.gateway_reference = n.reference
      and d.status = n.status
  )`

/** Makes the resolver ask about the paid attempts of these disputes. */
export async function wakeDisputed(
  db: Db,
  { gateway, accountId }: Pick<NamedAttempts, 'gateway' | 'accountId'>,
  disputes: readonly { name: string; reference: string; status: string }[],
  at: Date,
): Promise<void> {
  await db.query(wakeDisputedStatement, [
    gateway,
    accountId,
    disputes.map(({ name }) => name),
    disputes.map(({ reference }) => reference),
    disputes.map(({ status }) => status),
    at,
  ])
}

export interface ClaimedLookup {
  merchantId: string
  paymentId: string
  id: string
  gateway: string
}

const claimLookupsStatement = sql<ClaimedLookup>`
with due as (
  select merchant_id, id
  from attempts
  where refund_lookup_due_at <= $1
  order by refund_lookup_due_at
  limit $3
  for update skip locked
)
update attempts a
set refund_lookup_due_at = $2
from due d
where a.merchant_id = d.merchant_id and a.id = d.id
returning a.merchant_id as "merchantId", a.payment_id as "paymentId", a.id, a.gateway`

/** Due lookups, leased until `leaseUntil`. */
export async function claimLookups(
  db: Db,
  now: Date,
  leaseUntil: Date,
  limit: number,
): Promise<ClaimedLookup[]> {
  return db.query(claimLookupsStatement, [now, leaseUntil, limit])
}

const finishLookupStatement = sql<unknown>`
update attempts
set refund_lookup_due_at = $4
where merchant_id = $1 and id = $2 and refund_lookup_due_at = $3`

/** Ends a lookup, or schedules the next one. If a webhook has made the attempt due since the claim, its time stays. */
export async function finishLookup(
  db: Db,
  { merchantId, id }: Pick<ClaimedLookup, 'merchantId' | 'id'>,
  leasedUntil: Date,
  dueAt: Date | null,
): Promise<void> {
  await db.query(finishLookupStatement, [merchantId, id, leasedUntil, dueAt])
}

const addAccountsStatement = sql<unknown>`
insert into refund_lookups (account, looked_until, due_at)
select account, $2, $3
from unnest($1::text[]) as account
on conflict (account) do nothing`

export async function addAccounts(
  db: Db,
  accounts: readonly string[],
  lookedUntil: Date,
  dueAt: Date,
): Promise<void> {
  await db.query(addAccountsStatement, [accounts, lookedUntil, dueAt])
}

export interface DueAccount {
  account: string
  lookedUntil: Date
  disputesLookedUntil: Date
}

const claimAccountsStatement = sql<DueAccount>`
with due as (
  select account
  from refund_lookups
  where due_at <= $1
  order by due_at
  limit $3
  for update skip locked
)
update refund_lookups l
set due_at = $2
from due d
where l.account = d.account
returning
  l.account, l.looked_until as "lookedUntil",
  coalesce(l.disputes_looked_until, l.looked_until) as "disputesLookedUntil"`

export async function claimAccounts(db: Db, now: Date, nextAt: Date, limit: number): Promise<DueAccount[]> {
  return db.query(claimAccountsStatement, [now, nextAt, limit])
}

// Until its disputes are looked through for the first time, they begin where its refunds began.
const advanceAccountStatement = sql<unknown>`
update refund_lookups
set
  looked_until = greatest(looked_until, $2),
  disputes_looked_until = greatest(coalesce(disputes_looked_until, looked_until), $3)
where account = $1`

/** How far the account is looked through now; null: no further than before. */
export async function advanceAccount(
  db: Db,
  account: string,
  { refundsUntil, disputesUntil }: { refundsUntil: Date | null; disputesUntil: Date | null },
): Promise<void> {
  await db.query(advanceAccountStatement, [account, refundsUntil, disputesUntil])
}
