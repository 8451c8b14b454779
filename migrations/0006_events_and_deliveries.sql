-- The outbox of events, the webhook endpoints of merchants, and the delivery of every event to every subscribed endpoint.

-- One event for every move, inserted by the same statement as the move.
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

create index events_by_time on events (merchant_id, created_at, id);
create index events_by_type on events (merchant_id, type, created_at, id);

create trigger events_append_only before update or delete or truncate on events
for each statement execute function reject_change();

create table webhook_endpoints (
  merchant_id uuid not null references merchants (id),
  id uuid not null,
  url text not null check (char_length(url) between 1 and 2048),
  description text check (char_length(description) <= 255),
  -- Event types, or * alone for all of them, including types added later.
  events text[] not null check (cardinality(events) > 0),
  -- A deleted endpoint stays until its deliveries are purged; its secrets are removed at once.
  status text not null check (status in ('enabled', 'disabled', 'deleted')),
  disabled_reason text,
  disabled_at timestamptz,
  secret_sealed text check (secret_sealed like 'v1.%'),
  -- The request that created the secret. Only a retry of that request returns the secret again.
  secret_request_id uuid,
  -- The secret before the last rotation, and until when deliveries are signed with it as well.
  previous_secret_sealed text check (previous_secret_sealed like 'v1.%'),
  previous_secret_until timestamptz,
  -- The first failure of the current series since the last success, and the approximate time of the last failure.
  failing_since timestamptz,
  last_failed_at timestamptz,
  -- Of the last event about the endpoint itself.
  version integer not null default 0 check (version >= 0),
  -- Every matching event after this time must have a delivery. It is the later of two times: the last change of the
  -- subscription, and the time before which deliveries were purged.
  checked_from timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (merchant_id, id),
  check ((status = 'enabled') = (disabled_reason is null)),
  check ((status = 'deleted') = (secret_sealed is null)),
  check ((secret_sealed is null) = (secret_request_id is null)),
  check ((previous_secret_sealed is null) = (previous_secret_until is null)),
  check ((failing_since is null) = (last_failed_at is null))
);

-- Every event looks up the endpoints of its merchant, and must not read deleted ones.
create index webhook_endpoints_not_deleted on webhook_endpoints (merchant_id) where status <> 'deleted';
create index webhook_endpoints_not_enabled on webhook_endpoints (disabled_at) where status <> 'enabled';
create index webhook_endpoints_previous_secret on webhook_endpoints (previous_secret_until) where previous_secret_until is not null;
-- Every scrape of the metrics counts the failing endpoints.
create index webhook_endpoints_failing on webhook_endpoints (merchant_id) where failing_since is not null;

-- There is no foreign key to the endpoint, because every event of a busy merchant would lock that one row.
-- invariant_i10_no_delivery_missing checks the reference.
create table deliveries (
  merchant_id uuid not null,
  event_id uuid not null,
  endpoint_id uuid not null,
  resource_type text not null,
  resource_id uuid not null,
  version integer not null,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'dead')),
  -- Why it is a dead letter.
  reason text,
  -- The next attempt. During an attempt: when it is retried if the process crashes. Null when the delivery has finished.
  due_at timestamptz,
  -- By the clock of the database, which all processes share.
  leased_until timestamptz,
  -- Fencing token: increases with every claim, so a stalled process cannot overwrite the result of a later claim.
  fence integer not null default 0,
  -- Attempts with a known result since the event or its last replay; they determine the backoff.
  attempt_count integer not null default 0,
  -- Attempts started since the last known result; more than one means that a process crashed.
  unfinished_count integer not null default 0,
  first_attempt_at timestamptz,
  finished_at timestamptz,
  -- Of the event.
  created_at timestamptz not null,
  primary key (merchant_id, event_id, endpoint_id),
  check ((status = 'pending') = (due_at is not null)),
  check ((status = 'pending') = (finished_at is null)),
  check ((status = 'dead') = (reason is not null)),
  check (leased_until is null or status = 'pending')
);

-- The claim of the worker reads these two, which hold unfinished deliveries only.
create index deliveries_due on deliveries (merchant_id, endpoint_id, due_at) where due_at is not null;
create index deliveries_by_resource on deliveries (merchant_id, endpoint_id, resource_id, version) where due_at is not null;
create index deliveries_finished on deliveries (finished_at) where finished_at is not null;
-- The metric of the oldest pending event reads one row, however many are pending.
create index deliveries_by_age on deliveries (created_at) where due_at is not null;

-- A log of finished attempts, each with the fence of its claim: written once, read for a month, never updated. Whole months
-- are dropped instead of single rows deleted, so there is no foreign key to the delivery.
create table delivery_attempts (
  merchant_id uuid not null,
  event_id uuid not null,
  endpoint_id uuid not null,
  fence integer not null,
  started_at timestamptz not null,
  url text not null,
  signature text not null,
  http_status integer,
  error text,
  response_body text check (char_length(response_body) <= 200),
  duration_ms integer not null check (duration_ms >= 0),
  primary key (merchant_id, event_id, endpoint_id, fence, started_at),
  check ((http_status is null) = (error is not null))
) partition by range (started_at);

-- Takes rows that have no month partition, because a clock is wrong or the background jobs stood still: no insert fails.
create table delivery_attempts_default partition of delivery_attempts default;

create trigger delivery_attempts_immutable before update on delivery_attempts
for each statement execute function reject_change();

-- Partition maintenance: creates the month partitions of a table from create_from to two months ahead, and drops those that
-- ended before drop_before. Months are in UTC by the clock of the database, so a machine with a wrong clock drops no data.
-- Returns the number of partitions created and dropped.
create function maintain_month_partitions(parent text, key text, create_from timestamptz, drop_before timestamptz) returns integer
language plpgsql as $$
declare
  month timestamp;
  child text;
  changes integer := 0;
  moved text;
begin
  perform pg_advisory_xact_lock(7061647);
  for month in
    select generate_series(
      date_trunc('month', create_from at time zone 'UTC'),
      date_trunc('month', statement_timestamp() at time zone 'UTC') + interval '2 months',
      interval '1 month'
    )
  loop
    child := parent || to_char(month, '_YYYYMM');
    continue when to_regclass(child) is not null;
    execute format('create table %I (like %I including all)', child, parent);
    -- Rows that were inserted before their month existed move out of the default partition.
    execute format('lock table %I in access exclusive mode', parent || '_default');
    moved := format('%1$I >= %2$L and %1$I < %3$L', key, month at time zone 'UTC', (month + interval '1 month') at time zone 'UTC');
    execute format(
      'with moved as (delete from %I where %s returning *) insert into %I select * from moved', parent || '_default', moved, child
    );
    execute format(
      'alter table %I attach partition %I for values from (%L) to (%L)',
      parent, child, month at time zone 'UTC', (month + interval '1 month') at time zone 'UTC'
    );
    changes := changes + 1;
  end loop;
  for child in
    select c.relname
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
    where i.inhparent = to_regclass(parent)
      and c.relname ~ '_[0-9]{6}$'
      and to_date(right(c.relname, 6), 'YYYYMM') + interval '1 month' <= drop_before at time zone 'UTC'
  loop
    execute format('drop table %I', child);
    changes := changes + 1;
  end loop;
  return changes;
end
$$;

select maintain_month_partitions('delivery_attempts', 'started_at', now(), '-infinity');

-- Replays that merchants requested. A single event is replayed at once; a background job replays a time range in slices.
create table webhook_replays (
  merchant_id uuid not null,
  id uuid not null,
  status text not null check (status in ('queued', 'done')),
  range_from timestamptz,
  range_to timestamptz,
  types text[],
  endpoint_id uuid,
  only_undelivered boolean not null default false,
  -- The last event that was processed.
  cursor_created_at timestamptz,
  cursor_event_id uuid,
  events integer not null default 0 check (events >= 0),
  deliveries integer not null default 0 check (deliveries >= 0),
  -- The job takes the replay with the oldest run next.
  last_run_at timestamptz not null,
  created_at timestamptz not null,
  finished_at timestamptz,
  primary key (merchant_id, id),
  check ((status = 'done') = (finished_at is not null)),
  check (status = 'done' or (range_from is not null and range_to is not null)),
  check ((cursor_created_at is null) = (cursor_event_id is null))
);

create index webhook_replays_queued on webhook_replays (last_run_at) where status = 'queued';
create index webhook_replays_queued_by_merchant on webhook_replays (merchant_id) where status = 'queued';
create index webhook_replays_finished on webhook_replays (finished_at) where finished_at is not null;

-- A test event goes to the endpoint it was requested for, also if the endpoint is not subscribed to it.
create function is_subscribed_to_event(endpoint_id uuid, events text[], type text, resource_id uuid) returns boolean
language sql immutable parallel safe
return case when type = 'webhook.test' then endpoint_id = resource_id else events && array['*', type] end;

-- Creates the deliveries of an event in the transaction that inserts it.
create function fan_out_events() returns trigger language plpgsql as $$
begin
  insert into deliveries (merchant_id, event_id, endpoint_id, resource_type, resource_id, version, due_at, created_at)
  select
    v.merchant_id, v.id, e.id, v.resource_type, v.resource_id, v.version,
    -- Due now at the latest, also when the clock of the writer is ahead.
    least(v.created_at, statement_timestamp()), v.created_at
  from added v
  join webhook_endpoints e on e.merchant_id = v.merchant_id
  where e.status = 'enabled' and is_subscribed_to_event(e.id, e.events, v.type, v.resource_id);
  return null;
end
$$;

create trigger events_fan_out after insert on events
referencing new table as added
for each statement execute function fan_out_events();
