-- A refund that failed after its success, and whose money the merchant has again, is failed: its amount no longer counts as
-- refunded, and can be refunded again. The payment keeps its status, because no move leads back, and gets a status reason.

alter table refunds drop constraint refunds_check4;
-- A failure after a success is one more move.
alter table refunds add constraint refunds_version_of_status check (
  version = case
    when status = 'pending' then 1
    when status = 'failed' and status_reason is not distinct from 'credited_back' then 3
    else 2
  end
);

create or replace view invariant_i04_refunds_within_paid as
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
where (status = 'refunded' and (refunded_minor <> amount_paid_minor) <> (status_reason is not distinct from 'refund_failed'))
  or (status = 'partially_refunded' and (refunded_minor = 0) <> (status_reason is not distinct from 'refund_failed'))
  or (status = 'partially_refunded' and refunded_minor = amount_paid_minor)
union all
select a.merchant_id, a.payment_id, 'the amount of the attempt differs from its refund'
from attempts a
left join refunds r
  on r.merchant_id = a.merchant_id and r.attempt_id = a.id and r.is_duplicate and r.status = 'successful'
where a.refunded_minor <> coalesce(r.amount_minor, 0)
  or (
    r.id is not null
    and (a.status not in ('duplicate_success', 'amount_mismatch') or r.amount_minor <> a.paid_minor)
  );

-- Its reversal takes the entry of the refund back.
create or replace view invariant_i05_refund_has_entry as
select coalesce(r.merchant_id, e.merchant_id) as merchant_id, coalesce(r.id, e.refund_id) as refund_id
from (select * from refunds where status = 'successful') r
full join (
  select e.merchant_id, e.refund_id, e.payment_id, sum(p.amount_minor) as amount_minor
  from ledger_entries e
  join postings p on p.merchant_id = e.merchant_id and p.entry_id = e.id
  where e.kind in ('refund', 'refund_reversal') and p.account like 'gateway:%'
  group by e.merchant_id, e.refund_id, e.payment_id
  having sum(p.amount_minor) <> 0
) e on e.merchant_id = r.merchant_id and e.refund_id = r.id
where r.id is null
  or e.refund_id is null
  or e.payment_id <> r.payment_id
  or e.amount_minor <> r.amount_minor;

-- The refunded amounts are compared too.
create or replace view invariant_q03_reports_equal_the_ledger as
select coalesce(r.merchant_id, l.merchant_id) as merchant_id, coalesce(r.currency, l.currency) as currency
from (
  select
    merchant_id, currency, sum(paid_minor) as paid_minor, sum(fee_minor) as fee_minor, sum(refunded_minor) as refunded_minor
  from collection_sums_now
  where grain = 'month'
  group by merchant_id, currency
) r
full join (
  select
    p.merchant_id, p.currency,
    -- Money of another amount was held as unmatched until the merchant accepted it.
    -sum(p.amount_minor) filter (
      where e.kind = 'capture' and (p.account like 'gateway:%' or p.account = 'unmatched')
    ) as paid_minor,
    sum(p.amount_minor) filter (where e.kind = 'capture' and p.account = 'fees') as fee_minor,
    -- What held money gives back was never the merchant's, and adds up to zero.
    sum(p.amount_minor) filter (
      where e.kind <> 'capture' and (p.account like 'gateway:%' or p.account in ('unmatched', 'duplicates'))
    ) as refunded_minor
  from ledger_entries e
  join postings p on p.merchant_id = e.merchant_id and p.entry_id = e.id
  where e.kind in ('capture', 'refund', 'refund_reversal')
  group by p.merchant_id, p.currency
) l on l.merchant_id = r.merchant_id and l.currency = r.currency
where coalesce(r.paid_minor, 0) <> coalesce(l.paid_minor, 0)
  or coalesce(r.fee_minor, 0) <> coalesce(l.fee_minor, 0)
  or coalesce(r.refunded_minor, 0) <> coalesce(l.refunded_minor, 0);
