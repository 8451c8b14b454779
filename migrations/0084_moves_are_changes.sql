-- A payment is written with its first status, and moves are the changes after it, from version 2 on: one row less for
-- each payment. A move of version 1 said only what the payment says. Those that exist stay, because to delete them
-- would write a large table: the service does not read them, and archives them with the others. No check refuses them,
-- because a merchant that moves to another cell takes them along.

-- A move may lack the one before it only if it happened before the boundary: the last move of a payment stays. The
-- first status is the one of the kind, as in src/payments/states.ts.
create or replace view invariant_i08_history_is_a_path as
select m.merchant_id, m.payment_id, m.version, 'the previous move ended in another status' as why
from moves m
left join moves b
  on b.merchant_id = m.merchant_id and b.payment_id = m.payment_id and b.version = m.version - 1
left join archive_boundaries a on a.merchant_id = m.merchant_id
where m.version > 2
  and b.to_status is distinct from m.from_status
  and (b.to_status is not null or m.at >= coalesce(a.archived_before, '-infinity'))
union all
select p.merchant_id, p.id, 1, 'the first status is not the one of the kind'
from payments p
left join moves m on m.merchant_id = p.merchant_id and m.payment_id = p.id and m.version = 2
where case p.version when 1 then p.status else m.from_status end
  <> case p.kind when 'charge' then 'processing' else 'pending' end
union all
select p.merchant_id, p.id, p.version, 'the status differs from the last move'
from payments p
left join moves m
  on m.merchant_id = p.merchant_id and m.payment_id = p.id and m.version = p.version
where p.version > 1 and m.to_status is distinct from p.status
union all
select m.merchant_id, m.payment_id, m.version, 'a move beyond the payment''s version'
from moves m
join payments p on p.merchant_id = m.merchant_id and p.id = m.payment_id
where m.version > p.version;

-- A payment and its first event have the same time, and so have a move and its event.
create or replace view invariant_i09_one_event_per_move as
select
  coalesce(m.merchant_id, e.merchant_id) as merchant_id,
  coalesce(m.payment_id, e.resource_id) as payment_id,
  coalesce(m.version, e.version) as version
from (
  select merchant_id, id as payment_id, 1 as version, created_at as at from payments
  union all
  select merchant_id, payment_id, version, at from moves where version > 1
) m
full join (select * from events where resource_type in ('payment', 'charge')) e
  on e.merchant_id = m.merchant_id and e.resource_id = m.payment_id and e.version = m.version
left join archive_boundaries a on a.merchant_id = coalesce(m.merchant_id, e.merchant_id)
where (m.version is null or e.version is null)
  and coalesce(m.at, e.created_at) >= coalesce(a.archived_before, '-infinity');
