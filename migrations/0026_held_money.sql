-- The money that is held for the payer of an attempt is read from the ledger, so that it is released exactly once.

create index ledger_entries_of_held_money on ledger_entries (merchant_id, attempt_id)
where attempt_id is not null and kind <> 'capture';

-- Money in "duplicates" has an open case, or a refund that is scheduled or pending. It is never released twice.
create view invariant_i16_duplicate_money_is_pursued as
select e.merchant_id, e.attempt_id, sum(p.amount_minor) as held_minor
from ledger_entries e
join postings p on p.merchant_id = e.merchant_id and p.entry_id = e.id
where p.account = 'duplicates'
group by e.merchant_id, e.attempt_id
having sum(p.amount_minor) < 0
  or (
    sum(p.amount_minor) > 0
    and not exists (
      select 1
      from attempts a
      where a.merchant_id = e.merchant_id and a.id = e.attempt_id and a.refund_due_at is not null
    )
    and not exists (
      select 1
      from cases c
      where c.merchant_id = e.merchant_id and c.attempt_id = e.attempt_id and c.closed_at is null
    )
    and not exists (
      select 1
      from refunds r
      where r.merchant_id = e.merchant_id and r.attempt_id = e.attempt_id and r.is_duplicate and r.status = 'pending'
    )
  );
