-- A provider's settlement files held against our books: which were read, and every break between the two until it is closed.

-- A file of the installation's own account at a gateway has no merchant; a file of a merchant's own account has one.
create table reconciliations (
  id uuid primary key,
  gateway text not null,
  merchant_id uuid references merchants (id),
  -- Of the file's bytes: the same file is the same reconciliation, however often it is sent.
  digest bytea not null check (octet_length(digest) = 32),
  file_name text,
  format text not null,
  -- The time whose payments the file has all of; null where nobody said so.
  covers_from timestamptz,
  covers_to timestamptz,
  -- Null while it is read, and for ever if the process died: sending the file again goes on.
  finished_at timestamptz,
  row_count integer not null default 0,
  ignored_count integer not null default 0,
  matched_count integer not null default 0,
  -- Payments whose money this file made available.
  settled_count integer not null default 0,
  break_count integer not null default 0,
  created_at timestamptz not null,
  unique nulls not distinct (gateway, merchant_id, digest),
  check ((covers_from is null) = (covers_to is null)),
  check (covers_from < covers_to)
);

create index reconciliations_by_time on reconciliations (created_at, id);

create table reconciliation_breaks (
  id uuid primary key,
  gateway text not null,
  merchant_id uuid references merchants (id),
  kind text not null check (
    kind in (
      'missing_in_ledger', 'missing_in_file', 'amount_mismatch', 'currency_mismatch', 'status_mismatch', 'duplicate_row',
      'negative_payment', 'reference_mismatch', 'fee_mismatch'
    )
  ),
  -- What it is about: "payment" or "refund" and the key or the reference at the gateway.
  subject text not null check (char_length(subject) between 1 and 300),
  -- The file that showed it last, and the line there.
  reconciliation_id uuid not null references reconciliations (id),
  line integer,
  -- Of whom and what in our books; null where we know nothing of it.
  owner_merchant_id uuid,
  payment_id uuid,
  refund_id uuid,
  ours jsonb,
  theirs jsonb,
  state text not null default 'open' check (state in ('open', 'closed')),
  -- Who looks after it.
  owner text,
  note text,
  closed_by text check (closed_by in ('file', 'operator')),
  opened_at timestamptz not null,
  closed_at timestamptz,
  unique nulls not distinct (gateway, merchant_id, kind, subject),
  check ((state = 'closed') = (closed_at is not null)),
  check ((state = 'closed') = (closed_by is not null)),
  check (closed_by is distinct from 'operator' or note is not null)
);

create index reconciliation_breaks_by_state on reconciliation_breaks (state, opened_at, id);
create index reconciliation_breaks_by_file on reconciliation_breaks (reconciliation_id, opened_at, id);
create index reconciliation_breaks_of_subject on reconciliation_breaks (gateway, subject) where state = 'open';

-- A file names payments by the provider's reference too, and is asked what it has left out of a time.
create index attempts_by_gateway_reference on attempts (gateway, gateway_reference) where gateway_reference is not null;
create index refunds_by_gateway_reference on refunds (gateway, gateway_reference) where gateway_reference is not null;
create index payments_by_paid_time on payments (gateway, paid_at, id) where paid_at is not null;
