-- Refunds: money back to the payer, never more than was paid, and taken from the merchant exactly once.

-- The refund that an entry is about; each is booked once.
alter table ledger_entries add column refund_id uuid;
create unique index one_entry_per_refund on ledger_entries (merchant_id, refund_id) where refund_id is not null;

-- What is taken from pending is taken from the settlements that come last.
create index pending_settlements_by_merchant on pending_settlements (merchant_id, currency, due_at);

-- Nothing becomes available that is not pending, and nothing pending is forgotten.
create view invariant_i03_settlements_match_pending as
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

-- What pending refunds have set aside. Paid, refunded and set aside are held against each other in one row, so that
-- refunds together never exceed what was paid, however many are asked for at once.
alter table payments
add column refund_reserved_minor bigint not null default 0 check (refund_reserved_minor >= 0),
add constraint refunds_within_paid
check (refunded_minor + refund_reserved_minor <= coalesce(amount_paid_minor, 0));

-- Money that came twice goes back by itself: when the background looks at it next, and how much has gone back.
alter table attempts
add column refund_due_at timestamptz,
add column refunded_minor bigint not null default 0 check (refunded_minor >= 0);

update attempts
set refund_due_at = now()
where status = 'duplicate_success';

create index attempts_refund_due on attempts (refund_due_at) where refund_due_at is not null;

create table refunds (
  merchant_id uuid not null,
  id uuid not null,
  payment_id uuid not null,
  payment_reference text not null,
  -- The attempt that was paid: money goes back the way it came. Webhooks about refunds name its key.
  attempt_id uuid not null,
  attempt_key text not null,
  attempt_reference text not null,
  gateway text not null,
  account_id uuid,
  status text not null check (status in ('pending', 'successful', 'failed')),
  status_reason text,
  -- Grows by one with every move, and each has its event.
  version integer not null check (version >= 1),
  amount_minor bigint not null check (amount_minor > 0),
  currency text not null,
  is_full boolean not null,
  -- Nobody asked for it: it gives back what a payment collected twice.
  is_duplicate boolean not null default false,
  reason text,
  metadata jsonb not null default '{}',
  -- The key at the gateway, on disk before the first call and the same for every try.
  gateway_key text not null unique,
  gateway_reference text,
  failure_message text,
  -- When a call may have left us for the first time. Null: provably nothing was sent.
  submitted_at timestamptz,
  -- It is with a gateway that takes one refund of a payment at a time, and is not known there yet.
  is_blocking boolean not null default false,
  due_at timestamptz,
  polls integer not null default 0,
  -- Grows with every claim: a writer that was away meanwhile cannot speak for the refund any more.
  fence integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (merchant_id, id),
  foreign key (merchant_id, payment_id) references payments (merchant_id, id),
  foreign key (merchant_id, attempt_id) references attempts (merchant_id, id),
  -- Nothing that is open is forgotten. What was given is asked about again when the gateway rings: it may come back.
  check (status <> 'pending' or due_at is not null),
  check (status <> 'failed' or due_at is null),
  check (status = 'pending' or not is_blocking),
  check ((status = 'failed') = (failure_message is not null)),
  check (version = case when status = 'pending' then 1 else 2 end)
);

create unique index one_blocking_refund_per_payment on refunds (merchant_id, payment_id) where is_blocking;
create unique index one_refund_per_duplicate on refunds (merchant_id, attempt_id) where is_duplicate;
create index refunds_by_time on refunds (merchant_id, created_at, id);
-- What is rare is found without reading what is not.
create index refunds_by_state on refunds (merchant_id, status, currency, created_at, id);
create index refunds_by_payment on refunds (merchant_id, payment_id, created_at, id);
create index refunds_search on refunds using gin (lower(payment_reference) gin_trgm_ops);
create index refunds_due on refunds (due_at) where due_at is not null;
create index refunds_by_attempt_key on refunds (attempt_key) where status <> 'failed';

-- What only a person can end, until somebody says that it is done. Each is opened once, however often it is seen.
create table cases (
  merchant_id uuid not null,
  id uuid not null,
  kind text not null check (
    kind in (
      'duplicate_not_refundable', 'duplicate_refund_failed', 'duplicate_disputed', 'duplicate_disputed_after_refund', 'refund_failed_late'
    )
  ),
  payment_id uuid not null,
  attempt_id uuid not null,
  refund_id uuid,
  note text,
  opened_at timestamptz not null,
  closed_at timestamptz,
  primary key (merchant_id, id),
  unique nulls not distinct (merchant_id, attempt_id, kind, refund_id),
  foreign key (merchant_id, payment_id) references payments (merchant_id, id),
  foreign key (merchant_id, attempt_id) references attempts (merchant_id, id),
  check (closed_at is null or note is not null)
);

create unique index cases_by_id on cases (id);
create index cases_by_time on cases (opened_at, id);
create index cases_open on cases (opened_at, id) where closed_at is null;

create view invariant_i04_refunds_within_paid as
with given as (
  select
    merchant_id, payment_id,
    coalesce(sum(amount_minor) filter (where status = 'successful'), 0) as refunded_minor,
    coalesce(sum(amount_minor) filter (where status = 'pending'), 0) as reserved_minor
  from refunds
  where not is_duplicate
  group by merchant_id, payment_id
)
select p.merchant_id, p.id as payment_id, 'the payment does not say what its refunds do' as why
from payments p
left join given g on g.merchant_id = p.merchant_id and g.payment_id = p.id
where p.refunded_minor <> coalesce(g.refunded_minor, 0) or p.refund_reserved_minor <> coalesce(g.reserved_minor, 0)
union all
select merchant_id, id, 'the state does not say what was refunded'
from payments
where (status = 'refunded' and refunded_minor <> amount_paid_minor)
  or (status = 'partially_refunded' and (refunded_minor = 0 or refunded_minor = amount_paid_minor))
union all
select a.merchant_id, a.payment_id, 'the attempt does not say what its refund does'
from attempts a
left join refunds r
  on r.merchant_id = a.merchant_id and r.attempt_id = a.id and r.is_duplicate and r.status = 'successful'
where a.refunded_minor <> coalesce(r.amount_minor, 0)
  or (r.id is not null and (a.status <> 'duplicate_success' or r.amount_minor <> a.paid_minor));

create view invariant_i05_refund_has_entry as
select coalesce(r.merchant_id, e.merchant_id) as merchant_id, coalesce(r.id, e.refund_id) as refund_id
from (select * from refunds where status = 'successful') r
full join (
  select e.merchant_id, e.refund_id, e.payment_id, sum(p.amount_minor) as amount_minor
  from ledger_entries e
  join postings p on p.merchant_id = e.merchant_id and p.entry_id = e.id
  where e.kind = 'refund' and p.account like 'gateway:%'
  group by e.merchant_id, e.refund_id, e.payment_id
) e on e.merchant_id = r.merchant_id and e.refund_id = r.id
where r.id is null
  or e.refund_id is null
  or e.payment_id <> r.payment_id
  or e.amount_minor <> r.amount_minor;

create view invariant_i09_one_event_per_refund_move as
select r.merchant_id, r.id as refund_id, count(e.id) as events
from refunds r
left join events e on e.merchant_id = r.merchant_id and e.resource_type = 'refund' and e.resource_id = r.id
group by r.merchant_id, r.id, r.version
having count(e.id) <> r.version or max(e.version) <> r.version
union all
select e.merchant_id, e.resource_id, 0
from events e
left join refunds r on r.merchant_id = e.merchant_id and r.id = e.resource_id
where e.resource_type = 'refund' and r.id is null;

create view invariant_i15_refunds_match_attempt as
select r.merchant_id, r.id as refund_id
from refunds r
join attempts a on a.merchant_id = r.merchant_id and a.id = r.attempt_id
where a.payment_id <> r.payment_id
  or a.gateway_key <> r.attempt_key
  or a.gateway <> r.gateway
  or a.account_id is distinct from r.account_id;
