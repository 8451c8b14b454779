-- The statement of the wallet, line by line with the balances after each, and disputes, in which providers take money back.

-- Which balance follows from which posting is said once more below, for the new shape.
drop view invariant_i03_balances_match_postings;

-- A delta carries what its line on the statement says, so that the fold need look nothing up. What waits to be folded is
-- thrown away here: the lines and balances below are made anew from the postings, which say the same.
delete from balance_deltas;
alter table balance_deltas
add column entry_id uuid not null,
add column position integer not null,
add column kind text not null,
add column payment_id uuid not null;

-- One row per merchant and currency, which the fold holds while it numbers lines.
drop table balances;
create table balances (
  merchant_id uuid not null,
  currency text not null,
  available_minor bigint not null,
  pending_minor bigint not null,
  -- Lines on the statement so far, and the time of the last one; before the latest fold it was previous_at.
  lines bigint not null,
  updated_at timestamptz not null,
  previous_at timestamptz,
  primary key (merchant_id, currency)
);

-- What a merchant reads: each posting to one of its balances, in the order in which they were folded. Times never go back,
-- so that number and time say the same order and a page of any month costs the same. A foreign key to postings would lock,
-- and so write, each of them once more; an invariant says it instead.
create table wallet_lines (
  merchant_id uuid not null,
  currency text not null,
  number bigint not null check (number >= 1),
  kind text not null,
  account text not null check (account in ('available', 'pending')),
  amount_minor bigint not null check (amount_minor <> 0),
  available_minor bigint not null,
  pending_minor bigint not null,
  payment_id uuid not null,
  entry_id uuid not null,
  position integer not null,
  created_at timestamptz not null,
  primary key (merchant_id, currency, number)
);

-- Reads every posting once, under the lock that the dropped table took: minutes for millions, while nobody writes.
insert into wallet_lines (
  merchant_id, currency, number, kind, account, amount_minor, available_minor, pending_minor, payment_id, entry_id,
  position, created_at
)
select
  p.merchant_id, p.currency, row_number() over line, e.kind, p.account, p.amount_minor,
  coalesce(sum(p.amount_minor) filter (where p.account = 'available') over line, 0),
  coalesce(sum(p.amount_minor) filter (where p.account = 'pending') over line, 0),
  e.payment_id, p.entry_id, p.position, e.at
from postings p
join ledger_entries e on e.merchant_id = p.merchant_id and e.id = p.entry_id
where p.account in ('available', 'pending')
window line as (
  partition by p.merchant_id, p.currency
  order by e.at, p.entry_id, p.position
  rows unbounded preceding
);

insert into balances (merchant_id, currency, available_minor, pending_minor, lines, updated_at)
select distinct on (merchant_id, currency)
  merchant_id, currency, available_minor, pending_minor, number, created_at
from wallet_lines
order by merchant_id, currency, number desc;

create index wallet_lines_by_time on wallet_lines (merchant_id, created_at, currency, number);
create index wallet_lines_by_currency on wallet_lines (merchant_id, currency, created_at, number);
create index wallet_lines_by_payment on wallet_lines (merchant_id, payment_id);
-- Captures and settlements are everywhere; the others are few and far between.
create index wallet_lines_by_kind on wallet_lines (merchant_id, kind, created_at, currency, number)
where kind not in ('capture', 'settlement');

-- So that the first pages are planned for what is there.
analyze wallet_lines;
analyze balances;

create trigger wallet_lines_append_only before update or delete or truncate on wallet_lines
for each statement execute function reject_change();

create view invariant_i03_balances_match_postings as
with shown as (
  select merchant_id, currency, account, sum(amount_minor) as amount_minor
  from (
    select merchant_id, currency, 'available' as account, available_minor as amount_minor from balances
    union all
    select merchant_id, currency, 'pending', pending_minor from balances
    union all
    select merchant_id, currency, account, amount_minor from balance_deltas
  ) parts
  group by merchant_id, currency, account
),
booked as (
  select merchant_id, currency, account, sum(amount_minor) as amount_minor
  from postings
  where account in ('available', 'pending')
  group by merchant_id, currency, account
)
select merchant_id, currency, account, shown.amount_minor as shown_minor, booked.amount_minor as booked_minor
from shown
full join booked using (merchant_id, currency, account)
where coalesce(shown.amount_minor, 0) <> coalesce(booked.amount_minor, 0);

-- The statement has a line for every posting to a balance, numbered without gaps, in an order that time confirms; each
-- line's balances are the sums up to it, and the last line's are the balances.
create view invariant_i03_statement_matches_postings as
with summed as (
  select
    merchant_id, currency, number, available_minor, pending_minor,
    row_number() over line as counted,
    coalesce(sum(amount_minor) filter (where account = 'available') over line, 0) as available_sum,
    coalesce(sum(amount_minor) filter (where account = 'pending') over line, 0) as pending_sum,
    created_at < lag(created_at) over line as goes_back
  from wallet_lines
  window line as (partition by merchant_id, currency order by number rows unbounded preceding)
)
select merchant_id, currency, number, 'is not the sum of the lines up to it' as why
from summed
where number <> counted or available_minor <> available_sum or pending_minor <> pending_sum or goes_back
union all
select b.merchant_id, b.currency, b.lines, 'the last line is not the balance'
from balances b
left join wallet_lines l
  on l.merchant_id = b.merchant_id and l.currency = b.currency and l.number = b.lines
where l.available_minor is distinct from b.available_minor
  or l.pending_minor is distinct from b.pending_minor
  or exists (
    select
    from wallet_lines m
    where m.merchant_id = b.merchant_id and m.currency = b.currency and m.number > b.lines
  )
union all
select coalesce(p.merchant_id, s.merchant_id), coalesce(p.currency, s.currency), s.number, 'posting and line differ'
from (
  select p.merchant_id, p.currency, p.entry_id, p.position, p.account, p.amount_minor, e.kind, e.payment_id
  from postings p
  join ledger_entries e on e.merchant_id = p.merchant_id and e.id = p.entry_id
  where p.account in ('available', 'pending')
) p
full join (
  select merchant_id, currency, entry_id, position, account, amount_minor, kind, payment_id, number from wallet_lines
  union all
  select merchant_id, currency, entry_id, position, account, amount_minor, kind, payment_id, null from balance_deltas
) s using (merchant_id, currency, entry_id, position, account, amount_minor, kind, payment_id)
where p.entry_id is null or s.entry_id is null;

-- A dispute takes its amount out of the merchant's balance into an account of its own; won brings it back, lost sends it to
-- the gateway.
alter table ledger_entries drop constraint ledger_entries_kind_check;
alter table ledger_entries add constraint ledger_entries_kind_check check (
  kind in ('capture', 'duplicate_capture', 'settlement', 'refund', 'dispute', 'dispute_won', 'reversal')
);

create table disputes (
  merchant_id uuid not null,
  id uuid not null,
  payment_id uuid not null,
  attempt_id uuid not null,
  -- The gateway's own name of the dispute, by which it is known again in whatever order its news arrives.
  gateway_reference text not null,
  status text not null check (status in ('open', 'won', 'lost')),
  -- What the gateway says that it is about, and how much of that is held while it is open or was taken in the end: no more
  -- than refunds leave.
  claimed_minor bigint not null check (claimed_minor >= 0),
  amount_minor bigint not null check (amount_minor between 0 and claimed_minor),
  currency text not null,
  opened_at timestamptz not null,
  closed_at timestamptz,
  primary key (merchant_id, id),
  unique (merchant_id, payment_id, gateway_reference),
  foreign key (merchant_id, payment_id) references payments (merchant_id, id),
  foreign key (merchant_id, attempt_id) references attempts (merchant_id, id),
  check ((status = 'open') = (closed_at is null)),
  check (status <> 'won' or amount_minor = 0)
);

create unique index one_open_dispute on disputes (merchant_id, payment_id) where status = 'open';

-- A webhook that is about a dispute makes us ask also about an attempt that has succeeded.
alter table gateway_webhooks add column is_dispute boolean not null default false;

-- A payment is disputed while a dispute is open, reversed after one was lost, and the account of disputes holds exactly
-- what the open ones say.
create view invariant_i04_disputes_follow_payments as
select p.merchant_id, p.id as payment_id, p.status, 'the state does not say what its disputes do' as why
from payments p
left join (
  select
    merchant_id, payment_id,
    count(*) filter (where status = 'open') as opened,
    count(*) filter (where status = 'lost') as lost
  from disputes
  group by merchant_id, payment_id
) d on d.merchant_id = p.merchant_id and d.payment_id = p.id
where (p.status = 'disputed') <> (coalesce(d.opened, 0) = 1)
  or (p.status = 'reversed') <> (coalesce(d.lost, 0) > 0)
union all
select
  coalesce(d.merchant_id, b.merchant_id), coalesce(d.payment_id, b.payment_id), null,
  'the books do not hold what the dispute does'
from (select * from disputes where status = 'open' and amount_minor > 0) d
full join (
  select e.merchant_id, e.payment_id, sum(p.amount_minor) as held_minor
  from ledger_entries e
  join postings p on p.merchant_id = e.merchant_id and p.entry_id = e.id
  where p.account = 'disputed'
  group by e.merchant_id, e.payment_id
  having sum(p.amount_minor) <> 0
) b on b.merchant_id = d.merchant_id and b.payment_id = d.payment_id
where d.amount_minor is distinct from b.held_minor
union all
select p.merchant_id, p.id, null, 'more went back than was paid'
from payments p
join (
  select merchant_id, payment_id, sum(amount_minor) as lost_minor
  from disputes
  where status = 'lost'
  group by merchant_id, payment_id
) d on d.merchant_id = p.merchant_id and d.payment_id = p.id
where d.lost_minor + p.refunded_minor > coalesce(p.amount_paid_minor, 0);
