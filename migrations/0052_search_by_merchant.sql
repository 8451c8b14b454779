-- A search of references reads the entries of its own merchant only. The index with the reference alone was combined with all
-- references of the merchant, and contained those of all others. It is built before the service starts, in about four seconds
-- for a million references. The reference comes first: only the entries that have the text are looked up among those of the
-- merchant.
create extension if not exists btree_gin;

drop index payment_references_search;
create index payment_references_search on payment_references using gin (reference gin_trgm_ops, merchant_id)
with (gin_pending_list_limit = 512);

-- A search sorts the references that it finds by time, without reading their payments.
create or replace view searched_references as
select merchant_id, reference, payment_id, created_at
from payment_references
where not (select has_row_level_security()) or merchant_id = (select current_merchant());
