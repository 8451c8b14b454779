-- Row-level security isolates tenants: requests of a merchant run as a role that sees the rows of this merchant only.

create function current_merchant() returns uuid language sql stable parallel safe
-- After the transaction that set it, the setting is empty instead of absent.
return nullif(current_setting('app.merchant_id', true), '')::uuid;

-- The tables with row-level security, and the column that names the tenant. Queries reach a partition through its parent,
-- which has the policy; the role has no privileges on the partition itself.
create view tenant_tables as
select c.oid as table_id, c.relname as table_name, a.attname as column_name, c.relrowsecurity as row_security_enabled
from pg_class c
join pg_attribute a on a.attrelid = c.oid and not a.attisdropped
where c.relnamespace = current_schema()::regnamespace
  and c.relkind in ('r', 'p')
  and not c.relispartition
  and a.attname = case when c.relname = 'merchants' then 'id' else 'merchant_id' end;

-- A policy keeps trigram searches from using their index: LIKE is not leakproof, so PostgreSQL applies the policy first. The
-- searches read these views instead, which have the same condition and leave the choice to the planner. Merchants cannot
-- send SQL, so no function of theirs can leak rows. The scalar subqueries are evaluated once and not for every row.
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

-- The privileges of the role. Creating an API key locks the row of the merchant, which requires the update privilege. Phone
-- prompts are counted by a hash over all merchants.
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

-- Since PostgreSQL 16 a member of a role may lack the privilege to SET ROLE to it.
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
select t.table_name::text as what, 'has no active row-level security policy' as why
from tenant_tables t
where not t.row_security_enabled or not exists (select from pg_policy p where p.polrelid = t.table_id)
union all
select 'cowry_merchant', 'is not a role that this user may set'
where not can_set_merchant_role()
union all
select p.table_id::regclass::text, 'lacks a privilege of cowry_merchant: ' || p.privilege
from tenant_role_privileges p
join pg_roles r on r.rolname = 'cowry_merchant'
where not has_table_privilege(r.oid, p.table_id, p.privilege);

-- Runs here and at every start, so that it covers new tables and a role that was granted later. It changes only what is
-- missing: usually nothing, and then it locks no table. If the database user may not create roles, isolation stays
-- incomplete, and the view above reports it.
create function apply_row_level_security() returns void language plpgsql as $$
declare
  missing record;
begin
  -- The advisory lock of the migrations.
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
    -- Roles belong to the whole server, and a service on another database may create the role at the same time.
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

-- Without statistics the planner assumes one row per merchant. Then any index that starts with merchant_id seems as good as
-- the primary key, and the lookup of one payment reads all payments of its merchant: measured, half of the database time of
-- a charge, growing until the next analyze. With ten distinct merchants the planner always uses the whole key.
-- A merchant has few webhook endpoints, and the fan-out reads all of them. With ten merchants the planner reads those of
-- every merchant: measured, 2.6 instead of 1.0 ms for sixteen events where ten thousand merchants have one each.
do $$
declare
  tenant_table record;
begin
  for tenant_table in
    select c.oid::regclass as name, case when c.relname = 'webhook_endpoints' then -0.25 else 10 end as n_distinct
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attname = 'merchant_id' and not a.attisdropped
    where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and not c.relispartition
  loop
    execute format(
      'alter table %s alter column merchant_id set (n_distinct = %s)', tenant_table.name, tenant_table.n_distinct
    );
    execute format('analyze %s', tenant_table.name);
  end loop;
end
$$;
