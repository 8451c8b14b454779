-- The trigger that checks the sums of postings checks their entries too, once for each entry. The foreign key did so
-- for each posting, and locked, and so wrote, each entry once more. An entry goes only with its postings
-- (0067_archives.sql). One lookup for each entry: Citus joins no table with the rows of a trigger.
create or replace function require_balanced_postings() returns trigger language plpgsql as $$
declare
  entry record;
begin
  for entry in select distinct merchant_id, entry_id from added
  loop
    perform from ledger_entries where merchant_id = entry.merchant_id and id = entry.entry_id;
    if not found then
      raise exception 'a posting must belong to an entry of its merchant' using errcode = 'foreign_key_violation';
    end if;
  end loop;
  if exists (
    select 1
    from added
    group by merchant_id, entry_id, currency
    having sum(amount_minor) <> 0
  ) then
    raise exception 'the postings of an entry must sum to zero' using errcode = 'check_violation';
  end if;
  return null;
end
$$;

select pin_trigger_functions();

alter table postings drop constraint postings_merchant_id_entry_id_fkey;

-- As before, and postings without their entry.
create or replace view invariant_i01_entries_balance as
select merchant_id, entry_id, currency, sum(amount_minor) as sum_minor
from postings
group by merchant_id, entry_id, currency
having sum(amount_minor) <> 0
union all
select e.merchant_id, e.id, null, null
from ledger_entries e
where not exists (select from postings p where p.merchant_id = e.merchant_id and p.entry_id = e.id)
union all
select p.merchant_id, p.entry_id, p.currency, p.amount_minor
from postings p
where not exists (select from ledger_entries e where e.merchant_id = p.merchant_id and e.id = p.entry_id);
