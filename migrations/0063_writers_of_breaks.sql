-- Who has assigned a break and who has written its note: merchants see what their own people wrote, and of operators only that
-- one acts. Of earlier rows it is not known, except for the note of a close by the merchant; so they count as the operator's.
alter table reconciliation_breaks
add column assigned_by text check (assigned_by in ('operator', 'merchant')),
add column note_by text check (note_by in ('operator', 'merchant'));

update reconciliation_breaks
set
  assigned_by = case when owner is not null then 'operator' end,
  note_by = case when closed_by = 'merchant' then 'merchant' when note is not null then 'operator' end
where owner is not null or note is not null;

alter table reconciliation_breaks
add check ((owner is null) = (assigned_by is null)),
add check ((note is null) = (note_by is null));

-- Merchants read the audit log too. The actor of an entry says who it was.
drop trigger audit_collect on reconciliation_breaks;
drop trigger audit_write on reconciliation_breaks;

select
  audit_table('reconciliation_breaks', 'reconciliation_break', 'id', '{note,owner}', operations => 'update');
