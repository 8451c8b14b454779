-- What a provider took back must not stay with the merchant, nor in written-off money: checked for every payment.

-- A lost dispute claims an amount. As long as more is claimed than was taken, nothing is left of the payment, and nothing of
-- the money of its refunds that failed after their success and was written off.
create view invariant_i04_lost_claims_are_taken as
with claims as (
  select merchant_id, payment_id, attempt_id, sum(claimed_minor) as claimed_minor, sum(amount_minor) as taken_minor
  from disputes
  where status = 'lost'
  group by merchant_id, payment_id, attempt_id
),
uncovered as (
  select
    c.merchant_id, c.payment_id, c.taken_minor, coalesce(w.left_minor, 0) as written_off_minor,
    c.claimed_minor - c.taken_minor - coalesce(w.taken_minor, 0) as open_minor
  from claims c
  left join (
    select
      e.merchant_id, e.attempt_id, sum(p.amount_minor) as left_minor,
      -sum(p.amount_minor) filter (where e.kind = 'reversal') as taken_minor
    from ledger_entries e
    join postings p on p.merchant_id = e.merchant_id and p.entry_id = e.id
    where p.account = 'written_off' and (e.kind = 'reversal' or (e.kind = 'write_off' and e.refund_id is not null))
    group by e.merchant_id, e.attempt_id
  ) w on w.merchant_id = c.merchant_id and w.attempt_id = c.attempt_id
)
select u.merchant_id, u.payment_id, u.open_minor
from uncovered u
join payments p on p.merchant_id = u.merchant_id and p.id = u.payment_id
where u.open_minor < 0
  or u.written_off_minor < 0
  or (u.open_minor > 0 and u.written_off_minor > 0)
  or (
    u.open_minor > 0
    and p.amount_paid_minor - p.refunded_minor - p.refund_reserved_minor - u.taken_minor > 0
  );

-- The merchant has at most what was paid and neither refunded nor lost. It may have less: a refund at the provider that
-- exceeds the payment is debited too.
create view invariant_i04_merchant_has_what_is_left as
select p.merchant_id, p.id as payment_id, l.credited_minor
from (
  select e.merchant_id, e.payment_id, sum(o.amount_minor) as credited_minor
  from ledger_entries e
  join postings o on o.merchant_id = e.merchant_id and o.entry_id = e.id
  where o.account in ('available', 'pending', 'disputed', 'fees')
  group by e.merchant_id, e.payment_id
) l
join payments p on p.merchant_id = l.merchant_id and p.id = l.payment_id
left join (
  select merchant_id, payment_id, sum(amount_minor) as lost_minor
  from disputes
  where status = 'lost'
  group by merchant_id, payment_id
) d on d.merchant_id = p.merchant_id and d.payment_id = p.id
where l.credited_minor > coalesce(p.amount_paid_minor, 0) - p.refunded_minor - coalesce(d.lost_minor, 0);

-- A refund that failed here and that the provider executes later is booked after all.
drop index one_refund_per_provider_refund;
create unique index one_refund_per_provider_refund on refunds (merchant_id, attempt_id, gateway_reference)
where source = 'provider' and status <> 'failed';
