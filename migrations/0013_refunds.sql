-- Refunds: money back to the payer, never more than was paid, and taken from the merchant exactly once.

-- The refund that an entry is about; each is booked once.
alter table ledger_entries add column refund_id uuid;
create unique index one_entry_per_refund on ledger_entries (merchant_id, refund_id) where refund_id is not null;

-- What is taken from pending is taken from the settlements that come last.
create index pending_settlements_by_merchant on pending_settlements (merchant_id, currency, due_at);

-- Nothing becomes available that is not pending, and nothing pending is forgotten.
create view invariant_i03_settlements_follow_pending as
with booked as (
  select merchant_id, currency, sum(amount_minor) as amount_minor
  from postings
  where account = 'pending'
  group by merchant_id, currency
),
expected as (
  select merchant_id, currency, sum(amount_minor) as amount_minor
  from pending_settlements
  group by merchant_id, currency
)
select merchant_id, currency, booked.amount_minor as booked_minor, expected.amount_minor as expected_minor
from booked
full join expected using (merchant_id, currency)
where coalesce(booked.amount_minor, 0) <> coalesce(expected.amount_minor, 0);
