-- Where merchants want their events, and the delivery of every event to every endpoint that asked for it.

create table webhook_endpoints (
  merchant_id uuid not null references merchants (id),
  id uuid not null,
  url text not null check (char_length(url) between 1 and 2048),
  description text check (char_length(description) <= 255),
  -- Names of events, or * alone for all of them, also those added later.
  events text[] not null check (cardinality(events) > 0),
  -- A deleted endpoint stays as long as its deliveries are told about; its secrets do not.
  status text not null check (status in ('enabled', 'disabled', 'deleted')),
  disabled_reason text,
  disabled_at timestamptz,
  secret_sealed text check (secret_sealed like 'v1.%'),
  -- The request that made the secret; only its repetition shows it again.
  secret_request_id uuid,
  -- The secret before the last rotation, and until when deliveries are signed with it as well.
  previous_secret_sealed text check (previous_secret_sealed like 'v1.%'),
  previous_secret_until timestamptz,
  -- The first of the failures since the last success that followed one another closely, and about when the last was.
  failing_since timestamptz,
  last_failed_at timestamptz,
  -- Of the last event about the endpoint itself.
  version integer not null default 0 check (version >= 0),
  -- From when on every event that matches must have its delivery: since the endpoint listens as it does now, and since
  -- when deliveries have not been forgotten for their age.
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

-- Every event of a merchant looks for them: those that were deleted must not be in the way.
create index webhook_endpoints_not_deleted on webhook_endpoints (merchant_id) where status <> 'deleted';
create index webhook_endpoints_not_enabled on webhook_endpoints (disabled_at) where status <> 'enabled';
create index webhook_endpoints_previous_secret on webhook_endpoints (previous_secret_until) where previous_secret_until is not null;

-- No foreign key leads to the endpoint: every event of a busy merchant would lock its one row. A view watches instead.
create table deliveries (
  merchant_id uuid not null,
  event_id uuid not null,
  endpoint_id uuid not null,
  resource_type text not null,
  resource_id uuid not null,
  version integer not null,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'dead')),
  -- Why it is dead.
  reason text,
  -- When it is tried next, while somebody tries it: if that one breaks off; null when nobody will.
  due_at timestamptz,
  -- By the clock of the database, which all processes share.
  leased_until timestamptz,
  -- Grows with every claim: a process that was away and comes back cannot speak for the delivery any more.
  fence integer not null default 0,
  -- Tries with a known end since the event or its last replay; they decide when the next one is.
  attempt_count integer not null default 0,
  -- Tries that were begun since the last known end: more than one says that something broke off.
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

-- Both hold only what is still to be done.
create index deliveries_due on deliveries (merchant_id, endpoint_id, due_at) where due_at is not null;
create index deliveries_by_resource on deliveries (merchant_id, endpoint_id, resource_id, version) where due_at is not null;
create index deliveries_finished on deliveries (finished_at) where finished_at is not null;

-- Every try that ended, under the fence it was made with. Rows are never changed, and go with their delivery.
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
  primary key (merchant_id, event_id, endpoint_id, fence),
  foreign key (merchant_id, event_id, endpoint_id)
  references deliveries (merchant_id, event_id, endpoint_id) on delete cascade,
  check ((http_status is null) = (error is not null))
);

create trigger delivery_attempts_immutable before update on delivery_attempts
for each statement execute function reject_change();

-- What a merchant asked to be sent again. One event is sent at once; the events of a time are done slice by slice.
create table webhook_replays (
  merchant_id uuid not null,
  id uuid not null,
  status text not null check (status in ('queued', 'done')),
  range_from timestamptz,
  range_to timestamptz,
  types text[],
  endpoint_id uuid,
  only_undelivered boolean not null default false,
  -- The last event that was looked at.
  cursor_created_at timestamptz,
  cursor_event_id uuid,
  events integer not null default 0 check (events >= 0),
  deliveries integer not null default 0 check (deliveries >= 0),
  -- Whoever was worked on longest ago comes next.
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

create index events_by_time on events (merchant_id, created_at, id);
create index events_by_type on events (merchant_id, type, created_at, id);

-- A test event is for the endpoint it was asked for, whatever that one listens to.
create function is_subscribed_to_event(endpoint_id uuid, events text[], type text, resource_id uuid) returns boolean
language sql immutable parallel safe
return case when type = 'webhook.test' then endpoint_id = resource_id else events && array['*', type] end;

-- Whoever writes an event has its deliveries in the same transaction, without knowing of them.
create function fan_out_events() returns trigger language plpgsql as $$
begin
  insert into deliveries (merchant_id, event_id, endpoint_id, resource_type, resource_id, version, due_at, created_at)
  select
    v.merchant_id, v.id, e.id, v.resource_type, v.resource_id, v.version,
    -- Not later than it is, whatever the clock of the writer says.
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

-- Five seconds, because an event may have been under way while the endpoint was saved, by another machine's clock.
create view invariant_i10_no_delivery_missing as
select v.merchant_id, v.id as event_id, e.id as endpoint_id, 'there is none' as why
from webhook_endpoints e
join events v on v.merchant_id = e.merchant_id and v.created_at > e.checked_from + interval '5 seconds'
where e.status = 'enabled'
  and is_subscribed_to_event(e.id, e.events, v.type, v.resource_id)
  and not exists (
    select 1
    from deliveries d
    where d.merchant_id = v.merchant_id and d.event_id = v.id and d.endpoint_id = e.id
  )
union all
select d.merchant_id, d.event_id, d.endpoint_id, 'its event or its endpoint is not there'
from deliveries d
left join events v on v.merchant_id = d.merchant_id and v.id = d.event_id
left join webhook_endpoints e on e.merchant_id = d.merchant_id and e.id = d.endpoint_id
where v.id is null or e.id is null;
