-- A checkout that offers the customer's saved methods, because the merchant asked for it, and the attempt that charges one.

alter table payments add column offer_saved_methods boolean not null default false;

-- The saved method that the payer chose on the page. payments.payment_method_id is the method that has paid: after a decline
-- the payer may pay with another one.
alter table attempts
  add column payment_method_id uuid,
  add foreign key (merchant_id, payment_method_id) references payment_methods (merchant_id, id),
  add check (payment_method_id is null or operation = 'charge');

-- A checkout may have several attempts that charge a saved method, each with its own key.
create or replace view invariant_i07_intent_before_call as
select a.merchant_id, a.id as attempt_id, 'ended before it started' as why
from attempts a
where a.ended_at < a.started_at
union all
select a.merchant_id, a.payment_id, 'a charge has more than one key'
from attempts a
join payments p on p.merchant_id = a.merchant_id and p.id = a.payment_id
where a.operation = 'charge' and p.kind = 'charge'
group by a.merchant_id, a.payment_id
having count(distinct a.gateway_key) <> 1
union all
select p.merchant_id, p.id, 'a charge without a recorded attempt'
from payments p
where p.kind = 'charge'
  and not exists (
    select 1
    from attempts a
    where a.merchant_id = p.merchant_id and a.payment_id = p.id and a.started_at >= p.created_at
  )
union all
select a.merchant_id, a.id, 'charges a method of another customer, or of a payment that offers none'
from attempts a
join payments p on p.merchant_id = a.merchant_id and p.id = a.payment_id
join payment_methods m on m.merchant_id = a.merchant_id and m.id = a.payment_method_id
where m.customer_id <> p.customer_id or not p.offer_saved_methods or p.link_id is not null
union all
select a.merchant_id, a.id, 'a charge at a checkout without its saved method'
from attempts a
join payments p on p.merchant_id = a.merchant_id and p.id = a.payment_id
where a.operation = 'charge' and p.kind = 'checkout' and a.payment_method_id is null;
