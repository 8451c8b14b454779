-- Cases that can be resolved: who decides, what the provider said, the resolution with its proof, and a second person's approval.

alter table cases rename column opened_at to created_at;
alter table cases drop constraint cases_kind_check;
alter table cases
add constraint cases_kind_check check (
  kind in (
    'underpaid', 'overpaid', 'currency_mismatch', 'reference_mismatch', 'payment_requires_review', 'unknown_answer',
    'processing_too_long', 'duplicate_not_refundable', 'duplicate_refund_failed', 'duplicate_disputed',
    'duplicate_disputed_after_refund', 'refund_requires_review', 'refund_failed_late', 'refund_not_booked'
  )
),
-- Who decides: the merchant about its own money, the operator about a gateway of the instance.
add column owner text not null default 'operator' check (owner in ('merchant', 'operator')),
-- Increases by one each time the case is opened or closed; each has its event.
add column version integer not null default 1 check (version >= 1),
-- The provider's own words, where it gave any.
add column provider_message text,
add column resolution text check (
  resolution in ('accept', 'return', 'ask_again', 'mark_paid', 'mark_failed', 'write_off', 'gateway_answered')
),
-- The provider's reference that the resolution relies on.
add column proof text,
-- The API key, the operator, or the service itself.
add column resolved_by text,
-- A resolution that waits for the approval of another person.
add column proposal jsonb,
-- The amount of refunds at the provider that could not be booked, in the currency of the payment; null if not known.
add column unbooked_minor bigint check (unbooked_minor > 0),
add constraint cases_resolved_check check ((closed_at is null) = (resolution is null)),
add constraint cases_proposed_check check (closed_at is null or proposal is null);

alter table cases alter column owner drop default;

create index cases_by_merchant on cases (merchant_id, created_at, id);
create index cases_by_payment on cases (merchant_id, payment_id);

-- What arrived of another amount than was asked for, in the currency of the payment.
alter table payments add column amount_received_minor bigint check (amount_received_minor > 0);

-- Money of another amount is held in the account "unmatched" until its case is resolved. A write-off moves unclaimed
-- money to "written_off". A refund that failed after its success can go back to the merchant's balance.
alter table ledger_entries drop constraint ledger_entries_kind_check;
alter table ledger_entries add constraint ledger_entries_kind_check check (
  kind in (
    'capture', 'duplicate_capture', 'unmatched_capture', 'settlement', 'refund', 'refund_reversal', 'dispute',
    'dispute_won', 'reversal', 'write_off'
  )
);

create unique index one_unmatched_capture_per_attempt on ledger_entries (merchant_id, attempt_id)
where kind = 'unmatched_capture';

drop index one_entry_per_refund;
create unique index one_entry_per_refund on ledger_entries (merchant_id, refund_id, kind) where refund_id is not null;

-- After a refused refund of a duplicate payment, the resolution of its case may send another one.
drop index one_refund_per_duplicate;
create unique index one_refund_per_duplicate on refunds (merchant_id, attempt_id)
where is_duplicate and status <> 'failed';

-- The resolution of a case is a proof too.
alter table moves drop constraint moves_check2;
alter table moves add constraint moves_failed_on_proof
check (to_status <> 'failed' or coalesce(proof in ('declined', 'not_sent', 'expired_verified', 'review'), false));
alter table moves drop constraint moves_check3;
alter table moves add constraint moves_paid_on_proof
check (to_status <> 'successful' or from_status = 'disputed' or coalesce(proof in ('gateway', 'review'), false));

-- The credited amount is the one that the gateway reported. It is another than the requested one only where a case allowed it.
create or replace view invariant_i05_credit_has_proof as
select e.merchant_id, e.id as entry_id, e.payment_id
from ledger_entries e
join payments p on p.merchant_id = e.merchant_id and p.id = e.payment_id
left join attempts a on a.merchant_id = e.merchant_id and a.id = e.attempt_id
where e.kind = 'capture'
  and (
    a.id is null
    or a.payment_id <> p.id
    or a.paid_minor is distinct from p.amount_paid_minor
    or a.paid_currency is distinct from p.currency
    or (
      a.paid_minor <> p.amount_minor
      and not exists (
        select
        from cases c
        where c.merchant_id = a.merchant_id and c.attempt_id = a.id and c.resolution = 'accept'
      )
    )
  );

-- An open payment is scheduled or has an open case.
create or replace view invariant_i13_open_payments_are_scheduled as
select p.merchant_id, p.id as payment_id, p.status
from payments p
where p.status in ('pending', 'processing')
  and p.due_at is null
  and not exists (
    select 1
    from attempts a
    where a.merchant_id = p.merchant_id and a.payment_id = p.id and a.due_at is not null
  )
  and not exists (
    select 1
    from cases c
    where c.merchant_id = p.merchant_id and c.payment_id = p.id and c.closed_at is null
  );

-- The limit is 24 hours after the checkout expired or the charge began. The poll that opens the case is at most an hour
-- later, with some minutes of jitter.
create view invariant_i13_no_processing_beyond_the_limit as
select p.merchant_id, p.id as payment_id
from payments p
where p.status = 'processing'
  and coalesce(p.expires_at, p.created_at) < now() - interval '26 hours'
  and not exists (
    select 1
    from cases c
    where c.merchant_id = p.merchant_id and c.payment_id = p.id and c.closed_at is null
  );

create or replace view invariant_i14_failed_on_proof as
select p.merchant_id, p.id as payment_id, m.proof
from payments p
left join moves m
  on m.merchant_id = p.merchant_id and m.payment_id = p.id and m.version = p.version
where p.status = 'failed'
  and (
    p.failure_code is null or coalesce(m.proof, '') not in ('declined', 'not_sent', 'expired_verified', 'review')
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
where (status = 'refunded' and refunded_minor <> amount_paid_minor)
  or (status = 'partially_refunded' and (refunded_minor = 0 or refunded_minor = amount_paid_minor))
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

-- Money in "unmatched" has an open case, or a refund that returns it.
create view invariant_i16_unmatched_money_is_pursued as
select e.merchant_id, e.attempt_id, sum(p.amount_minor) as held_minor
from ledger_entries e
join postings p on p.merchant_id = e.merchant_id and p.entry_id = e.id
where p.account = 'unmatched'
group by e.merchant_id, e.attempt_id
having sum(p.amount_minor) <> 0
  and not exists (
    select 1
    from cases c
    where c.merchant_id = e.merchant_id and c.attempt_id = e.attempt_id and c.closed_at is null
  )
  and not exists (
    select 1
    from refunds r
    where r.merchant_id = e.merchant_id and r.attempt_id = e.attempt_id and r.is_duplicate and r.status = 'pending'
  );

-- The event versions of a case have no gaps, and the last one is the case's own.
create view invariant_i09_case_events as
select c.merchant_id, c.id as case_id, c.version, count(e.id) as events
from cases c
left join events e on e.merchant_id = c.merchant_id and e.resource_type = 'case' and e.resource_id = c.id
group by c.merchant_id, c.id, c.version
having count(e.id) <> c.version or max(e.version) <> c.version;
