-- What people of a merchant decide and note about payments: refunds that a second person approves, notes, receipts that were
-- sent again, and saved views of the list of payments.

create table refund_requests (
  merchant_id uuid not null references merchants (id),
  id uuid not null,
  payment_id uuid not null,
  payment_reference text not null,
  amount_minor bigint not null check (amount_minor > 0),
  currency text not null,
  reason text,
  status text not null check (status in ('awaiting_approval', 'approved', 'rejected', 'withdrawn')),
  requested_by uuid not null references users (id),
  created_at timestamptz not null,
  decided_by uuid references users (id),
  decided_at timestamptz,
  decision_note text,
  -- The refund that the approval has made.
  refund_id uuid,
  primary key (merchant_id, id),
  foreign key (merchant_id, payment_id) references payments (merchant_id, id),
  foreign key (merchant_id, refund_id) references refunds (merchant_id, id),
  check ((status = 'awaiting_approval') = (decided_by is null)),
  check ((decided_by is null) = (decided_at is null)),
  check ((status = 'approved') = (refund_id is not null)),
  -- People decide about the requests of others, and withdraw their own.
  check ((status = 'withdrawn') = (decided_by is not distinct from requested_by))
);
create index refund_requests_by_time on refund_requests (merchant_id, created_at, id);
create index refund_requests_by_status on refund_requests (merchant_id, status, created_at, id);
create index refund_requests_by_payment on refund_requests (merchant_id, payment_id, created_at, id);
-- Two open requests for one payment could be a repeated one.
create unique index refund_requests_open on refund_requests (merchant_id, payment_id) where status = 'awaiting_approval';
alter table refund_requests alter column merchant_id set (n_distinct = 10);

create table payment_notes (
  merchant_id uuid not null references merchants (id),
  id uuid not null,
  payment_id uuid not null,
  user_id uuid not null references users (id),
  text text not null check (char_length(text) between 1 and 2000),
  created_at timestamptz not null,
  primary key (merchant_id, id),
  foreign key (merchant_id, payment_id) references payments (merchant_id, id)
);
create index payment_notes_by_payment on payment_notes (merchant_id, payment_id, created_at, id);
alter table payment_notes alter column merchant_id set (n_distinct = 10);

create table sent_receipts (
  merchant_id uuid not null references merchants (id),
  id uuid not null,
  payment_id uuid not null,
  user_id uuid not null references users (id),
  created_at timestamptz not null,
  primary key (merchant_id, id),
  foreign key (merchant_id, payment_id) references payments (merchant_id, id)
);
create index sent_receipts_by_payment on sent_receipts (merchant_id, payment_id, created_at);
alter table sent_receipts alter column merchant_id set (n_distinct = 10);

create table saved_views (
  merchant_id uuid not null references merchants (id),
  id uuid not null,
  user_id uuid not null references users (id),
  name text not null,
  -- The filters of the list, as in its address.
  query text not null,
  -- The whole team sees the view; its owner changes it.
  is_shared boolean not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (merchant_id, id),
  unique (merchant_id, user_id, name)
);
create index saved_views_shared on saved_views (merchant_id, name) where is_shared;
alter table saved_views alter column merchant_id set (n_distinct = 10);

select
  audit_table('refund_requests', 'refund_request', 'id', '{reason,decision_note}'),
  audit_table('payment_notes', 'payment_note', 'id', '{text}'),
  audit_table('sent_receipts', 'sent_receipt', 'id'),
  audit_table('saved_views', 'saved_view', 'id', '{name,query}');

select apply_row_level_security();
