-- People who use the dashboard: accounts, memberships of merchants, sessions, second factors and limits on guessing. Every
-- change that a person makes is in the audit log with the person, the role and the session.

-- A member works for merchants, an operator for the instance. They have separate accounts.
create table users (
  id uuid primary key,
  -- In lower case.
  email text not null unique,
  name text not null,
  kind text not null check (kind in ('member', 'operator')),
  -- Null: the person signs in in another way.
  password_hash text,
  language text,
  totp_sealed text check (totp_sealed like 'v1.%'),
  -- A secret that was shown and not confirmed by a code yet.
  totp_pending_sealed text check (totp_pending_sealed like 'v1.%'),
  -- The counter of the last code, which is used once.
  totp_counter bigint,
  created_at timestamptz not null,
  disabled_at timestamptz
);

create table recovery_codes (
  -- A keyed hash of the user and the code.
  hash bytea primary key check (octet_length(hash) = 32),
  user_id uuid not null references users (id)
);
create index recovery_codes_by_user on recovery_codes (user_id);

create table passkeys (
  id uuid primary key,
  user_id uuid not null references users (id),
  credential_id text not null unique,
  -- A COSE key.
  public_key bytea not null,
  sign_count bigint not null,
  is_backed_up boolean not null,
  name text not null,
  created_at timestamptz not null,
  last_used_at timestamptz
);
create index passkeys_by_user on passkeys (user_id);

create table passkey_challenges (
  hash bytea primary key check (octet_length(hash) = 32),
  purpose text not null check (purpose in ('sign_in', 'step_up', 'registration')),
  -- Null for a sign-in: the passkey names the user.
  user_id uuid references users (id),
  expires_at timestamptz not null
);
create index passkey_challenges_by_expiry on passkey_challenges (expires_at);

create table memberships (
  merchant_id uuid not null references merchants (id),
  user_id uuid not null references users (id),
  role text not null check (role in ('viewer', 'support', 'finance', 'developer', 'admin', 'owner')),
  created_at timestamptz not null,
  primary key (merchant_id, user_id)
);
create index memberships_by_user on memberships (user_id);
alter table memberships alter column merchant_id set (n_distinct = 10);

create table invitations (
  id uuid primary key,
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  -- Null: the person becomes an operator.
  merchant_id uuid references merchants (id),
  email text not null,
  role text not null check (role in ('viewer', 'support', 'finance', 'developer', 'admin', 'owner', 'operator')),
  -- Null: the operator token.
  invited_by uuid references users (id),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz,
  revoked_at timestamptz,
  check ((merchant_id is null) = (role = 'operator'))
);
create index invitations_by_merchant on invitations (merchant_id, created_at);
create index invitations_by_expiry on invitations (expires_at);
alter table invitations alter column merchant_id set (n_distinct = 10);

create table one_time_links (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  purpose text not null check (purpose in ('reset_password', 'demo_sign_in')),
  user_id uuid not null references users (id),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  used_at timestamptz
);
create index one_time_links_by_expiry on one_time_links (expires_at);
create index one_time_links_by_user on one_time_links (user_id);

-- A session belongs to a person and not to a merchant, so the column of the merchant has another name than elsewhere: row-level
-- security gives merchants' requests no access to sessions.
create table sessions (
  id uuid primary key,
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  user_id uuid not null references users (id),
  current_merchant_id uuid references merchants (id),
  -- A membership that began later does not count: it is not the one for which the merchant was chosen.
  merchant_chosen_at timestamptz,
  address text not null,
  user_agent text not null,
  created_at timestamptz not null,
  last_seen_at timestamptz not null,
  authenticated_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz
);
create index sessions_by_user on sessions (user_id);
create index sessions_by_expiry on sessions (expires_at);

-- A sign-in whose password was right and whose second factor is missing. It is no session, so no page takes it for one.
create table pending_sign_ins (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  user_id uuid not null references users (id),
  expires_at timestamptz not null
);
create index pending_sign_ins_by_expiry on pending_sign_ins (expires_at);
create index pending_sign_ins_by_user on pending_sign_ins (user_id);

-- A browser in which the person has signed in before. It keeps its own limit on guessing while others guess.
create table known_devices (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  user_id uuid not null references users (id),
  last_used_at timestamptz not null
);
create index known_devices_by_user on known_devices (user_id);
create index known_devices_by_use on known_devices (last_used_at);

-- Failed attempts by a keyed hash of account, address and device. Unlogged: after a crash the counts begin again.
create unlogged table sign_in_limits (
  id uuid primary key,
  kind text not null check (kind in ('pair', 'device', 'account', 'address')),
  failures integer not null,
  -- Grows each time that the failures double beyond the free ones; only this is in the audit log.
  level integer not null,
  next_at timestamptz,
  failed_at timestamptz not null
);
create index sign_in_limits_by_failure on sign_in_limits (failed_at);

-- The actor of an entry may be a person. The table may be large; its rows met a stricter check, so they are not read again.
alter table audit_entries
  drop constraint audit_entries_actor_type_check,
  add constraint audit_entries_actor_type_check check (actor_type in ('api_key', 'operator', 'user')) not valid,
  add column actor_role text,
  add column session_id uuid;

-- As before; the role and the session are in the entries of people only, so the hashes of earlier entries stay the same.
create or replace function audit_record(entry audit_entries) returns jsonb language sql stable parallel safe
return jsonb_build_object(
  'chain', entry.chain_id,
  'number', entry.number,
  'uuid', entry.id,
  'actor', jsonb_build_object('type', entry.actor_type, 'id', entry.actor_id) || case entry.actor_type
    when 'user' then jsonb_build_object('role', entry.actor_role, 'session', entry.session_id)
    else '{}'
  end,
  'address', entry.address,
  'requestId', entry.request_id,
  'operation', entry.operation,
  'object', jsonb_build_object('type', entry.object_type, 'id', entry.object_id),
  'changes', entry.changes,
  'createdAt', to_char(entry.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
);

-- As before; a session is in the chain of the merchant that was chosen in it.
create or replace function collect_audit_change() returns trigger language plpgsql as $$
declare
  previous jsonb := to_jsonb(old);
  current jsonb := to_jsonb(new);
  redacted text[] := tg_argv[2];
  ignored text[] := tg_argv[3];
  collected jsonb := coalesce(nullif(current_setting('app.audit_changes', true), ''), '[]');
  before jsonb := audit_columns(previous, current, redacted, ignored);
  after jsonb := audit_columns(current, previous, redacted, ignored);
  merchant_column text := case tg_table_name
    when 'merchants' then 'id'
    when 'sessions' then 'current_merchant_id'
    else 'merchant_id'
  end;
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
    'merchant', coalesce(current, previous) -> merchant_column,
    'before', before,
    'after', after
  );
  perform set_config('app.audit_changes', collected::text, true);
  return null;
end
$$;

-- As before, with the role and the session of a person.
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
  entry.hash := audit_hash(entry);
  insert into audit_entries select entry.*;
  return null;
end
$$;

select
  audit_table('users', 'user', 'id', '{email,name,password_hash,totp_sealed,totp_pending_sealed}', '{totp_counter}'),
  audit_table('recovery_codes', 'recovery_code', 'user_id', '{hash}'),
  audit_table('passkeys', 'passkey', 'id', '{credential_id,public_key,name}', '{sign_count,is_backed_up,last_used_at}'),
  audit_table('memberships', 'membership', 'user_id'),
  audit_table('invitations', 'invitation', 'id', '{token_hash,email}'),
  audit_table('one_time_links', 'one_time_link', 'user_id', '{token_hash}'),
  audit_table('sessions', 'session', 'id', '{token_hash,user_agent}', '{last_seen_at}'),
  audit_table(
    'sign_in_limits', 'sign_in_limit', 'id', '{}', '{failures,next_at,failed_at}', 'update', 'new.level > old.level'
  );

select apply_row_level_security();
