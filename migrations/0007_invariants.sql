-- What must always be true, one view each that returns the violating rows: empty is the gate.

create view invariant_i01_entries_balance as
select merchant_id, entry_id, currency, sum(amount_minor) as sum_minor
from postings
group by merchant_id, entry_id, currency
having sum(amount_minor) <> 0
union all
select e.merchant_id, e.id, null, null
from ledger_entries e
where not exists (select 1 from postings p where p.merchant_id = e.merchant_id and p.entry_id = e.id);

create view invariant_i02_currencies_balance as
select currency, sum(amount_minor) as sum_minor
from postings
group by currency
having sum(amount_minor) <> 0;

create view invariant_i03_balances_match_postings as
with shown as (
  select merchant_id, currency, account, sum(amount_minor) as amount_minor
  from (
    select merchant_id, currency, account, amount_minor from balances
    union all
    select merchant_id, currency, account, amount_minor from balance_deltas
  ) parts
  group by merchant_id, currency, account
),
booked as (
  select merchant_id, currency, account, sum(amount_minor) as amount_minor
  from postings
  where account in ('available', 'pending')
  group by merchant_id, currency, account
)
select merchant_id, currency, account, shown.amount_minor as shown_minor, booked.amount_minor as booked_minor
from shown
full join booked using (merchant_id, currency, account)
where coalesce(shown.amount_minor, 0) <> coalesce(booked.amount_minor, 0);

create view invariant_i04_one_credit_per_success as
select p.merchant_id, p.id as payment_id, p.status, count(e.id) as captures
from payments p
left join ledger_entries e
  on e.merchant_id = p.merchant_id and e.payment_id = p.id and e.kind = 'capture'
group by p.merchant_id, p.id, p.status
having count(e.id) <> case
  when p.status in ('successful', 'partially_refunded', 'refunded', 'disputed', 'reversed') then 1
  else 0
end
union all
select merchant_id, id, status, null
from payments
where refunded_minor > coalesce(amount_paid_minor, 0);

create view invariant_i05_credit_has_proof as
select e.merchant_id, e.id as entry_id, e.payment_id
from ledger_entries e
join payments p on p.merchant_id = e.merchant_id and p.id = e.payment_id
left join attempts a on a.merchant_id = e.merchant_id and a.id = e.attempt_id
where e.kind = 'capture'
  and (
    a.id is null
    or a.payment_id <> p.id
    or a.paid_minor is distinct from p.amount_minor
    or a.paid_currency is distinct from p.currency
  );

create view invariant_i07_intent_before_call as
select a.merchant_id, a.id as attempt_id, 'ended before it started' as why
from attempts a
where a.ended_at < a.started_at
union all
select merchant_id, payment_id, 'a charge has not exactly one key'
from attempts
where operation = 'charge'
group by merchant_id, payment_id
having count(distinct gateway_key) <> 1
union all
select p.merchant_id, p.id, 'a charge without a recorded attempt'
from payments p
where p.kind = 'charge'
  and not exists (
    select 1
    from attempts a
    where a.merchant_id = p.merchant_id and a.payment_id = p.id and a.started_at >= p.created_at
  );

create view invariant_i08_history_is_a_path as
select m.merchant_id, m.payment_id, m.version, 'does not continue the move before it' as why
from moves m
left join moves b
  on b.merchant_id = m.merchant_id and b.payment_id = m.payment_id and b.version = m.version - 1
where m.version > 1 and b.to_status is distinct from m.from_status
union all
select p.merchant_id, p.id, p.version, 'the payment is not where its last move led'
from payments p
left join moves m
  on m.merchant_id = p.merchant_id and m.payment_id = p.id and m.version = p.version
where m.to_status is distinct from p.status
union all
select m.merchant_id, m.payment_id, m.version, 'a move beyond the payment''s version'
from moves m
join payments p on p.merchant_id = m.merchant_id and p.id = m.payment_id
where m.version > p.version;

create view invariant_i09_one_event_per_move as
select
  coalesce(m.merchant_id, e.merchant_id) as merchant_id,
  coalesce(m.payment_id, e.resource_id) as payment_id,
  coalesce(m.version, e.version) as version
from moves m
full join (select * from events where resource_type in ('payment', 'charge')) e
  on e.merchant_id = m.merchant_id and e.resource_id = m.payment_id and e.version = m.version
where m.version is null or e.version is null;

create view invariant_i12_reference_names_one_payment as
select
  coalesce(r.merchant_id, p.merchant_id) as merchant_id,
  coalesce(r.reference, p.reference) as reference
from payment_references r
full join payments p on p.merchant_id = r.merchant_id and p.id = r.payment_id
where r.payment_id is null or p.id is null or p.reference <> r.reference;

create view invariant_i13_open_payments_are_scheduled as
select p.merchant_id, p.id as payment_id, p.status
from payments p
where p.status in ('pending', 'processing')
  and p.due_at is null
  and coalesce(p.status_reason, '') not in ('amount_mismatch', 'requires_review')
  and not exists (
    select 1
    from attempts a
    where a.merchant_id = p.merchant_id and a.payment_id = p.id and a.due_at is not null
  );

create view invariant_i14_failed_on_proof as
select p.merchant_id, p.id as payment_id, m.proof
from payments p
left join moves m
  on m.merchant_id = p.merchant_id and m.payment_id = p.id and m.version = p.version
where p.status = 'failed'
  and (p.failure_code is null or coalesce(m.proof, '') not in ('declined', 'not_sent', 'expired_verified'));

create view invariant_i15_children_share_the_merchant as
select a.merchant_id, a.id as child_id, 'attempt' as child
from attempts a
left join payments p on p.merchant_id = a.merchant_id and p.id = a.payment_id
where p.id is null
union all
select e.merchant_id, e.id, 'ledger entry'
from ledger_entries e
left join payments p on p.merchant_id = e.merchant_id and p.id = e.payment_id
where p.id is null
union all
select p.merchant_id, p.id, 'payment'
from payments p
left join customers c on c.merchant_id = p.merchant_id and c.id = p.customer_id
where c.id is null
union all
select m.merchant_id, m.id, 'payment method'
from payment_methods m
left join customers c on c.merchant_id = m.merchant_id and c.id = m.customer_id
where c.id is null
union all
select v.merchant_id, v.id, 'event'
from events v
left join payments p on p.merchant_id = v.merchant_id and p.id = v.resource_id
where v.resource_type in ('payment', 'charge') and p.id is null;

-- The number of violations of every invariant, so that a new view is checked without a new line of code.
create function count_invariants() returns jsonb language plpgsql stable as $$
declare
  report jsonb := '{}';
  view_name text;
  violations bigint;
begin
  for view_name in
    select viewname
    from pg_views
    where schemaname = current_schema() and viewname like 'invariant\_%'
  loop
    execute format('select count(*) from %I', view_name) into violations;
    report := report || jsonb_build_object(view_name, violations);
  end loop;
  return report;
end
$$;
