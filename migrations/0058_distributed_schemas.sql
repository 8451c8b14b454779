-- The schema can be distributed by an engine that runs triggers and functions on the node of the tables: there, a session has
-- another search path, and a table must not depend on a function that depends on its row type.

-- As before, with the row as JSON instead of the type of the table. The hashes are the same.
drop function verify_audit_chains;
drop view invariant_i18_audit_chain_is_intact;
drop function audit_hash;
drop function audit_record;

create function audit_record(entry jsonb) returns jsonb language sql stable parallel safe
return jsonb_build_object(
  'chain', entry -> 'chain_id',
  'number', entry -> 'number',
  'uuid', entry -> 'id',
  'actor', jsonb_build_object('type', entry -> 'actor_type', 'id', entry -> 'actor_id') || case entry ->> 'actor_type'
    when 'user' then jsonb_build_object('role', entry -> 'actor_role', 'session', entry -> 'session_id')
    else '{}'
  end,
  'address', entry -> 'address',
  'requestId', entry -> 'request_id',
  'operation', entry -> 'operation',
  'object', jsonb_build_object('type', entry -> 'object_type', 'id', entry -> 'object_id'),
  'changes', entry -> 'changes',
  'createdAt', to_char((entry ->> 'created_at')::timestamptz at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
);

create function audit_hash(previous_hash bytea, record jsonb) returns bytea language sql immutable parallel safe
return sha256(previous_hash || convert_to(record::text, 'UTF8'));

create or replace function write_audit_entry() returns trigger language plpgsql as $$
declare
  collected jsonb := nullif(current_setting('app.audit_changes', true), '');
  more_changes integer := coalesce(nullif(current_setting('app.audit_more_changes', true), ''), '0');
  context jsonb;
  subject jsonb;
  merchant uuid;
  last audit_entries;
  entry audit_entries;
begin
  if collected is null then
    return null;
  end if;
  perform set_config('app.audit_changes', '', true);
  perform set_config('app.audit_more_changes', '', true);
  context := current_setting('app.audit');
  -- The object that the path of the request names, otherwise the first that was changed.
  select coalesce(
    (select change from jsonb_array_elements(collected) change where change ->> 'id' = context ->> 'target' limit 1),
    collected -> 0
  )
  into subject;
  merchant := subject ->> 'merchant';
  entry.chain_id := coalesce(merchant, '00000000-0000-0000-0000-000000000000');
  perform pg_advisory_xact_lock(7061649, hashtext(entry.chain_id::text));
  select * into last from audit_entries where chain_id = entry.chain_id order by number desc limit 1;
  entry.number := coalesce(last.number, 0) + 1;
  entry.merchant_id := merchant;
  entry.actor_type := context ->> 'actorType';
  entry.actor_id := context ->> 'actorId';
  entry.actor_role := context ->> 'role';
  entry.session_id := context ->> 'sessionId';
  entry.address := context ->> 'address';
  entry.request_id := context ->> 'requestId';
  entry.operation := context ->> 'operation';
  entry.object_type := subject ->> 'type';
  entry.object_id := subject ->> 'id';
  entry.created_at := (context ->> 'at')::timestamptz;
  -- A UUID of version 7 with the number in its random part: entries of one millisecond are in the order of their numbers.
  entry.id := (
    lpad(to_hex((extract(epoch from entry.created_at) * 1000)::bigint), 12, '0')
    || '7' || lpad(to_hex((entry.number >> 20) & 4095), 3, '0')
    || '8' || lpad(to_hex((entry.number >> 8) & 4095), 3, '0')
    || lpad(to_hex(entry.number & 255), 2, '0') || substr(replace(gen_random_uuid()::text, '-', ''), 1, 10)
  )::uuid;
  select jsonb_agg(change - 'merchant') into entry.changes from jsonb_array_elements(collected) change;
  if more_changes > 0 then
    entry.changes := entry.changes || jsonb_build_object(
      'type', 'more_changes', 'id', '', 'before', null, 'after', jsonb_build_object('count', more_changes)
    );
  end if;
  entry.previous_hash := coalesce(last.hash, decode(repeat('00', 32), 'hex'));
  entry.hash := audit_hash(entry.previous_hash, audit_record(to_jsonb(entry)));
  insert into audit_entries select entry.*;
  return null;
end
$$;

create view invariant_i18_audit_chain_is_intact as
select chain_id, number
from (
  select
    e.chain_id,
    e.number,
    e.hash = audit_hash(e.previous_hash, audit_record(to_jsonb(e))) as is_unchanged,
    e.number - 1 = coalesce(lag(e.number) over w, 0) as follows_number,
    e.previous_hash = coalesce(lag(e.hash) over w, decode(repeat('00', 32), 'hex')) as follows_hash
  from audit_entries e
  window w as (partition by e.chain_id order by e.number)
) checked
where not (is_unchanged and follows_number and follows_hash);

create function verify_audit_chains(only_chain uuid) returns jsonb language plpgsql stable as $$
begin
  return (
    select
      jsonb_build_object(
        'chains', count(distinct chain_id),
        'entries', count(*),
        'violations', (
          select count(*)
          from invariant_i18_audit_chain_is_intact
          where only_chain is null or chain_id = only_chain
        ),
        'firstViolations', (
          select coalesce(jsonb_agg(jsonb_build_object('chain', chain_id, 'number', number)), '[]')
          from (
            select chain_id, number
            from invariant_i18_audit_chain_is_intact
            where only_chain is null or chain_id = only_chain
            order by chain_id, number
            limit 20
          ) violation
        ),
        'digest', (
          select encode(sha256(coalesce(string_agg(hash, '' order by chain_id), '')), 'hex')
          from (
            select distinct on (chain_id) chain_id, hash
            from audit_entries
            where only_chain is null or chain_id = only_chain
            order by chain_id, number desc
          ) head
        )
      )
    from audit_entries
    where only_chain is null or chain_id = only_chain
  );
end
$$;

-- The transition tables of a trigger are known to its own session only, so no statement may read one together with a table.
-- Each function below first reads what was added or changed into variables.

-- As before.
create or replace function fan_out_events() returns trigger language plpgsql as $$
declare
  merchant_ids uuid[];
  ids uuid[];
  types text[];
  resource_types text[];
  resource_ids uuid[];
  versions integer[];
  times timestamptz[];
begin
  select
    array_agg(merchant_id), array_agg(id), array_agg(type), array_agg(resource_type), array_agg(resource_id),
    array_agg(version), array_agg(created_at)
  into merchant_ids, ids, types, resource_types, resource_ids, versions, times
  from added;
  with wanted as materialized (
    select v.merchant_id, v.id as event_id, e.id as endpoint_id, v.resource_type, v.resource_id, v.version, v.created_at
    from unnest(merchant_ids, ids, types, resource_types, resource_ids, versions, times)
      as v (merchant_id, id, type, resource_type, resource_id, version, created_at)
    join webhook_endpoints e on e.merchant_id = v.merchant_id
    where e.status = 'enabled' and is_subscribed_to_event(e.id, e.events, v.type, v.resource_id)
  )
  insert into deliveries (merchant_id, event_id, endpoint_id, resource_type, resource_id, version, due_at, created_at)
  select
    merchant_id, event_id, endpoint_id, resource_type, resource_id, version,
    -- Due now at the latest, also when the clock of the writer is ahead.
    least(created_at, statement_timestamp()), created_at
  from wanted;
  return null;
end
$$;

-- As before.
create or replace function record_payment_terms() returns trigger language plpgsql as $$
declare
  terms record;
begin
  for terms in
    select
      a.merchant_id, a.id, hundredths_of(a.amount_minor, a.currency) as amount_hundredths,
      array(
        select hashtextextended(jsonb_build_array(a.merchant_id, m.key, m.value #>> '{}')::text, 0)
        from jsonb_each(a.metadata) m
        where jsonb_typeof(m.value) in ('string', 'number', 'boolean')
      ) as metadata_terms
    from added a
  loop
    insert into payment_terms (merchant_id, payment_id, amount_hundredths, metadata_terms)
    values (terms.merchant_id, terms.id, terms.amount_hundredths, terms.metadata_terms);
  end loop;
  return null;
end
$$;

-- As before.
create or replace function add_collection_deltas() returns trigger language plpgsql as $$
declare
  delta record;
begin
  for delta in
    select
      merchant_id, date_bin('15 minutes', coalesce(paid_at, created_at), '2000-01-01Z') as starts_at, currency, gateway,
      coalesce(channel, '') as channel, status, count(*) as payments, count(amount_paid_minor) as paid_payments,
      count(*) filter (where amount_paid_minor is not null and fee_minor is null) as unknown_fees,
      sum(amount_minor) as amount_minor, coalesce(sum(amount_paid_minor), 0) as paid_minor,
      coalesce(sum(fee_minor), 0) as fee_minor, sum(refunded_minor) as refunded_minor
    from added
    group by 1, 2, 3, 4, 5, 6
  loop
    insert into collection_deltas (
      merchant_id, starts_at, currency, gateway, channel, status, payments, paid_payments, unknown_fees, amount_minor,
      paid_minor, fee_minor, refunded_minor
    )
    values (
      delta.merchant_id, delta.starts_at, delta.currency, delta.gateway, delta.channel, delta.status, delta.payments,
      delta.paid_payments, delta.unknown_fees, delta.amount_minor, delta.paid_minor, delta.fee_minor, delta.refunded_minor
    );
  end loop;
  return null;
end
$$;

-- As before.
create or replace function change_collection_deltas() returns trigger language plpgsql as $$
declare
  delta record;
begin
  for delta in
    select *
    from (
      select
        merchant_id, date_bin('15 minutes', coalesce(paid_at, created_at), '2000-01-01Z') as starts_at, currency, gateway,
        coalesce(channel, '') as channel, status, sum(sign) as payments,
        coalesce(sum(sign) filter (where amount_paid_minor is not null), 0) as paid_payments,
        coalesce(sum(sign) filter (where amount_paid_minor is not null and fee_minor is null), 0) as unknown_fees,
        sum(sign * amount_minor) as amount_minor,
        coalesce(sum(sign * amount_paid_minor), 0) as paid_minor,
        coalesce(sum(sign * fee_minor), 0) as fee_minor,
        sum(sign * refunded_minor) as refunded_minor
      from (select -1 as sign, * from before union all select 1, * from after) both_sides
      group by 1, 2, 3, 4, 5, 6
    ) changes
    where (payments, paid_payments, unknown_fees, amount_minor, paid_minor, fee_minor, refunded_minor) <> (0, 0, 0, 0, 0, 0, 0)
  loop
    insert into collection_deltas (
      merchant_id, starts_at, currency, gateway, channel, status, payments, paid_payments, unknown_fees, amount_minor,
      paid_minor, fee_minor, refunded_minor
    )
    values (
      delta.merchant_id, delta.starts_at, delta.currency, delta.gateway, delta.channel, delta.status, delta.payments,
      delta.paid_payments, delta.unknown_fees, delta.amount_minor, delta.paid_minor, delta.fee_minor, delta.refunded_minor
    );
  end loop;
  return null;
end
$$;

-- Each trigger function finds its tables in its own schema, whatever the search path of the session. A migration that
-- defines a trigger function calls this at its end; test/sql-rules.test.ts requires it.
create function pin_trigger_functions() returns void language plpgsql as $$
declare
  name regprocedure;
begin
  for name in
    select p.oid
    from pg_proc p
    where p.pronamespace = current_schema()::regnamespace and p.prorettype = 'trigger'::regtype and p.proconfig is null
  loop
    execute format('alter function %s set search_path = %I', name, current_schema());
  end loop;
end
$$;

select pin_trigger_functions();
