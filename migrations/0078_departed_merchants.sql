-- A process that was stopped for longer than the old copy of a moved merchant is kept must not write into the old cell: it
-- refuses the merchants that have left it.

-- In a cell: the merchants that were moved from here, once their copy is deleted, until they are moved back.
create table departed_merchants (
  merchant_id uuid primary key,
  departed_at timestamptz not null
);

-- Of tables whose rows need no other row of the merchant: the foreign keys of the others refuse them. The triggers are created
-- in a cell when the first merchant has left it, so a cell that no merchant has left checks nothing.
create function refuse_departed_merchant() returns trigger language plpgsql as $$
begin
  if exists (select from departed_merchants where merchant_id = new.merchant_id) then
    raise exception 'the merchant has left this cell' using errcode = 'CW002', detail = new.merchant_id;
  end if;
  return new;
end
$$;

select apply_row_level_security();
select pin_trigger_functions();
