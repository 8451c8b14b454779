-- What lists find a payment by is stored in the row of its reference: one row and one search index for each payment
-- instead of two. The rows are copied to a new table, because updated rows would leave it and its indexes twice as
-- large. That is done before the service starts, in about a minute for a million payments.

-- Every row is needed.
set local enable_seqscan = on;

alter table payment_references rename to old_payment_references;

-- The columns of a fixed size come first, so that nothing is lost to their alignment.
create table payment_references (
  merchant_id uuid not null,
  payment_id uuid not null,
  created_at timestamptz not null,
  amount_hundredths bigint not null,
  reference text not null,
  fingerprint bytea not null,
  -- Null, if there are none: an empty array takes thirteen bytes.
  metadata_terms bigint[]
);

alter table payment_references alter column merchant_id set (n_distinct = 10);

-- Without terms are only rows of a merchant that is moved here, while its copy is incomplete. They are copied again.
insert into payment_references (
  merchant_id, payment_id, created_at, amount_hundredths, reference, fingerprint, metadata_terms
)
select
  r.merchant_id, r.payment_id, r.created_at, coalesce(t.amount_hundredths, 0), r.reference, r.fingerprint,
  nullif(t.metadata_terms, '{}')
from old_payment_references r
left join payment_terms t on t.merchant_id = r.merchant_id and t.payment_id = r.payment_id
order by r.created_at;

-- Those of a merchant that is moved from here are copied again.
insert into move_changes (merchant_id, table_name, key)
select r.merchant_id, 'payment_references', jsonb_build_object('merchant_id', r.merchant_id, 'reference', r.reference)
from moving_merchants m
join payment_references r on r.merchant_id = m.merchant_id
where m.state in ('outgoing', 'closing');

-- The triggers that record and refuse the writes of moved merchants.
do $$
declare
  definition text;
begin
  for definition in
    select replace(pg_get_triggerdef(oid), 'old_payment_references', 'payment_references')
    from pg_trigger
    where tgrelid = 'old_payment_references'::regclass and (tgname like 'moving\_%' or tgname = 'departed_merchant')
  loop
    execute definition;
  end loop;
end
$$;

-- As before, of the new table.
create or replace view invariant_i12_reference_names_one_payment as
select
  coalesce(r.merchant_id, p.merchant_id) as merchant_id,
  coalesce(r.reference, p.reference) as reference
from payment_references r
full join payments p on p.merchant_id = r.merchant_id and p.id = r.payment_id
where r.payment_id is null or p.id is null or p.reference <> r.reference;

-- As before, with the terms.
create or replace view searched_references as
select merchant_id, reference, payment_id, created_at, metadata_terms
from payment_references
where not (select has_row_level_security()) or merchant_id = (select current_merchant());

-- As before, without the terms as a view of their own.
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
  ('phone_prompts'::regclass::oid, 'select'),
  ('phone_prompts'::regclass::oid, 'insert'),
  ('phone_prompts'::regclass::oid, 'update');

-- That a payment has one reference, and which, is invariant i12.
create or replace view invariant_q01_payments_have_their_terms as
select p.merchant_id, p.id as payment_id
from payments p
left join payment_references r on r.merchant_id = p.merchant_id and r.payment_id = p.id
where r.amount_hundredths is distinct from hundredths_of(p.amount_minor, p.currency)
  or r.metadata_terms is distinct from nullif(metadata_terms(p.merchant_id, p.metadata), '{}');

drop trigger payments_record_terms on payments;
drop function record_payment_terms;
drop view searched_payment_terms;
drop table payment_terms;
drop table old_payment_references;

alter table payment_references add primary key (merchant_id, reference);
create index payment_references_by_amount on payment_references (merchant_id, amount_hundredths, payment_id);

-- The terms contain the merchant, so a search for them needs no other column.
create index payment_references_search on payment_references
using gin (reference gin_trgm_ops, merchant_id, metadata_terms)
with (gin_pending_list_limit = 8192);

analyze payment_references;
select apply_row_level_security();
