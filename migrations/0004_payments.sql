-- Payments, their attempts at gateways, every state transition, and the webhooks of gateways that trigger status checks.

-- References have a table of their own, so that they stay unique over checkouts and charges even if payments are partitioned
-- by time.
create table payment_references (
  merchant_id uuid not null,
  reference text not null,
  payment_id uuid not null,
  fingerprint bytea not null,
  created_at timestamptz not null,
  primary key (merchant_id, reference)
);

-- References are searched here and not in payments: these rows are never updated, so each is indexed once.
create index payment_references_search on payment_references using gin (reference gin_trgm_ops)
with (gin_pending_list_limit = 512);

create table idempotency_keys (
  merchant_id uuid not null,
  key text not null,
  operation text not null,
  fingerprint bytea not null,
  -- How the operation finds its record on a retry; for payments the reference.
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
  -- Optimistic lock: increases by one with every move, and a writer that read another version writes nothing.
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
  -- As the merchant sent them with this payment; the customer's row has the latest.
  customer_email text not null,
  customer_firstname text not null,
  customer_lastname text not null,
  -- The secret in the address of the payer's page: found by its hash, returned to the merchant from the encrypted text.
  access_hash bytea unique,
  access_sealed text check (access_sealed like 'v1.%'),
  attempts_used integer not null default 0,
  payment_method_id uuid,
  recovery_payment_id uuid,
  failure_code text,
  failure_message text,
  expires_at timestamptz,
  -- When the background job checks this open checkout next.
  due_at timestamptz,
  paid_at timestamptz,
  created_at timestamptz not null,
  -- Attempts that a failover started at another gateway. They do not count towards the maximum number of attempts.
  failovers integer not null default 0,
  -- The amount that pending refunds have reserved.
  refund_reserved_minor bigint not null default 0 check (refund_reserved_minor >= 0),
  -- The payment link at which the payment was started.
  link_id uuid,
  primary key (merchant_id, id),
  foreign key (merchant_id, customer_id) references customers (merchant_id, id),
  foreign key (merchant_id, payment_method_id) references payment_methods (merchant_id, id),
  foreign key (merchant_id, recovery_payment_id) references payments (merchant_id, id),
  constraint payments_link_fkey foreign key (merchant_id, link_id) references payment_links (merchant_id, id),
  check (kind = 'checkout' or status not in ('pending', 'abandoned', 'expired')),
  check (kind = 'checkout' or access_hash is null),
  check (refunded_minor <= coalesce(amount_paid_minor, 0)),
  constraint payments_failovers_check check (failovers between 0 and attempts_used),
  -- All three amounts are in one row, so that concurrent refunds together never exceed the amount paid.
  constraint refunds_within_paid check (refunded_minor + refund_reserved_minor <= coalesce(amount_paid_minor, 0))
);

create index payments_by_time on payments (merchant_id, kind, created_at, id);
-- A customer has few payments, so this index has no filter columns.
create index payments_by_customer on payments (merchant_id, customer_id, created_at, id);
create index payments_due on payments (due_at) where due_at is not null;
-- A merchant has few distinct triples of status, currency and gateway. A list that filters by any of them reads the first
-- rows of each matching triple, however many payments there are.
create index payments_by_filter on payments (merchant_id, kind, status, currency, gateway, created_at, id);
create index payments_by_link on payments (merchant_id, link_id, created_at, id) where link_id is not null;
-- Reconciliation lists the payments of a period that a settlement file lacks.
create index payments_by_paid_time on payments (gateway, paid_at, id) where paid_at is not null;

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
  -- The idempotency key at the gateway: committed before the first call and the same for every retry.
  gateway_key text not null unique,
  gateway_reference text,
  choice jsonb,
  next_step jsonb,
  failure_code text,
  failure_message text,
  -- The amount that the gateway reported as collected: the proof of a credit.
  paid_minor bigint,
  paid_currency text,
  started_at timestamptz not null,
  ended_at timestamptz,
  polled_at timestamptz,
  -- When the resolver polls the gateway next; null when no poll is left to do.
  due_at timestamptz,
  polls integer not null default 0,
  -- Fencing token: increases with every claim by the resolver, so a stalled process cannot overwrite a later result.
  fence integer not null default 1,
  -- Null: the instance's own account. There is no foreign key, because every attempt of a busy merchant would lock the one
  -- row of its account. Accounts are never deleted, and invariant_i15_accounts_share_the_merchant checks the reference.
  account_id uuid,
  -- The payer's actions: said that the money was sent, came back from the gateway's page. They prove nothing; they decide
  -- which page the payer sees next, in every tab and browser.
  sent_at timestamptz,
  returned_at timestamptz,
  -- When the background job refunds this duplicate payment next, and the amount refunded so far.
  refund_due_at timestamptz,
  refunded_minor bigint not null default 0 check (refunded_minor >= 0),
  primary key (merchant_id, id),
  unique (merchant_id, payment_id, number),
  foreign key (merchant_id, payment_id) references payments (merchant_id, id)
);

create index attempts_due on attempts (due_at) where due_at is not null;
create index attempts_refund_due on attempts (refund_due_at) where refund_due_at is not null;
-- Settlement files name payments by the provider's reference too.
create index attempts_by_gateway_reference on attempts (gateway, gateway_reference) where gateway_reference is not null;

create table moves (
  merchant_id uuid not null,
  payment_id uuid not null,
  version integer not null check (version >= 1),
  from_status text,
  to_status text not null,
  reason text,
  -- The evidence for the state transition. A payment fails only on proof, never because its outcome is unknown.
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

-- Webhooks of gateways: what identifies one again and names its payment. A webhook only triggers a status check at the
-- gateway. Its body is not stored, because its content is never trusted and may be sensitive.
create table gateway_webhooks (
  id bigint generated always as identity primary key,
  gateway text not null,
  event_id text not null check (char_length(event_id) between 1 and 200),
  account_id uuid,
  gateway_key text not null,
  received_at timestamptz not null,
  -- When it triggered a status check. Null: no attempt has its key yet.
  handled_at timestamptz,
  -- When its key is looked up again; null when it was found, or after days without success.
  due_at timestamptz,
  -- It also triggers a status check of an attempt that has succeeded: it is about a dispute, or has a report.
  checks_paid boolean not null default false,
  unique nulls not distinct (gateway, event_id, account_id),
  check (handled_at is null or due_at is null)
);

create index gateway_webhooks_due on gateway_webhooks (due_at) where due_at is not null;
create index gateway_webhooks_by_time on gateway_webhooks (received_at);

-- How many approval prompts a phone received: the rate limit that stops payers from sending prompts to strangers' phones.
create table phone_prompts (
  -- A keyed hash: the limit recognises a number without storing it.
  phone_hash bytea primary key check (length(phone_hash) = 32),
  window_ends_at timestamptz not null,
  -- One more than the limit after the first rejected prompt.
  prompts integer not null check (prompts >= 1)
);

create index phone_prompts_by_time on phone_prompts (window_ends_at);
