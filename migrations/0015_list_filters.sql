-- Filters of the payment lists: channel, failure code, status reason, amount, time of payment and metadata.

-- The channel of the latest attempt; once the payment is paid, of the attempt that was paid. Null: no attempt yet.
alter table payments add column channel text;

-- A merchant has a few dozen combinations of these columns. A list that filters by any of them reads the first rows of each
-- matching combination, however many payments there are. A row comparison with null would find nothing, hence the coalesce.
drop index payments_by_filter;
create index payments_by_filter on payments (
  merchant_id, kind, status, currency, gateway, coalesce(channel, ''), coalesce(failure_code, ''),
  coalesce(status_reason, ''), created_at, id
);

create index payments_by_payment_time on payments (merchant_id, paid_at, id) where paid_at is not null;

-- Amounts of all currencies on one scale: two decimals, as the API writes them.
create function hundredths_of(minor bigint, currency text) returns bigint language sql immutable parallel safe
return case when currency in ('BIF', 'RWF', 'UGX', 'XAF', 'XOF') then minor * 100 else minor end;

-- One number for each key with its value, salted with the merchant: a lookup reads only the entries of this merchant. Two
-- pairs may have the same number, so the statement also compares the metadata itself. Nested values are not indexed.
create function metadata_terms(merchant_id uuid, metadata jsonb) returns bigint[] language sql immutable parallel safe
return array(
  select hashtextextended(jsonb_build_array(merchant_id, m.key, m.value #>> '{}')::text, 0)
  from jsonb_each(metadata) m
  where jsonb_typeof(m.value) in ('string', 'number', 'boolean')
);

-- What lists search by and what never changes. The row of a payment is updated several times, and each update writes all of
-- its indexes again; these rows are indexed once. There is no foreign key, because it would lock, and so write, each payment
-- once more; an invariant checks the rows.
create table payment_terms (
  merchant_id uuid not null,
  payment_id uuid not null,
  amount_hundredths bigint not null,
  metadata_terms bigint[] not null,
  primary key (merchant_id, payment_id)
);

create index payment_terms_by_amount on payment_terms (merchant_id, amount_hundredths, payment_id);
create index payment_terms_by_metadata on payment_terms using gin (metadata_terms)
with (gin_pending_list_limit = 512)
where metadata_terms <> '{}';

alter table payment_terms alter column merchant_id set (n_distinct = 10);

create function record_payment_terms() returns trigger language plpgsql as $$
begin
  insert into payment_terms (merchant_id, payment_id, amount_hundredths, metadata_terms)
  select merchant_id, id, hundredths_of(amount_minor, currency), metadata_terms(merchant_id, metadata)
  from added;
  return null;
end
$$;

create trigger payments_record_terms after insert on payments
referencing new table as added
for each statement execute function record_payment_terms();

insert into payment_terms (merchant_id, payment_id, amount_hundredths, metadata_terms)
select merchant_id, id, hundredths_of(amount_minor, currency), metadata_terms(merchant_id, metadata)
from payments;

update payments p
set channel = a.channel
from attempts a
where a.merchant_id = p.merchant_id and a.payment_id = p.id and a.number = p.attempts_used;

analyze payments, payment_terms;

-- As searched_customers and the others (0013_row_level_security.sql): the array operators are not leakproof.
create view searched_payment_terms as
select merchant_id, payment_id, metadata_terms
from payment_terms
where not (select has_row_level_security()) or merchant_id = (select current_merchant());

create or replace view tenant_role_privileges as
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
  ('searched_payment_terms'::regclass::oid, 'select'),
  ('phone_prompts'::regclass::oid, 'select'),
  ('phone_prompts'::regclass::oid, 'insert'),
  ('phone_prompts'::regclass::oid, 'update');

create view invariant_q01_payments_have_their_terms as
select p.merchant_id, p.id as payment_id
from payments p
left join payment_terms t on t.merchant_id = p.merchant_id and t.payment_id = p.id
where t.amount_hundredths is distinct from hundredths_of(p.amount_minor, p.currency)
  or t.metadata_terms is distinct from metadata_terms(p.merchant_id, p.metadata);

select apply_row_level_security();
