-- What the processes of an installation share beside the records: the buckets of rate limits, and the last check of the books.

-- By the id of an API key. Unlogged, because it is written ten times a second and worth nothing after a crash: every key
-- may then go on with a full bucket.
create unlogged table rate_limit_buckets (
  owner text primary key,
  per_second double precision not null check (per_second > 0),
  burst double precision not null check (burst > 0),
  -- Below zero when several processes together let more through than there was: it is owed.
  tokens double precision not null,
  updated_at timestamptz not null
) with (fillfactor = 50);

create index rate_limit_buckets_by_time on rate_limit_buckets (updated_at);

-- One row. The first check is due an hour after the upgrade, not in the middle of it.
create table invariant_checks (
  is_only boolean primary key default true check (is_only),
  started_at timestamptz not null,
  finished_at timestamptz,
  report jsonb
);

insert into invariant_checks (started_at)
values (now());

-- How many endpoints fail is asked for with every look at the metrics.
create index webhook_endpoints_failing on webhook_endpoints (merchant_id) where failing_since is not null;
