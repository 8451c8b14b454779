-- Sums of payments for reports. Every change of a payment appends its difference in the same statement; a background job
-- folds the differences into the sums, and a report adds those that are not folded yet. So a report is exact at any time.

-- A payment counts on the day on which it was paid, or on which it was created while it is not paid. Days are in UTC.
create table collection_deltas (
  id bigint generated always as identity primary key,
  merchant_id uuid not null,
  day date not null,
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
  refunded_minor bigint not null
);

create index collection_deltas_by_merchant on collection_deltas (merchant_id, day);

-- Each payment is in three rows: in those of its day and its month, with all columns, and in that of its day and currency
-- alone (grain day_total, the other columns are empty). So a report over a year reads a few thousand rows.
create table collection_sums (
  merchant_id uuid not null,
  grain text not null check (grain in ('day', 'day_total', 'month')),
  -- The first day of a month.
  day date not null,
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
  primary key (merchant_id, grain, day, currency, gateway, channel, status)
);

alter table collection_deltas alter column merchant_id set (n_distinct = 10);
alter table collection_sums alter column merchant_id set (n_distinct = 10);

-- What each payment adds to the sums; the triggers below have the same expressions.
create view payment_sums as
select
  merchant_id, (coalesce(paid_at, created_at) at time zone 'UTC')::date as day, currency, gateway,
  coalesce(channel, '') as channel, status, 1 as payments, (amount_paid_minor is not null)::integer as paid_payments,
  (amount_paid_minor is not null and fee_minor is null)::integer as unknown_fees, amount_minor,
  coalesce(amount_paid_minor, 0) as paid_minor, coalesce(fee_minor, 0) as fee_minor, refunded_minor
from payments;

create function add_collection_deltas() returns trigger language plpgsql as $$
begin
  insert into collection_deltas (
    merchant_id, day, currency, gateway, channel, status, payments, paid_payments, unknown_fees, amount_minor, paid_minor,
    fee_minor, refunded_minor
  )
  select
    merchant_id, (coalesce(paid_at, created_at) at time zone 'UTC')::date, currency, gateway, coalesce(channel, ''), status,
    count(*), count(amount_paid_minor), count(*) filter (where amount_paid_minor is not null and fee_minor is null),
    sum(amount_minor), coalesce(sum(amount_paid_minor), 0), coalesce(sum(fee_minor), 0), sum(refunded_minor)
  from added
  group by 1, 2, 3, 4, 5, 6;
  return null;
end
$$;

create trigger payments_add_collection_deltas after insert on payments
referencing new table as added
for each statement execute function add_collection_deltas();

-- The rows before count negatively. What a change leaves as it was adds up to zero, and is not written.
create function change_collection_deltas() returns trigger language plpgsql as $$
begin
  insert into collection_deltas (
    merchant_id, day, currency, gateway, channel, status, payments, paid_payments, unknown_fees, amount_minor, paid_minor,
    fee_minor, refunded_minor
  )
  select *
  from (
    select
      merchant_id, (coalesce(paid_at, created_at) at time zone 'UTC')::date, currency, gateway, coalesce(channel, ''), status,
      sum(sign) as payments,
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

create trigger payments_change_collection_deltas after update on payments
referencing old table as before new table as after
for each statement execute function change_collection_deltas();

insert into collection_deltas (
  merchant_id, day, currency, gateway, channel, status, payments, paid_payments, unknown_fees, amount_minor, paid_minor,
  fee_minor, refunded_minor
)
select
  merchant_id, day, currency, gateway, channel, status, sum(payments), sum(paid_payments), sum(unknown_fees),
  sum(amount_minor), sum(paid_minor), sum(fee_minor), sum(refunded_minor)
from payment_sums
group by 1, 2, 3, 4, 5, 6;

-- The sums with the differences that are not folded yet.
create view collection_sums_now as
select merchant_id, grain, day, currency, gateway, channel, status, payments, paid_payments, unknown_fees, amount_minor,
  paid_minor, fee_minor, refunded_minor
from collection_sums
union all
select
  d.merchant_id, g.grain, case when g.grain = 'month' then date_trunc('month', d.day)::date else d.day end, d.currency,
  case when g.grain = 'day_total' then '' else d.gateway end,
  case when g.grain = 'day_total' then '' else d.channel end,
  case when g.grain = 'day_total' then '' else d.status end,
  d.payments, d.paid_payments, d.unknown_fees, d.amount_minor, d.paid_minor, d.fee_minor, d.refunded_minor
from collection_deltas d
cross join (values ('day'), ('day_total'), ('month')) as g (grain);

create view invariant_q02_reports_equal_payments as
select merchant_id, grain, day, currency, gateway, channel, status
from (
  select s.*, 1 as sign
  from collection_sums_now s
  union all
  select
    p.merchant_id, g.grain, case when g.grain = 'month' then date_trunc('month', p.day)::date else p.day end, p.currency,
    case when g.grain = 'day_total' then '' else p.gateway end,
    case when g.grain = 'day_total' then '' else p.channel end,
    case when g.grain = 'day_total' then '' else p.status end,
    p.payments, p.paid_payments, p.unknown_fees, p.amount_minor, p.paid_minor, p.fee_minor, p.refunded_minor, -1
  from payment_sums p
  cross join (values ('day'), ('day_total'), ('month')) as g (grain)
) both_sides
group by merchant_id, grain, day, currency, gateway, channel, status
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
  select merchant_id, currency, sum(paid_minor) as paid_minor, sum(fee_minor) as fee_minor
  from collection_sums_now
  where grain = 'month'
  group by merchant_id, currency
) r
full join (
  select
    p.merchant_id, p.currency,
    -- Money of another amount was held as unmatched until the merchant accepted it.
    -sum(p.amount_minor) filter (where p.account like 'gateway:%' or p.account = 'unmatched') as paid_minor,
    coalesce(sum(p.amount_minor) filter (where p.account = 'fees'), 0) as fee_minor
  from ledger_entries e
  join postings p on p.merchant_id = e.merchant_id and p.entry_id = e.id
  where e.kind = 'capture'
  group by p.merchant_id, p.currency
) l on l.merchant_id = r.merchant_id and l.currency = r.currency
where coalesce(r.paid_minor, 0) <> coalesce(l.paid_minor, 0) or coalesce(r.fee_minor, 0) <> coalesce(l.fee_minor, 0);

analyze collection_deltas, collection_sums;

select apply_row_level_security();
