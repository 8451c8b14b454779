-- Refunds (never more than was paid, debited exactly once), disputes, and the cases that need a manual review.

create table refunds (
  merchant_id uuid not null,
  id uuid not null,
  payment_id uuid not null,
  payment_reference text not null,
  -- The attempt that was paid: the refund goes to the same account. Webhooks about refunds name its key.
  attempt_id uuid not null,
  attempt_key text not null,
  attempt_reference text not null,
  gateway text not null,
  account_id uuid,
  status text not null check (status in ('pending', 'successful', 'failed')),
  status_reason text,
  -- Increases by one with every move; each move has its event.
  version integer not null check (version >= 1),
  amount_minor bigint not null check (amount_minor > 0),
  currency text not null,
  is_full boolean not null,
  -- The service created it: it returns a duplicate payment.
  is_duplicate boolean not null default false,
  reason text,
  metadata jsonb not null default '{}',
  -- The idempotency key at the gateway: committed before the first call and the same for every retry.
  gateway_key text not null unique,
  gateway_reference text,
  failure_message text,
  -- When the first call may have been sent. Null: provably nothing was sent.
  submitted_at timestamptz,
  -- The gateway accepts one refund of a payment at a time, and does not know this one yet.
  is_blocking boolean not null default false,
  due_at timestamptz,
  polls integer not null default 0,
  -- Fencing token: increases with every claim, so a stalled process cannot overwrite a later result.
  fence integer not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (merchant_id, id),
  foreign key (merchant_id, payment_id) references payments (merchant_id, id),
  foreign key (merchant_id, attempt_id) references attempts (merchant_id, id),
  -- Every open refund is scheduled. A webhook schedules a successful refund again, because its money may come back.
  check (status <> 'pending' or due_at is not null),
  check (status <> 'failed' or due_at is null),
  check (status = 'pending' or not is_blocking),
  check ((status = 'failed') = (failure_message is not null)),
  check (version = case when status = 'pending' then 1 else 2 end)
);

create unique index one_blocking_refund_per_payment on refunds (merchant_id, payment_id) where is_blocking;
create unique index one_refund_per_duplicate on refunds (merchant_id, attempt_id) where is_duplicate;
create index refunds_by_time on refunds (merchant_id, created_at, id);
-- A list of the rare states does not read the frequent ones.
create index refunds_by_state on refunds (merchant_id, status, currency, created_at, id);
create index refunds_by_payment on refunds (merchant_id, payment_id, created_at, id);
create index refunds_search on refunds using gin (lower(payment_reference) gin_trgm_ops);
create index refunds_due on refunds (due_at) where due_at is not null;
create index refunds_by_attempt_key on refunds (attempt_key) where status <> 'failed';
-- Settlement files name refunds by the provider's reference too.
create index refunds_by_gateway_reference on refunds (gateway, gateway_reference) where gateway_reference is not null;

create table disputes (
  merchant_id uuid not null,
  id uuid not null,
  payment_id uuid not null,
  attempt_id uuid not null,
  -- The gateway's dispute id. It identifies the dispute, so reports may arrive in any order.
  gateway_reference text not null,
  status text not null check (status in ('open', 'won', 'lost')),
  -- The amount that the gateway claims, and the part of it that is withheld while the dispute is open or was lost in the
  -- end: at most the amount that is not refunded.
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

-- Cases for manual review, open until an operator closes them. Each is opened once, however often its cause is detected.
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
