-- Payments, their attempts at gateways and every move between states: the one machine that matters.

-- The claim of a reference stands in a table of its own, so that it stays unique over payments and charges together
-- for ever, also when payments are partitioned by time.
create table payment_references (
  merchant_id uuid not null,
  reference text not null,
  payment_id uuid not null,
  fingerprint bytea not null,
  created_at timestamptz not null,
  primary key (merchant_id, reference)
);

create table idempotency_keys (
  merchant_id uuid not null,
  key text not null,
  operation text not null,
  fingerprint bytea not null,
  -- How the operation finds its record again; for payments the reference.
  resource text not null,
  claimed_by uuid not null,
  created_at timestamptz not null,
  primary key (merchant_id, key)
);

create index idempotency_keys_by_time on idempotency_keys (created_at);

create table payments (
  merchant_id uuid not null,
  id uuid not null,
  kind text not null check (kind in ('checkout', 'charge')),
  reference text not null,
  status text not null check (
    status in (
      'pending', 'processing', 'successful', 'failed', 'abandoned', 'expired',
      'partially_refunded', 'refunded', 'disputed', 'reversed'
    )
  ),
  status_reason text,
  -- Grows by one with every move; a writer that saw another version writes nothing.
  version integer not null check (version >= 1),
  amount_minor bigint not null check (amount_minor > 0),
  currency text not null,
  amount_paid_minor bigint check (amount_paid_minor > 0),
  fee_minor bigint check (fee_minor >= 0),
  refunded_minor bigint not null default 0 check (refunded_minor >= 0),
  gateway text not null,
  country text,
  description text,
  metadata jsonb not null default '{}',
  redirect_url text,
  is_recurring boolean not null default false,
  customer_id uuid not null,
  -- As the merchant wrote them for this payment; the customer's record has the latest.
  customer_email text not null,
  customer_firstname text not null,
  customer_lastname text not null,
  -- The capability in the payer's address: looked up by its hash, shown to the merchant again from the sealed text.
  access_hash bytea unique,
  access_sealed text check (access_sealed like 'v1.%'),
  attempts_used integer not null default 0,
  payment_method_id uuid,
  recovery_payment_id uuid,
  failure_code text,
  failure_message text,
  expires_at timestamptz,
  -- When the background looks at this open checkout again.
  due_at timestamptz,
  paid_at timestamptz,
  created_at timestamptz not null,
  primary key (merchant_id, id),
  foreign key (merchant_id, customer_id) references customers (merchant_id, id),
  foreign key (merchant_id, payment_method_id) references payment_methods (merchant_id, id),
  foreign key (merchant_id, recovery_payment_id) references payments (merchant_id, id),
  check (kind = 'checkout' or status not in ('pending', 'abandoned', 'expired')),
  check (kind = 'checkout' or access_hash is null),
  check (refunded_minor <= coalesce(amount_paid_minor, 0))
);

create index payments_by_time on payments (merchant_id, kind, created_at, id);
create index payments_by_customer on payments (merchant_id, customer_id, created_at);
create index payments_due on payments (due_at) where due_at is not null;

create table attempts (
  merchant_id uuid not null,
  id uuid not null,
  payment_id uuid not null,
  number integer not null check (number >= 1),
  operation text not null check (operation in ('checkout', 'charge')),
  gateway text not null,
  channel text not null,
  status text not null check (
    status in (
      'started', 'awaiting_customer', 'succeeded', 'declined', 'amount_mismatch', 'duplicate_success', 'requires_review'
    )
  ),
  -- The key at the gateway, on disk before the first call and the same for every try.
  gateway_key text not null unique,
  gateway_reference text,
  choice jsonb,
  next_step jsonb,
  failure_code text,
  failure_message text,
  -- What the gateway said it collected: the proof behind a credit.
  paid_minor bigint,
  paid_currency text,
  started_at timestamptz not null,
  ended_at timestamptz,
  polled_at timestamptz,
  -- When the resolver asks the gateway next; null when there is nothing left to ask.
  due_at timestamptz,
  polls integer not null default 0,
  -- Grows with every claim by the resolver: a writer that was away meanwhile cannot speak for the attempt any more.
  fence integer not null default 1,
  primary key (merchant_id, id),
  unique (merchant_id, payment_id, number),
  foreign key (merchant_id, payment_id) references payments (merchant_id, id)
);

create index attempts_due on attempts (due_at) where due_at is not null;

create table moves (
  merchant_id uuid not null,
  payment_id uuid not null,
  version integer not null check (version >= 1),
  from_status text,
  to_status text not null,
  reason text,
  -- What makes the move true. A payment fails only on proof, never because we did not know.
  proof text,
  source text not null,
  attempt_id uuid,
  at timestamptz not null,
  primary key (merchant_id, payment_id, version),
  foreign key (merchant_id, payment_id) references payments (merchant_id, id),
  check ((from_status is null) = (version = 1)),
  check (
    from_status is null
    or (from_status, to_status) in (
      ('pending', 'processing'), ('pending', 'successful'), ('pending', 'failed'),
      ('pending', 'abandoned'), ('pending', 'expired'),
      ('processing', 'pending'), ('processing', 'successful'), ('processing', 'failed'),
      ('processing', 'abandoned'), ('processing', 'expired'),
      ('successful', 'partially_refunded'), ('successful', 'refunded'), ('successful', 'disputed'),
      ('successful', 'reversed'),
      ('failed', 'successful'), ('abandoned', 'successful'), ('expired', 'successful'),
      ('partially_refunded', 'refunded'), ('partially_refunded', 'disputed'),
      ('refunded', 'disputed'),
      ('disputed', 'successful'), ('disputed', 'reversed')
    )
  ),
  check (to_status <> 'failed' or coalesce(proof in ('declined', 'not_sent', 'expired_verified'), false)),
  check (to_status <> 'successful' or from_status = 'disputed' or coalesce(proof = 'gateway', false))
);

create function reject_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end
$$;

create trigger moves_append_only before update or delete or truncate on moves
for each statement execute function reject_change();

-- Webhooks of gateways as they came. A webhook is a doorbell: it is noted, answered, and then the gateway is asked.
create table inbound_webhooks (
  gateway text not null,
  event_id text not null,
  gateway_key text not null,
  received_at timestamptz not null,
  primary key (gateway, event_id)
);
