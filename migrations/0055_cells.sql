-- The data of merchants may be in several databases, the cells. A merchant has its rows in one of them.

create table cells (
  -- Values that are looked up before their merchant is known contain it. The database of the instance is cell 0, and has no row.
  number integer primary key check (number between 1 and 1295),
  name text not null unique check (name ~ '^[a-z0-9][a-z0-9-]{0,30}$'),
  -- The URL of the database, encrypted.
  sealed text not null,
  -- New merchants are placed in active cells only.
  state text not null check (state in ('added', 'active', 'draining')),
  created_at timestamptz not null
);

-- The merchants that are not in cell 0.
create table merchant_cells (
  merchant_id uuid primary key references merchants (id),
  cell integer not null references cells (number),
  -- The row of the merchant has changed and must be copied to its cell; null when that is done.
  copy_due_at timestamptz
);

create index merchant_cells_by_cell on merchant_cells (cell);
create index merchant_cells_by_copy on merchant_cells (copy_due_at) where copy_due_at is not null;

-- The people are in the instance.
alter table refund_requests
  drop constraint refund_requests_requested_by_fkey,
  drop constraint refund_requests_decided_by_fkey;
alter table payment_notes drop constraint payment_notes_user_id_fkey;
alter table sent_receipts drop constraint sent_receipts_user_id_fkey;

-- They used tables of the instance and of a cell; the service does it in two steps.
drop trigger gateway_accounts_clear_tokens on gateway_accounts;
drop function clear_gateway_tokens();
drop function prompt_ends_at(text, timestamptz);

select apply_row_level_security();
