-- A second wall between merchants: what a merchant's key asks for runs as a role that sees the rows of this merchant only.

create function current_merchant() returns uuid language sql stable parallel safe
-- After the transaction that has set it, the setting is empty and no longer absent.
return nullif(current_setting('app.merchant_id', true), '')::uuid;

-- What stands behind the wall, and by which column. A partition is reached through its table, which has the policy; by itself
-- the role may not touch it.
create view tenant_tables as
select c.oid as table_id, c.relname as table_name, a.attname as column_name, c.relrowsecurity as row_security_enabled
from pg_class c
join pg_attribute a on a.attrelid = c.oid and not a.attisdropped
where c.relnamespace = current_schema()::regnamespace
  and c.relkind in ('r', 'p')
  and not c.relispartition
  and a.attname = case when c.relname = 'merchants' then 'id' else 'merchant_id' end;

-- Searches by trigrams cannot go by their index under a policy: like is not leakproof, so the policy comes before it. They
-- read these views instead, which have the same condition and let the planner choose. Nobody sends statements of their own
-- here, so there is no function by which rows could leak. In parentheses each question is asked once and not for every row.
create function has_row_level_security() returns boolean language sql stable parallel safe
return current_setting('role') = 'cowry_merchant';

create view searched_customers as
select merchant_id, id, email_key, search_text, created_at
from customers
where not (select has_row_level_security()) or merchant_id = (select current_merchant());

create view searched_references as
select merchant_id, reference, payment_id
from payment_references
where not (select has_row_level_security()) or merchant_id = (select current_merchant());

create view searched_refunds as
select merchant_id, id, payment_reference
from refunds
where not (select has_row_level_security()) or merchant_id = (select current_merchant());

create view searched_links as
select *
from payment_links
where not (select has_row_level_security()) or merchant_id = (select current_merchant());

-- What requests of merchants may do at most. Whoever makes keys locks the row of the merchant, which takes the right to
-- update it. Phones are counted over all merchants, by a hash.
create view tenant_role_privileges as
select t.table_id, p.privilege
from tenant_tables t
cross join unnest(array['select', 'insert', 'update', 'delete']) as p (privilege)
where t.column_name = 'merchant_id'
union all
values
  ('merchants'::regclass::oid, 'select'),
  ('merchants'::regclass::oid, 'update'),
  ('searched_customers'::regclass::oid, 'select'),
  ('searched_references'::regclass::oid, 'select'),
  ('searched_refunds'::regclass::oid, 'select'),
  ('searched_links'::regclass::oid, 'select'),
  ('phone_prompts'::regclass::oid, 'select'),
  ('phone_prompts'::regclass::oid, 'insert'),
  ('phone_prompts'::regclass::oid, 'update');

-- Since PostgreSQL 16 a role may be given to be administered without letting its holder become it.
create function can_set_merchant_role() returns boolean language sql stable
return (
  select coalesce(
    bool_or(
      pg_has_role(oid, case when current_setting('server_version_num')::integer < 160000 then 'member' else 'set' end)
    ),
    false
  )
  from pg_roles
  where rolname = 'cowry_merchant'
);

create view invariant_i15_tenants_are_isolated as
select t.table_name::text as what, 'has no policy in force' as why
from tenant_tables t
where not t.row_security_enabled or not exists (select from pg_policy p where p.polrelid = t.table_id)
union all
select 'cowry_merchant', 'is no role that this user may become'
where not can_set_merchant_role()
union all
select p.table_id::regclass::text, 'is closed to cowry_merchant: ' || p.privilege
from tenant_role_privileges p
join pg_roles r on r.rolname = 'cowry_merchant'
where not has_table_privilege(r.oid, p.table_id, p.privilege);

-- Here and at every start, so that a table that was added and a role that was given are found. It changes only what is not as
-- it should be: usually nothing, and then no table is locked. A user who may make no roles leaves the wall unfinished; the
-- view above tells.
create function apply_row_level_security() returns void language plpgsql as $$
declare
  missing record;
begin
  -- The lock of the migrations.
  perform pg_advisory_xact_lock(7061646);
  for missing in
    select *
    from tenant_tables t
    where not exists (select from pg_policy p where p.polrelid = t.table_id)
  loop
    execute format(
      'create policy tenant_isolation on %I using (%I = current_merchant())', missing.table_name, missing.column_name
    );
  end loop;
  for missing in select * from tenant_tables where not row_security_enabled loop
    execute format('alter table %I enable row level security', missing.table_name);
  end loop;

  begin
    if not exists (select from pg_roles where rolname = 'cowry_merchant') then
      create role cowry_merchant nologin;
    end if;
  exception
    -- The role belongs to the whole server, and another database of it may make it at this moment.
    when insufficient_privilege or duplicate_object or unique_violation then null;
  end;
  begin
    if not can_set_merchant_role() then
      execute format('grant cowry_merchant to %I', current_user);
    end if;
  exception
    when insufficient_privilege or undefined_object then null;
  end;
  for missing in
    select p.table_id::regclass as table_name, string_agg(p.privilege, ', ') as privileges
    from tenant_role_privileges p
    join pg_roles r on r.rolname = 'cowry_merchant'
    where not has_table_privilege(r.oid, p.table_id, p.privilege)
    group by p.table_id
  loop
    execute format('grant %s on %s to cowry_merchant', missing.privileges, missing.table_name);
  end loop;
  if exists (
    select
    from pg_roles r
    where r.rolname = 'cowry_merchant' and not has_schema_privilege(r.oid, current_schema(), 'usage')
  ) then
    execute format('grant usage on schema %I to cowry_merchant', current_schema());
  end if;
end
$$;

select apply_row_level_security();
