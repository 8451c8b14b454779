-- Fewer index entries for each payment. The indexes are built before the service answers requests, in some seconds for a
-- million payments.

-- No statement uses it: sums over accounts are read from balances, and checks of all postings read the whole table.
drop index postings_by_account;

-- A charge has no page, so it needs no entry for the address of one.
alter table payments drop constraint payments_access_hash_key;
create unique index payments_access_hash_key on payments (access_hash) where access_hash is not null;

-- The resource before its type: the ids are in the order of time, so new entries are next to each other, and pages become
-- full. With the type first they were half empty.
alter table events drop constraint events_merchant_id_resource_type_resource_id_version_key;
alter table events add constraint events_merchant_id_resource_id_resource_type_version_key
unique (merchant_id, resource_id, resource_type, version);

-- Terms are found by the amount and by the metadata, never by the payment. The trigger writes one row for each payment, which
-- the invariant now checks.
alter table payment_terms drop constraint payment_terms_pkey;
drop index payment_terms_by_amount;
alter table payment_terms add primary key (merchant_id, amount_hundredths, payment_id);

create or replace view invariant_q01_payments_have_their_terms as
select p.merchant_id, p.id as payment_id
from payments p
left join payment_terms t on t.merchant_id = p.merchant_id and t.payment_id = p.id
where t.amount_hundredths is distinct from hundredths_of(p.amount_minor, p.currency)
  or t.metadata_terms is distinct from metadata_terms(p.merchant_id, p.metadata)
union all
select merchant_id, payment_id
from payment_terms
group by merchant_id, payment_id
having count(*) > 1;

-- The list of new references is merged after some thousand of them, beside the requests (src/payments/merge-references.ts).
-- With 512 kB a request merged it every 500 references, and wrote four times as much WAL for each.
alter index payment_references_search set (gin_pending_list_limit = 8192);
