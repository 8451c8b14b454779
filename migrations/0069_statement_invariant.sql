-- In a distributed schema, no table is joined to the result of a full join that names its columns by using.

-- As before.
create or replace view invariant_i03_statement_matches_postings as
with carried as (
  select distinct on (merchant_id, currency) *
  from archived_lines
  order by merchant_id, currency, number desc
),
summed as (
  select
    l.merchant_id, l.currency, l.number, l.available_minor, l.pending_minor,
    coalesce(c.number, 0) + row_number() over line as counted,
    coalesce(c.available_minor, 0)
    + coalesce(sum(l.amount_minor) filter (where l.account = 'available') over line, 0) as available_sum,
    coalesce(c.pending_minor, 0)
    + coalesce(sum(l.amount_minor) filter (where l.account = 'pending') over line, 0) as pending_sum,
    l.created_at < coalesce(lag(l.created_at) over line, c.created_at) as is_out_of_order
  from wallet_lines l
  left join carried c on c.merchant_id = l.merchant_id and c.currency = l.currency
  window line as (partition by l.merchant_id, l.currency order by l.number rows unbounded preceding)
)
select merchant_id, currency, number, 'the number, the order or the balances are wrong' as why
from summed
where number <> counted or available_minor <> available_sum or pending_minor <> pending_sum or is_out_of_order
union all
select b.merchant_id, b.currency, b.lines, 'the last line differs from the balance'
from balances b
left join (
  select merchant_id, currency, number, available_minor, pending_minor from wallet_lines
  union all
  select merchant_id, currency, number, available_minor, pending_minor from carried
) l
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
  select p.merchant_id, p.currency, p.entry_id, p.position, p.account, p.amount_minor, e.kind, e.payment_id,
    e.at >= coalesce(a.archived_before, '-infinity') as is_kept
  from postings p
  join ledger_entries e on e.merchant_id = p.merchant_id and e.id = p.entry_id
  left join archive_boundaries a on a.merchant_id = p.merchant_id
  where p.account in ('available', 'pending')
) p
full join (
  select merchant_id, currency, entry_id, position, account, amount_minor, kind, payment_id, number from wallet_lines
  union all
  select merchant_id, currency, entry_id, position, account, amount_minor, kind, payment_id, null from balance_deltas
) s using (merchant_id, currency, entry_id, position, account, amount_minor, kind, payment_id)
where p.entry_id is null or (s.entry_id is null and p.is_kept)
union all
select merchant_id, currency, null, 'there are not as many postings as lines'
from (
  select merchant_id, currency, count(*) as difference
  from postings
  where account in ('available', 'pending')
  group by merchant_id, currency
  union all
  select merchant_id, currency, postings from archived_sums where account in ('available', 'pending')
  union all
  select merchant_id, currency, -count(*) from wallet_lines group by merchant_id, currency
  union all
  select merchant_id, currency, -count(*) from balance_deltas group by merchant_id, currency
  union all
  select merchant_id, currency, -number from carried
) parts
group by merchant_id, currency
having sum(difference) <> 0;
