-- As before, with the type of the object instead of the name of its table, which is another one in a distributed schema.
create or replace function collect_audit_change() returns trigger language plpgsql as $$
declare
  previous jsonb := to_jsonb(old);
  current jsonb := to_jsonb(new);
  redacted text[] := tg_argv[2];
  ignored text[] := tg_argv[3];
  collected jsonb := coalesce(nullif(current_setting('app.audit_changes', true), ''), '[]');
  before jsonb := audit_columns(previous, current, redacted, ignored);
  after jsonb := audit_columns(current, previous, redacted, ignored);
  merchant_column text := case tg_argv[0]
    when 'merchant' then 'id'
    when 'session' then 'current_merchant_id'
    else 'merchant_id'
  end;
begin
  if coalesce(before, after) is null then
    return null;
  end if;
  -- More would only make the entry unreadable, so the rest is counted.
  if jsonb_array_length(collected) >= 100 then
    perform set_config(
      'app.audit_more_changes',
      (coalesce(nullif(current_setting('app.audit_more_changes', true), ''), '0')::integer + 1)::text,
      true
    );
    return null;
  end if;
  collected := collected || jsonb_build_object(
    'type', tg_argv[0],
    'id', coalesce(current, previous) ->> tg_argv[1],
    'merchant', coalesce(current, previous) -> merchant_column,
    'before', before,
    'after', after
  );
  perform set_config('app.audit_changes', collected::text, true);
  return null;
end
$$;

select pin_trigger_functions();
