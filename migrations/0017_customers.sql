-- What a merchant does with customers and their saved methods, the events of both, and lists of payments by any filter.

-- Why a customer is blocked; null for one who is not.
alter table customers add column status_reason text;

-- A revoked method stays revoked, and its token with it: the same card saved again is another record with another token.
alter table payment_methods drop constraint one_method_per_card;
create unique index one_method_per_card
on payment_methods (merchant_id, customer_id, gateway, account_id, fingerprint) nulls not distinct
where status <> 'revoked';
-- Grows by one with every event of the method.
alter table payment_methods add column version integer not null default 1 check (version >= 1);
-- The saving that was told by the last payment_method.saved: a method that expired and was renewed is told of again.
alter table payment_methods add column save_id uuid;
-- Who has ended is not what a merchant charges by default.
alter table payment_methods add constraint default_is_active check (status = 'active' or not is_default);
-- Rows leave this index when the job has written the expiry down.
create index payment_methods_expiring on payment_methods (expires_at) where status = 'active' and expires_at is not null;

-- Lists go by these, newest or oldest first. A customer has few payments, so that index has no filters in it.
drop index payments_by_customer;
create index payments_by_customer on payments (merchant_id, customer_id, created_at, id);
-- A merchant has few different triples of state, currency and gateway: a list by any of the three reads the first rows of
-- each triple that fits, however many payments there are.
create index payments_by_filter on payments (merchant_id, kind, status, currency, gateway, created_at, id);
-- References are searched where they are never updated, so each is indexed once.
create index payment_references_search on payment_references using gin (reference gin_trgm_ops);

-- Every customer and saved method that has events has them in one row without gaps, and none of them is told twice as new.
create view invariant_i09_customer_events as
select merchant_id, resource_type, resource_id, 'versions have a gap' as why
from events
where resource_type in ('customer', 'payment_method')
group by merchant_id, resource_type, resource_id
having count(*) <> max(version) - min(version) + 1
union all
select merchant_id, resource_type, resource_id, 'created more than once'
from events
where type = 'customer.created'
group by merchant_id, resource_type, resource_id
having count(*) > 1
union all
select m.merchant_id, 'payment_method', m.id, 'revoked without an event'
from payment_methods m
where m.status = 'revoked'
  and not exists (
    select 1
    from events e
    where e.merchant_id = m.merchant_id
      and e.resource_type = 'payment_method'
      and e.resource_id = m.id
      and e.type = 'payment_method.revoked'
      and e.version = m.version
  )
union all
select e.merchant_id, e.resource_type, e.resource_id, 'an event of a customer who does not exist'
from events e
left join customers c on c.merchant_id = e.merchant_id and c.id = e.resource_id
where e.resource_type = 'customer' and c.id is null
union all
select e.merchant_id, e.resource_type, e.resource_id, 'an event of a method that does not exist'
from events e
left join payment_methods m on m.merchant_id = e.merchant_id and m.id = e.resource_id
where e.resource_type = 'payment_method' and m.id is null;
