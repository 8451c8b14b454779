-- The outbox: one event for every move, written by the same statement as the move.
create table events (
  merchant_id uuid not null,
  id uuid not null,
  type text not null,
  resource_type text not null,
  resource_id uuid not null,
  version integer not null check (version >= 1),
  body jsonb not null,
  created_at timestamptz not null,
  primary key (merchant_id, id),
  unique (merchant_id, resource_type, resource_id, version)
);

create trigger events_append_only before update or delete or truncate on events
for each statement execute function reject_change();
