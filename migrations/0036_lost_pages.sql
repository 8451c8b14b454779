-- A new proof, page_lost: only a lost response had the URL of the gateway's page, so the payer cannot pay there.
alter table moves drop constraint moves_failed_on_proof;
alter table moves add constraint moves_failed_on_proof
check (
  to_status <> 'failed'
  or coalesce(proof in ('declined', 'not_sent', 'page_lost', 'expired_verified', 'review'), false)
);

create or replace view invariant_i14_failed_on_proof as
select p.merchant_id, p.id as payment_id, m.proof
from payments p
left join moves m
  on m.merchant_id = p.merchant_id and m.payment_id = p.id and m.version = p.version
where p.status = 'failed'
  and (
    p.failure_code is null
    or coalesce(m.proof, '') not in ('declined', 'not_sent', 'page_lost', 'expired_verified', 'review')
  );
