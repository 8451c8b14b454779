-- What keeps lists and searches as quick with a million rows as with a thousand, and the tries of deliveries from growing without end.

-- What customers are searched by: every piece of four characters of their text, and the shorter ones at its end, so that a
-- piece that begins with it finds a text of one to three. Each begins with the end of the merchant's id: what other merchants
-- have is not even looked at. Without positions, because the text itself is compared afterwards.
create function search_ngrams(merchant_id uuid, content text) returns tsvector
language sql immutable strict parallel safe
return array_to_tsvector(
  array(
    select merchant_prefix || substr(content, n, 4)
    from (select right(merchant_id::text, 8) as merchant_prefix) as m, generate_series(1, length(content)) as n
  )
);

-- Built under a lock against writes, about a minute for a million customers. New entries wait in a list that every so many
-- kilobytes is sorted in, by whoever fills it: with 512 instead of 4096 that one waits a fifth as long, and all together
-- work no more.
create index customers_by_ngrams on customers using gin (search_ngrams(merchant_id, search_text))
with (gin_pending_list_limit = 512);
drop index customers_search;
alter index payment_references_search set (gin_pending_list_limit = 512);

-- A read of the statement folds what waits of one merchant, oldest first, however much waits of the others.
drop index balance_deltas_by_merchant;
create index balance_deltas_by_merchant on balance_deltas (merchant_id, id);

-- Each payment writes its customer's row twice. With room beside it the new version needs no new entry in any index.
alter table customers set (fillfactor = 80);

-- The tries of deliveries are a log: written once, read for a month, never again. They go by the month, all at once, instead
-- of row by row, and so have no foreign key to their delivery; the fence is theirs by the statement that ends the try.
alter table delivery_attempts rename to delivery_attempts_before;
alter table delivery_attempts_before rename constraint delivery_attempts_pkey to delivery_attempts_before_pkey;

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

-- What no month was made for, because a clock is wrong or the background stood still: nothing is ever refused.
create table delivery_attempts_default partition of delivery_attempts default;

create trigger delivery_attempts_immutable before update on delivery_attempts
for each statement execute function reject_change();

-- Makes the months of a table from a time up to two ahead, and drops those that ended before another. Months are of UTC, by
-- the clock of the database: a machine whose own is wrong must not make anybody forget. Answers how much it changed.
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
    -- What came before its month was made moves there.
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

select maintain_month_partitions(
  'delivery_attempts',
  'started_at',
  coalesce((select min(started_at) from delivery_attempts_before), now()),
  '-infinity'
);

-- A month of tries at most, read and written once.
insert into delivery_attempts
select * from delivery_attempts_before;
drop table delivery_attempts_before;

-- The job makes two months ahead, so a month that is twenty days away stands ready, or nobody has made any for weeks.
create view invariant_g01_partitions_exist as
select 'delivery_attempts' as table_name
where to_regclass('delivery_attempts' || to_char(now() at time zone 'UTC' + interval '20 days', '_YYYYMM')) is null;

-- Who has raised the wall between merchants before raises it around the new table.
do $$
begin
  if to_regprocedure('apply_row_level_security()') is not null then
    perform apply_row_level_security();
  end if;
end
$$;
