-- What must always be true: each view returns the violating rows, so an empty view means that the invariant holds.

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
    select merchant_id, currency, 'available' as account, available_minor as amount_minor from balances
    union all
    select merchant_id, currency, 'pending', pending_minor from balances
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

-- Only pending money becomes available, and all pending money has a scheduled settlement.
create view invariant_i03_settlements_match_pending as
with booked as (
  select merchant_id, currency, sum(amount_minor) as amount_minor
  from postings
  where account = 'pending'
  group by merchant_id, currency
),
expected as (
  select merchant_id, currency, sum(amount_minor) as amount_minor
  from pending_settlements
  group by merchant_id, currency
)
select merchant_id, currency, booked.amount_minor as booked_minor, expected.amount_minor as expected_minor
from booked
full join expected using (merchant_id, currency)
where coalesce(booked.amount_minor, 0) <> coalesce(expected.amount_minor, 0);

-- The statement has a line for every posting to a balance, numbered without gaps and in the order of time. Each line's
-- balances are the sums up to it, and the last line's are the balances.
create view invariant_i03_statement_matches_postings as
with summed as (
  select
    merchant_id, currency, number, available_minor, pending_minor,
    row_number() over line as counted,
    coalesce(sum(amount_minor) filter (where account = 'available') over line, 0) as available_sum,
    coalesce(sum(amount_minor) filter (where account = 'pending') over line, 0) as pending_sum,
    created_at < lag(created_at) over line as is_out_of_order
  from wallet_lines
  window line as (partition by merchant_id, currency order by number rows unbounded preceding)
)
select merchant_id, currency, number, 'the number, the order or the balances are wrong' as why
from summed
where number <> counted or available_minor <> available_sum or pending_minor <> pending_sum or is_out_of_order
union all
select b.merchant_id, b.currency, b.lines, 'the last line differs from the balance'
from balances b
left join wallet_lines l
  on l.merchant_id = b.merchant_id and l.currency = b.currency and l.number = b.lines
where l.available_minor is distinct from b.available_minor
  or l.pending_minor is distinct from b.pending_minor
  or exists (
    select
    from wallet_lines m
    where m.merchant_id = b.merchant_id and m.currency = b.currency and m.number > b.lines
  )
union all
select coalesce(p.merchant_id, s.merchant_id), coalesce(p.currency, s.currency), s.number, 'posting and line differ'
from (
  select p.merchant_id, p.currency, p.entry_id, p.position, p.account, p.amount_minor, e.kind, e.payment_id
  from postings p
  join ledger_entries e on e.merchant_id = p.merchant_id and e.id = p.entry_id
  where p.account in ('available', 'pending')
) p
full join (
  select merchant_id, currency, entry_id, position, account, amount_minor, kind, payment_id, number from wallet_lines
  union all
  select merchant_id, currency, entry_id, position, account, amount_minor, kind, payment_id, null from balance_deltas
) s using (merchant_id, currency, entry_id, position, account, amount_minor, kind, payment_id)
where p.entry_id is null or s.entry_id is null;

-- A payment is disputed while a dispute is open and reversed after one was lost. The ledger account "disputed" holds exactly
-- the amounts of the open disputes.
create view invariant_i04_disputes_follow_payments as
select p.merchant_id, p.id as payment_id, p.status, 'the status does not match the disputes' as why
from payments p
left join (
  select
    merchant_id, payment_id,
    count(*) filter (where status = 'open') as opened,
    count(*) filter (where status = 'lost') as lost
  from disputes
  group by merchant_id, payment_id
) d on d.merchant_id = p.merchant_id and d.payment_id = p.id
where (p.status = 'disputed') <> (coalesce(d.opened, 0) = 1)
  or (p.status = 'reversed') <> (coalesce(d.lost, 0) > 0)
union all
select
  coalesce(d.merchant_id, b.merchant_id), coalesce(d.payment_id, b.payment_id), null,
  'the ledger differs from the open dispute'
from (select * from disputes where status = 'open' and amount_minor > 0) d
full join (
  select e.merchant_id, e.payment_id, sum(p.amount_minor) as held_minor
  from ledger_entries e
  join postings p on p.merchant_id = e.merchant_id and p.entry_id = e.id
  where p.account = 'disputed'
  group by e.merchant_id, e.payment_id
  having sum(p.amount_minor) <> 0
) b on b.merchant_id = d.merchant_id and b.payment_id = d.payment_id
where d.amount_minor is distinct from b.held_minor
union all
select p.merchant_id, p.id, null, 'refunds and lost disputes exceed the amount paid'
from payments p
join (
  select merchant_id, payment_id, sum(amount_minor) as lost_minor
  from disputes
  where status = 'lost'
  group by merchant_id, payment_id
) d on d.merchant_id = p.merchant_id and d.payment_id = p.id
where d.lost_minor + p.refunded_minor > coalesce(p.amount_paid_minor, 0);

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

create view invariant_i04_refunds_within_paid as
with totals as (
  select
    merchant_id, payment_id,
    coalesce(sum(amount_minor) filter (where status = 'successful'), 0) as refunded_minor,
    coalesce(sum(amount_minor) filter (where status = 'pending'), 0) as reserved_minor
  from refunds
  where not is_duplicate
  group by merchant_id, payment_id
)
select p.merchant_id, p.id as payment_id, 'the amounts differ from the refunds' as why
from payments p
left join totals t on t.merchant_id = p.merchant_id and t.payment_id = p.id
where p.refunded_minor <> coalesce(t.refunded_minor, 0) or p.refund_reserved_minor <> coalesce(t.reserved_minor, 0)
union all
select merchant_id, id, 'the status does not match the refunded amount'
from payments
where (status = 'refunded' and refunded_minor <> amount_paid_minor)
  or (status = 'partially_refunded' and (refunded_minor = 0 or refunded_minor = amount_paid_minor))
union all
select a.merchant_id, a.payment_id, 'the amount of the attempt differs from its refund'
from attempts a
left join refunds r
  on r.merchant_id = a.merchant_id and r.attempt_id = a.id and r.is_duplicate and r.status = 'successful'
where a.refunded_minor <> coalesce(r.amount_minor, 0)
  or (r.id is not null and (a.status <> 'duplicate_success' or r.amount_minor <> a.paid_minor));

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

create view invariant_i05_refund_has_entry as
select coalesce(r.merchant_id, e.merchant_id) as merchant_id, coalesce(r.id, e.refund_id) as refund_id
from (select * from refunds where status = 'successful') r
full join (
  select e.merchant_id, e.refund_id, e.payment_id, sum(p.amount_minor) as amount_minor
  from ledger_entries e
  join postings p on p.merchant_id = e.merchant_id and p.entry_id = e.id
  where e.kind = 'refund' and p.account like 'gateway:%'
  group by e.merchant_id, e.refund_id, e.payment_id
) e on e.merchant_id = r.merchant_id and e.refund_id = r.id
where r.id is null
  or e.refund_id is null
  or e.payment_id <> r.payment_id
  or e.amount_minor <> r.amount_minor;

create view invariant_i07_intent_before_call as
select a.merchant_id, a.id as attempt_id, 'ended before it started' as why
from attempts a
where a.ended_at < a.started_at
union all
select merchant_id, payment_id, 'a charge has more than one key'
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
select m.merchant_id, m.payment_id, m.version, 'the previous move ended in another status' as why
from moves m
left join moves b
  on b.merchant_id = m.merchant_id and b.payment_id = m.payment_id and b.version = m.version - 1
where m.version > 1 and b.to_status is distinct from m.from_status
union all
select p.merchant_id, p.id, p.version, 'the status differs from the last move'
from payments p
left join moves m
  on m.merchant_id = p.merchant_id and m.payment_id = p.id and m.version = p.version
where m.to_status is distinct from p.status
union all
select m.merchant_id, m.payment_id, m.version, 'a move beyond the payment''s version'
from moves m
join payments p on p.merchant_id = m.merchant_id and p.id = m.payment_id
where m.version > p.version;

-- The event versions of a customer or saved method have no gaps, and a customer is created once.
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

create view invariant_i09_one_event_per_move as
select
  coalesce(m.merchant_id, e.merchant_id) as merchant_id,
  coalesce(m.payment_id, e.resource_id) as payment_id,
  coalesce(m.version, e.version) as version
from moves m
full join (select * from events where resource_type in ('payment', 'charge')) e
  on e.merchant_id = m.merchant_id and e.resource_id = m.payment_id and e.version = m.version
where m.version is null or e.version is null;

create view invariant_i09_one_event_per_refund_move as
select r.merchant_id, r.id as refund_id, count(e.id) as events
from refunds r
left join events e on e.merchant_id = r.merchant_id and e.resource_type = 'refund' and e.resource_id = r.id
group by r.merchant_id, r.id, r.version
having count(e.id) <> r.version or max(e.version) <> r.version
union all
select e.merchant_id, e.resource_id, 0
from events e
left join refunds r on r.merchant_id = e.merchant_id and r.id = e.resource_id
where e.resource_type = 'refund' and r.id is null;

-- Five seconds, because a concurrent transaction on a machine with another clock may insert an event while the endpoint is
-- saved.
create view invariant_i10_no_delivery_missing as
select v.merchant_id, v.id as event_id, e.id as endpoint_id, 'the delivery is missing' as why
from webhook_endpoints e
join events v on v.merchant_id = e.merchant_id and v.created_at > e.checked_from + interval '5 seconds'
where e.status = 'enabled'
  and is_subscribed_to_event(e.id, e.events, v.type, v.resource_id)
  and not exists (
    select 1
    from deliveries d
    where d.merchant_id = v.merchant_id and d.event_id = v.id and d.endpoint_id = e.id
  )
union all
select d.merchant_id, d.event_id, d.endpoint_id, 'the event or the endpoint does not exist'
from deliveries d
left join events v on v.merchant_id = d.merchant_id and v.id = d.event_id
left join webhook_endpoints e on e.merchant_id = d.merchant_id and e.id = d.endpoint_id
where v.id is null or e.id is null;

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

create view invariant_i15_accounts_share_the_merchant as
select a.merchant_id, a.id as child_id, 'attempt' as child
from attempts a
left join gateway_accounts g on g.merchant_id = a.merchant_id and g.id = a.account_id
where a.account_id is not null and g.gateway is distinct from a.gateway
union all
select m.merchant_id, m.id, 'payment method'
from payment_methods m
left join gateway_accounts g on g.merchant_id = m.merchant_id and g.id = m.account_id
where m.account_id is not null and g.gateway is distinct from m.gateway;

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

create view invariant_i15_refunds_match_attempt as
select r.merchant_id, r.id as refund_id
from refunds r
join attempts a on a.merchant_id = r.merchant_id and a.id = r.attempt_id
where a.payment_id <> r.payment_id
  or a.gateway_key <> r.attempt_key
  or a.gateway <> r.gateway
  or a.account_id is distinct from r.account_id;

create view invariant_l01_links_count_their_payments as
with shown as (
  select
    l.merchant_id, l.id as link_id, l.payments_count + count(p.payment_id) as payments,
    l.collected_minor + coalesce(sum(p.paid_minor), 0) as collected_minor
  from payment_links l
  left join payment_link_slots p
    on p.merchant_id = l.merchant_id and p.link_id = l.id and p.paid_at is not null
  group by l.merchant_id, l.id
),
paid as (
  select merchant_id, link_id, count(*) as payments, sum(amount_paid_minor) as collected_minor
  from payments
  where link_id is not null
    and status in ('successful', 'partially_refunded', 'refunded', 'disputed', 'reversed')
  group by merchant_id, link_id
)
select s.merchant_id, s.link_id, s.payments as shown, p.payments as paid
from shown s
left join paid p on p.merchant_id = s.merchant_id and p.link_id = s.link_id
where s.payments <> coalesce(p.payments, 0) or s.collected_minor <> coalesce(p.collected_minor, 0);

create view invariant_l02_no_charge_without_slot as
select p.merchant_id, p.id as payment_id, 'processing without a slot' as why
from payments p
left join payment_link_slots s on s.merchant_id = p.merchant_id and s.payment_id = p.id
where p.link_id is not null and p.status = 'processing' and s.payment_id is null
union all
select s.merchant_id, s.payment_id, 'a slot of a payment that has ended'
from payment_link_slots s
join payments p on p.merchant_id = s.merchant_id and p.id = s.payment_id
where s.paid_at is null and p.status not in ('pending', 'processing')
union all
select s.merchant_id, s.payment_id, 'a slot of another link'
from payment_link_slots s
join payments p on p.merchant_id = s.merchant_id and p.id = s.payment_id
where s.link_id is distinct from p.link_id;

-- Only late payments may exceed the maximum: payments that had ended unpaid and were paid afterwards.
create view invariant_l03_links_respect_max_payments as
select l.merchant_id, l.id as link_id, l.max_payments, l.payments_count + count(s.payment_id) as slots
from payment_links l
left join payment_link_slots s on s.merchant_id = l.merchant_id and s.link_id = l.id
where l.max_payments is not null
group by l.merchant_id, l.id, l.max_payments, l.payments_count
having l.payments_count + count(s.payment_id) > l.max_payments + (
  select count(distinct m.payment_id)
  from payments p
  join moves m on m.merchant_id = p.merchant_id and m.payment_id = p.id
  where p.merchant_id = l.merchant_id
    and p.link_id = l.id
    and m.to_status = 'successful'
    and m.from_status in ('failed', 'abandoned', 'expired')
);

create view invariant_l04_one_event_per_payment_of_a_link as
select l.merchant_id, l.id as link_id, l.payments_count, count(e.id) as events
from payment_links l
left join events e
  on e.merchant_id = l.merchant_id
  and e.resource_type = 'payment_link'
  and e.resource_id = l.id
  and e.type = 'payment_link.paid'
group by l.merchant_id, l.id, l.payments_count
having count(e.id) <> l.payments_count
union all
select l.merchant_id, l.id, l.version, coalesce(max(e.version), 0)
from payment_links l
left join events e on e.merchant_id = l.merchant_id and e.resource_type = 'payment_link' and e.resource_id = l.id
group by l.merchant_id, l.id, l.version
having coalesce(max(e.version), 0) <> l.version;

-- Lists find links by these columns, so each must be set exactly while it is true.
create view invariant_l05_recorded_link_status_is_correct as
select merchant_id, id as link_id, recorded_status, 'completed_at does not match the count' as why
from payment_links
where (completed_at is not null) <> coalesce(payments_count >= max_payments, false)
union all
select merchant_id, id, recorded_status, 'expired_at is set before the link expires'
from payment_links
where expired_at is not null and (expires_at is null or expires_at > expired_at);

create view invariant_p01_transfers_follow_their_moves as
select m.merchant_id, m.payment_id, m.version, 'the previous move ended in another status' as why
from p2p_moves m
left join p2p_moves b
  on b.merchant_id = m.merchant_id and b.payment_id = m.payment_id and b.version = m.version - 1
where m.version > 1 and b.to_status is distinct from m.from_status
union all
select t.merchant_id, t.payment_id, t.version, 'the status differs from the last move'
from p2p_transfers t
left join p2p_moves m on m.merchant_id = t.merchant_id and m.payment_id = t.payment_id and m.version = t.version
where m.to_status is distinct from t.status
union all
select m.merchant_id, m.payment_id, m.version, 'a move beyond the transfer''s version'
from p2p_moves m
join p2p_transfers t on t.merchant_id = m.merchant_id and t.payment_id = m.payment_id
where m.version > t.version;

create view invariant_p02_one_event_per_transfer_move as
select
  coalesce(m.merchant_id, e.merchant_id) as merchant_id,
  coalesce(m.payment_id, e.resource_id) as payment_id,
  coalesce(m.version, e.version) as version
from p2p_moves m
full join (select * from events where resource_type = 'p2p_payment') e
  on e.merchant_id = m.merchant_id and e.resource_id = m.payment_id and e.version = m.version
where m.version is null or e.version is null or e.type <> 'p2p.' || m.to_status;

-- The merchant's confirmation is the proof: a confirmed transfer is paid or scheduled for a status check, and no other
-- transfer is paid.
create view invariant_p03_confirmed_transfers_are_paid as
select t.merchant_id, t.payment_id, t.status, 'confirmed, not paid and not scheduled' as why
from p2p_transfers t
left join attempts a on a.merchant_id = t.merchant_id and a.gateway_key = t.attempt_key
where t.status in ('confirmed', 'overpaid')
  and (a.id is null or (a.status not in ('succeeded', 'duplicate_success') and a.due_at is null))
union all
select a.merchant_id, a.payment_id, t.status, 'paid without being confirmed'
from attempts a
left join p2p_transfers t on t.merchant_id = a.merchant_id and t.attempt_key = a.gateway_key
where a.gateway = 'p2p'
  and a.status in ('succeeded', 'duplicate_success')
  and coalesce(t.status, '') not in ('confirmed', 'overpaid');

-- Money that the merchant received directly is in no balance of its wallet.
create view invariant_p04_direct_money_is_in_no_balance as
select p.merchant_id, p.entry_id, p.account
from postings p
where p.account in ('available', 'pending', 'fees')
  and exists (
    select
    from postings d
    where d.merchant_id = p.merchant_id and d.entry_id = p.entry_id and d.account = 'direct'
  );

-- The job creates partitions two months ahead. If the one that is needed in twenty days is missing, the job has not run for
-- weeks.
create view invariant_g01_partitions_exist as
select 'delivery_attempts' as table_name
where to_regclass('delivery_attempts' || to_char(now() at time zone 'UTC' + interval '20 days', '_YYYYMM')) is null;

-- Counts the violations of every invariant view, so that a new view is checked without new code.
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

-- One row: the last check. The first one is due an hour after the database was made.
create table invariant_checks (
  is_only boolean primary key default true check (is_only),
  started_at timestamptz not null,
  finished_at timestamptz,
  report jsonb
);

insert into invariant_checks (started_at)
values (now());
