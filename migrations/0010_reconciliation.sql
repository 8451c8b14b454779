-- Reconciliation of a provider's settlement files with the ledger: the files, and every break until it is closed.

-- A file of the instance's own account at a gateway has no merchant; a file of a merchant's account has one.
create table reconciliations (
  id uuid primary key,
  gateway text not null,
  merchant_id uuid references merchants (id),
  -- Of the file's bytes: uploading the same file again is idempotent.
  digest bytea not null check (octet_length(digest) = 32),
  file_name text,
  format text not null,
  -- The period of which the file has all payments; null where it was not specified.
  covers_from timestamptz,
  covers_to timestamptz,
  -- Null while the file is read, and after a crash: uploading the file again resumes it.
  finished_at timestamptz,
  row_count integer not null default 0,
  ignored_count integer not null default 0,
  matched_count integer not null default 0,
  -- Payments whose money became available by this file.
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
  -- "payment" or "refund", and the key or the reference at the gateway.
  subject text not null check (char_length(subject) between 1 and 300),
  -- The latest file with this break, and the line there.
  reconciliation_id uuid not null references reconciliations (id),
  line integer,
  -- The record in our ledger; null where there is none.
  owner_merchant_id uuid,
  payment_id uuid,
  refund_id uuid,
  ours jsonb,
  theirs jsonb,
  state text not null default 'open' check (state in ('open', 'closed')),
  -- The operator in charge.
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
create index reconciliation_breaks_by_subject on reconciliation_breaks (gateway, subject) where state = 'open';
