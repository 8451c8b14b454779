-- Sums of payments by quarter hour and by hour, so that a report can have the days of any time zone: each offset of a zone is
-- a multiple of a quarter hour. A report moves the hours between midnight in UTC and midnight in the zone to their day.

-- Payments cannot be written while their sums are counted again: less than a minute for a million payments.
lock table payments in share row exclusive mode;

drop view invariant_q03_reports_equal_the_ledger;
drop view invariant_q02_reports_equal_payments;
drop view collection_sums_now;
drop view payment_sums;
drop table collection_deltas;
drop table collection_sums;

-- A payment counts at the time at which it was paid, or at which it was created while it is not paid.
create table collection_deltas (
  merchant_id uuid not null,
  -- The start of a quarter hour.
  starts_at timestamptz not null,
  id bigint generated always as identity,
  currency text not null,
  gateway text not null,
  -- Empty: no attempt yet.
  channel text not null,
  status text not null,
  payments bigint not null,
  paid_payments bigint not null,
  -- Paid payments with an unknown fee.
  unknown_fees bigint not null,
  amount_minor bigint not null,
  paid_minor bigint not null,
  fee_minor bigint not null,
  refunded_minor bigint not null,
  -- One index for the fold and for the reports. The fold reads the differences of a merchant together.
  primary key (merchant_id, starts_at, id)
);

-- Each payment is in six rows. In those of its hour and its day with the currency alone (hour_total, day_total) the other
-- columns are empty. Days and months are in UTC. A report over a year reads a few thousand rows.
create table collection_sums (
  merchant_id uuid not null,
  grain text not null check (grain in ('quarter_hour', 'hour', 'hour_total', 'day', 'day_total', 'month')),
  starts_at timestamptz not null,
  currency text not null,
  gateway text not null,
  channel text not null,
  status text not null,
  payments bigint not null,
  paid_payments bigint not null,
  unknown_fees bigint not null,
  amount_minor bigint not null,
  paid_minor bigint not null,
  fee_minor bigint not null,
  refunded_minor bigint not null,
  primary key (merchant_id, grain, starts_at, currency, gateway, channel, status)
);

alter table collection_deltas alter column merchant_id set (n_distinct = 10);
alter table collection_sums alter column merchant_id set (n_distinct = 10);

-- The grains, and the unit to which the start of a quarter hour is truncated.
create view collection_grains as
select *
from (
  values
    ('quarter_hour', 'minute', false),
    ('hour', 'hour', false),
    ('hour_total', 'hour', true),
    ('day', 'day', false),
    ('day_total', 'day', true),
    ('month', 'month', false)
) as g (grain, unit, is_total);

-- What the payments of each quarter hour add to the sums; the triggers below have the same expressions.
create view payment_sums as
select
  merchant_id, date_bin('15 minutes', coalesce(paid_at, created_at), '2000-01-01Z') as starts_at, currency, gateway,
  coalesce(channel, '') as channel, status, count(*) as payments, count(amount_paid_minor) as paid_payments,
  count(*) filter (where amount_paid_minor is not null and fee_minor is null) as unknown_fees,
  sum(amount_minor) as amount_minor, coalesce(sum(amount_paid_minor), 0) as paid_minor,
  coalesce(sum(fee_minor), 0) as fee_minor, sum(refunded_minor) as refunded_minor
from payments
group by 1, 2, 3, 4, 5, 6;

create or replace function add_collection_deltas() returns trigger language plpgsql as $$
begin
  insert into collection_deltas (
    merchant_id, starts_at, currency, gateway, channel, status, payments, paid_payments, unknown_fees, amount_minor,
    paid_minor, fee_minor, refunded_minor
  )
  select
    merchant_id, date_bin('15 minutes', coalesce(paid_at, created_at), '2000-01-01Z'), currency, gateway,
    coalesce(channel, ''), status, count(*), count(amount_paid_minor),
    count(*) filter (where amount_paid_minor is not null and fee_minor is null),
    sum(amount_minor), coalesce(sum(amount_paid_minor), 0), coalesce(sum(fee_minor), 0), sum(refunded_minor)
  from added
  group by 1, 2, 3, 4, 5, 6;
  return null;
end
$$;

-- The rows before count negatively. What a change leaves as it was adds up to zero, and is not written.
create or replace function change_collection_deltas() returns trigger language plpgsql as $$
begin
  insert into collection_deltas (
    merchant_id, starts_at, currency, gateway, channel, status, payments, paid_payments, unknown_fees, amount_minor,
    paid_minor, fee_minor, refunded_minor
  )
  select *
  from (
    select
      merchant_id, date_bin('15 minutes', coalesce(paid_at, created_at), '2000-01-01Z'), currency, gateway,
      coalesce(channel, ''), status, sum(sign) as payments,
      coalesce(sum(sign) filter (where amount_paid_minor is not null), 0) as paid_payments,
      coalesce(sum(sign) filter (where amount_paid_minor is not null and fee_minor is null), 0) as unknown_fees,
      sum(sign * amount_minor) as amount_minor,
      coalesce(sum(sign * amount_paid_minor), 0) as paid_minor,
      coalesce(sum(sign * fee_minor), 0) as fee_minor,
      sum(sign * refunded_minor) as refunded_minor
    from (select -1 as sign, * from before union all select 1, * from after) both_sides
    group by 1, 2, 3, 4, 5, 6
  ) changes
  where (payments, paid_payments, unknown_fees, amount_minor, paid_minor, fee_minor, refunded_minor) <> (0, 0, 0, 0, 0, 0, 0);
  return null;
end
$$;

insert into collection_sums
select
  q.merchant_id, g.grain, date_trunc(g.unit, q.starts_at, 'UTC'), q.currency,
  case when g.is_total then '' else q.gateway end, case when g.is_total then '' else q.channel end,
  case when g.is_total then '' else q.status end, sum(q.payments), sum(q.paid_payments), sum(q.unknown_fees),
  sum(q.amount_minor), sum(q.paid_minor), sum(q.fee_minor), sum(q.refunded_minor)
from payment_sums q
cross join collection_grains g
group by 1, 2, 3, 4, 5, 6, 7;

-- The sums with the differences that are not folded yet.
create view collection_sums_now as
select * from collection_sums
union all
select
  d.merchant_id, g.grain, date_trunc(g.unit, d.starts_at, 'UTC'), d.currency,
  case when g.is_total then '' else d.gateway end, case when g.is_total then '' else d.channel end,
  case when g.is_total then '' else d.status end,
  d.payments, d.paid_payments, d.unknown_fees, d.amount_minor, d.paid_minor, d.fee_minor, d.refunded_minor
from collection_deltas d
cross join collection_grains g;

create view invariant_q02_reports_equal_payments as
select merchant_id, grain, starts_at, currency, gateway, channel, status
from (
  select s.*, 1 as sign
  from collection_sums_now s
  union all
  select
    p.merchant_id, g.grain, date_trunc(g.unit, p.starts_at, 'UTC'), p.currency,
    case when g.is_total then '' else p.gateway end, case when g.is_total then '' else p.channel end,
    case when g.is_total then '' else p.status end,
    p.payments, p.paid_payments, p.unknown_fees, p.amount_minor, p.paid_minor, p.fee_minor, p.refunded_minor, -1
  from payment_sums p
  cross join collection_grains g
) both_sides
group by merchant_id, grain, starts_at, currency, gateway, channel, status
having sum(sign * payments) <> 0
  or sum(sign * paid_payments) <> 0
  or sum(sign * unknown_fees) <> 0
  or sum(sign * amount_minor) <> 0
  or sum(sign * paid_minor) <> 0
  or sum(sign * fee_minor) <> 0
  or sum(sign * refunded_minor) <> 0;

create view invariant_q03_reports_equal_the_ledger as
select coalesce(r.merchant_id, l.merchant_id) as merchant_id, coalesce(r.currency, l.currency) as currency
from (
  select
    merchant_id, currency, sum(paid_minor) as paid_minor, sum(fee_minor) as fee_minor, sum(refunded_minor) as refunded_minor
  from collection_sums_now
  where grain = 'month'
  group by merchant_id, currency
) r
full join (
  select
    p.merchant_id, p.currency,
    -- Money of another amount was held as unmatched until the merchant accepted it.
    -sum(p.amount_minor) filter (
      where e.kind = 'capture' and (p.account like 'gateway:%' or p.account = 'unmatched')
    ) as paid_minor,
    sum(p.amount_minor) filter (where e.kind = 'capture' and p.account = 'fees') as fee_minor,
    -- What held money gives back was never the merchant's, and adds up to zero.
    sum(p.amount_minor) filter (
      where e.kind <> 'capture' and (p.account like 'gateway:%' or p.account in ('unmatched', 'duplicates'))
    ) as refunded_minor
  from ledger_entries e
  join postings p on p.merchant_id = e.merchant_id and p.entry_id = e.id
  where e.kind in ('capture', 'refund', 'refund_reversal')
  group by p.merchant_id, p.currency
) l on l.merchant_id = r.merchant_id and l.currency = r.currency
where coalesce(r.paid_minor, 0) <> coalesce(l.paid_minor, 0)
  or coalesce(r.fee_minor, 0) <> coalesce(l.fee_minor, 0)
  or coalesce(r.refunded_minor, 0) <> coalesce(l.refunded_minor, 0);

analyze collection_deltas, collection_sums;

select apply_row_level_security();
