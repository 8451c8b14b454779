-- The audit log: who changed what, when and from which address, for every change by an API key or an operator that is not
-- itself a payment. Append-only, and chained by hashes.

-- One chain per merchant, and one of the operators for changes that concern no merchant (chain_id is then the nil UUID). A
-- chain is written under a lock that lasts from the end of the transaction to its commit. Chains of different merchants do
-- not wait for each other, and payments write no entries.
create table audit_entries (
  chain_id uuid not null,
  -- From 1, without gaps.
  number bigint not null check (number >= 1),
  id uuid not null,
  merchant_id uuid references merchants (id),
  actor_type text not null check (actor_type in ('api_key', 'operator')),
  -- The id of the API key, or the fingerprint of the operator token.
  actor_id text not null,
  address text,
  request_id text,
  -- Method and path of the API, such as POST /api/v1/refunds.
  operation text not null,
  object_type text not null,
  object_id text not null,
  -- The changed rows, each with its type, its id and its values before and after. After a hundred of them, the last element
  -- has the number of the others.
  changes jsonb not null check (jsonb_typeof(changes) = 'array'),
  created_at timestamptz not null,
  previous_hash bytea not null check (octet_length(previous_hash) = 32),
  hash bytea not null check (octet_length(hash) = 32),
  primary key (chain_id, number),
  check (chain_id = coalesce(merchant_id, '00000000-0000-0000-0000-000000000000'))
);

create unique index audit_entries_by_time on audit_entries (merchant_id, created_at, id);
create index audit_entries_by_object on audit_entries (merchant_id, object_id, created_at, id);
create index audit_entries_by_actor on audit_entries (merchant_id, actor_id, created_at, id);
create index audit_entries_by_operation on audit_entries (merchant_id, operation, created_at, id);
create index audit_entries_of_all on audit_entries (created_at, id);
alter table audit_entries alter column merchant_id set (n_distinct = 10);

create trigger audit_entries_append_only before update or delete or truncate on audit_entries
for each statement execute function reject_change();

-- The content of an entry as it is hashed. The text of a jsonb value has its keys in one order, so anyone can repeat the
-- calculation from an export.
create function audit_record(entry audit_entries) returns jsonb language sql stable parallel safe
return jsonb_build_object(
  'chain', entry.chain_id,
  'number', entry.number,
  'uuid', entry.id,
  'actor', jsonb_build_object('type', entry.actor_type, 'id', entry.actor_id),
  'address', entry.address,
  'requestId', entry.request_id,
  'operation', entry.operation,
  'object', jsonb_build_object('type', entry.object_type, 'id', entry.object_id),
  'changes', entry.changes,
  'createdAt', to_char(entry.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
);

create function audit_hash(entry audit_entries) returns bytea language sql stable parallel safe
return sha256(entry.previous_hash || convert_to(audit_record(entry)::text, 'UTF8'));

-- The columns of a row that an entry shows: those that differ from the other row if there is one, without the ignored ones.
-- A secret or personal value is only marked as changed: entries are never deleted. A long value is shown by its hash.
create function audit_columns(shown jsonb, other jsonb, redacted text[], ignored text[]) returns jsonb language sql immutable
return (
  select
    jsonb_object_agg(
      key,
      case
        when value = 'null' then value
        when key = any(redacted) then '"[redacted]"'
        when octet_length(value::text) > 2000
          then jsonb_build_object('sha256', encode(sha256(convert_to(value::text, 'UTF8')), 'hex'))
        else value
      end
    )
  from jsonb_each(shown)
  where key <> all(ignored) and (other -> key) is distinct from value and (other is not null or value <> 'null')
);

-- Runs after each change of an audited row, in a transaction that names its actor in app.audit. It only collects the change
-- in a setting of the transaction. The arguments: the type of the object, the column of its id, and the columns that are
-- redacted and ignored.
create function collect_audit_change() returns trigger language plpgsql as $$
declare
  previous jsonb := to_jsonb(old);
  current jsonb := to_jsonb(new);
  redacted text[] := tg_argv[2];
  ignored text[] := tg_argv[3];
  collected jsonb := coalesce(nullif(current_setting('app.audit_changes', true), ''), '[]');
  before jsonb := audit_columns(previous, current, redacted, ignored);
  after jsonb := audit_columns(current, previous, redacted, ignored);
begin
  if coalesce(before, after) is null then
    return null;
  end if;
  -- More would only make the entry unreadable, so the rest is counted.
  if jsonb_array_length(collected) >= 100 then
    perform set_config(
      'app.audit_more_changes',
      (coalesce(nullif(current_setting('app.audit_more_changes', true), ''), '0')::integer + 1)::text,
      true
    );
    return null;
  end if;
  collected := collected || jsonb_build_object(
    'type', tg_argv[0],
    'id', coalesce(current, previous) ->> tg_argv[1],
    'merchant', coalesce(current, previous) -> (case tg_table_name when 'merchants' then 'id' else 'merchant_id' end),
    'before', before,
    'after', after
  );
  perform set_config('app.audit_changes', collected::text, true);
  return null;
end
$$;

-- Runs at the commit: writes one entry for all changes of the transaction, as the last part of it, so that the lock of the
-- chain is held only during the commit and waits for no other lock.
create function write_audit_entry() returns trigger language plpgsql as $$
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
  entry.hash := audit_hash(entry);
  insert into audit_entries select entry.*;
  return null;
end
$$;

-- Audits a table: every change of its rows by an API key or an operator is recorded. The conditions are evaluated before the
-- functions are called, so the statements of payments and of background jobs pay almost nothing.
create function audit_table(
  table_name regclass,
  object_type text,
  id_column text,
  redacted text[] default '{}',
  ignored text[] default '{}',
  operations text default 'insert or update or delete',
  condition text default 'true'
) returns void language plpgsql as $$
declare
  applies text := format('%s and current_setting(''app.audit'', true) <> ''''', condition);
begin
  execute format(
    'create trigger audit_collect after %s on %s for each row when (%s) execute function collect_audit_change(%L, %L, %L, %L)',
    operations, table_name, applies, object_type, id_column, redacted, array['updated_at', 'version'] || ignored
  );
  execute format(
    'create constraint trigger audit_write after %s on %s deferrable initially deferred for each row when (%s) execute function write_audit_entry()',
    operations, table_name, applies
  );
end
$$;

select
  audit_table('merchants', 'merchant', 'id'),
  audit_table('api_keys', 'api_key', 'key_id', '{secret_hash}', '{last_used_at}'),
  audit_table('gateway_accounts', 'gateway_account', 'id', '{sealed}'),
  audit_table(
    'customers', 'customer', 'id', '{email,email_key,firstname,lastname,phone,metadata}',
    '{search_text,successful_payments,last_payment_at}'
  ),
  audit_table(
    'payment_methods', 'payment_method', 'id', '{fingerprint,token_hash,token_sealed,credential_sealed,card,mobile_money}',
    '{last_used_at,save_id}'
  ),
  audit_table(
    'payment_links', 'payment_link', 'id', '{metadata}',
    '{search_text,payments_count,collected_minor,due_at,recorded_status}'
  ),
  audit_table(
    'webhook_endpoints', 'webhook_endpoint', 'id', '{secret_sealed,previous_secret_sealed}',
    '{secret_request_id,failing_since,last_failed_at,checked_from}'
  ),
  audit_table('webhook_replays', 'webhook_replay', 'id', operations => 'insert'),
  audit_table('events', 'event', 'id', '{}', '{body}', 'insert', 'new.type = ''webhook.test'''),
  -- The gateway's outcome is not a change by a person, so only the request is recorded.
  audit_table('refunds', 'refund', 'id', '{metadata,gateway_key,attempt_key}', operations => 'insert'),
  audit_table('p2p_accounts', 'p2p_account', 'id'),
  -- Creating a P2P payment is a payment itself; the merchant's confirmations change it.
  audit_table('p2p_transfers', 'p2p_payment', 'payment_id', '{attempt_key}', operations => 'update'),
  audit_table('cases', 'case', 'id'),
  audit_table('reconciliations', 'reconciliation', 'id', '{digest}', operations => 'insert'),
  audit_table('reconciliation_breaks', 'reconciliation_break', 'id', operations => 'update');

-- Entries that were changed, removed from the middle or the beginning, or inserted without their hash.
create view invariant_i18_audit_chain_is_intact as
select chain_id, number
from (
  select
    e.chain_id,
    e.number,
    e.hash = audit_hash(e) as is_unchanged,
    e.number - 1 = coalesce(lag(e.number) over w, 0) as follows_number,
    e.previous_hash = coalesce(lag(e.hash) over w, decode(repeat('00', 32), 'hex')) as follows_hash
  from audit_entries e
  window w as (partition by e.chain_id order by e.number)
) checked
where not (is_unchanged and follows_number and follows_hash);

-- Checks one chain, or all of them. The digest covers the last hash of every chain: kept elsewhere, it also shows that no
-- entry was removed from the end.
create function verify_audit_chains(only_chain uuid) returns jsonb language sql stable
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

select apply_row_level_security();
