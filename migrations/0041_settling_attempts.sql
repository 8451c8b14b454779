-- A debit of a bank account settles in days, so its payment is processing for longer than others without a case.

-- Until when the gateway, which answers that the payment is pending, may take.
alter table attempts add column settles_by timestamptz;

-- The limit is 24 hours after the checkout expired or the charge began, or until the attempt must have settled. The poll that
-- opens the case is at most an hour later, with some minutes of jitter.
create or replace view invariant_i13_no_processing_beyond_the_limit as
select p.merchant_id, p.id as payment_id
from payments p
where p.status = 'processing'
  and coalesce(p.expires_at, p.created_at) < now() - interval '26 hours'
  and not exists (
    select 1
    from cases c
    where c.merchant_id = p.merchant_id and c.payment_id = p.id and c.closed_at is null
  )
  and not exists (
    select 1
    from attempts a
    where a.merchant_id = p.merchant_id and a.payment_id = p.id and a.settles_by > now() - interval '2 hours'
  );
