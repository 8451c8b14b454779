-- In a distributed schema the numbers of identity columns are taken by the role of the session, so the role of merchants may
-- take them.

-- As before, with the sequences of the tables.
create or replace view tenant_role_privileges as
select t.table_id, p.privilege
from tenant_tables t
cross join unnest(array['select', 'insert', 'update', 'delete']) as p (privilege)
where t.column_name = 'merchant_id'
union all
select d.objid, 'update'
from tenant_tables t
join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = t.table_id and d.deptype = 'i'
join pg_class s on d.classid = 'pg_class'::regclass and s.oid = d.objid and s.relkind = 'S'
where t.column_name = 'merchant_id'
union all
values
  ('merchants'::regclass::oid, 'select'),
  ('merchants'::regclass::oid, 'update'),
  ('searched_customers'::regclass::oid, 'select'),
  ('searched_references'::regclass::oid, 'select'),
  ('searched_refunds'::regclass::oid, 'select'),
  ('searched_links'::regclass::oid, 'select'),
  ('searched_payment_terms'::regclass::oid, 'select'),
  ('phone_prompts'::regclass::oid, 'select'),
  ('phone_prompts'::regclass::oid, 'insert'),
  ('phone_prompts'::regclass::oid, 'update');

select apply_row_level_security();
