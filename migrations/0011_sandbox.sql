-- The records of the sandbox provider. It stands for another company, so its schema is separate and nothing refers to it.
create schema sandbox;

create table sandbox.records (
  key text primary key,
  order_id text not null,
  page_token text unique,
  version integer not null check (version >= 1),
  due_at timestamptz,
  record jsonb not null
);

create index records_by_order on sandbox.records (order_id);
create index records_due on sandbox.records (due_at) where due_at is not null;
