-- As before, but an idempotency key is never refused: the instance has those of operations that are not of a cell, such as the
-- making of API keys. A key does nothing by itself, and the record beside it is refused.
create or replace function guard_moving_merchant() returns trigger language plpgsql as $$
declare
  merchant uuid := tg_argv[0];
  found_state text;
  changed jsonb := case when tg_op = 'DELETE' then to_jsonb(old) else to_jsonb(new) end;
begin
  perform pg_advisory_xact_lock_shared(7061652, hashtext(tg_argv[0]));
  select state into found_state from moving_merchants where merchant_id = merchant;
  if found_state <> 'outgoing' and tg_argv[1] <> 'idempotency_keys' then
    if current_query() like '%skip locked%' or (tg_op = 'DELETE' and tg_argv[1] = 'collection_deltas') then
      return null;
    end if;
    raise exception 'the merchant works in another cell' using errcode = 'CW001', detail = merchant;
  end if;
  -- A table without a key in the arguments is copied whole at the switch.
  if found_state = 'outgoing' and tg_nargs > 2 then
    insert into move_changes (merchant_id, table_name, key)
    select merchant, tg_argv[1], jsonb_object_agg(name, changed -> name)
    from unnest(tg_argv[2:]) name;
  end if;
  if tg_op = 'DELETE' then
    return old;
  end if;
  return new;
end
$$;

select pin_trigger_functions();
alter function guard_moving_merchant() set timezone = 'UTC';
