-- Texts that people write freely may name a person, so the audit log only says that they were given: its entries are never
-- deleted. And the retirement of an encryption key is in it.

-- As before; a redacted field of a JSON column is named by column and field, such as proposal.note.
create or replace function audit_columns(shown jsonb, other jsonb, redacted text[], ignored text[]) returns jsonb language sql immutable
return (
  select
    jsonb_object_agg(
      key,
      case
        when value = 'null' then value
        when key = any(redacted) then '"[redacted]"'
        when octet_length(value::text) > 2000
          then jsonb_build_object('sha256', encode(sha256(convert_to(value::text, 'UTF8')), 'hex'))
        when jsonb_typeof(value) = 'object' then value || coalesce(
          (
            select jsonb_object_agg(field, '[redacted]')
            from jsonb_object_keys(value) field
            where key || '.' || field = any(redacted)
          ),
          '{}'
        )
        else value
      end
    )
  from jsonb_each(shown)
  where key <> all(ignored) and (other -> key) is distinct from value and (other is not null or value <> 'null')
);

drop trigger audit_collect on cases;
drop trigger audit_write on cases;
drop trigger audit_collect on refunds;
drop trigger audit_write on refunds;
drop trigger audit_collect on p2p_transfers;
drop trigger audit_write on p2p_transfers;
drop trigger audit_collect on reconciliation_breaks;
drop trigger audit_write on reconciliation_breaks;

select
  audit_table('cases', 'case', 'id', '{note,proposal.note,provider_message}'),
  audit_table('refunds', 'refund', 'id', '{metadata,reason,gateway_key,attempt_key}', operations => 'insert'),
  audit_table('p2p_transfers', 'p2p_payment', 'payment_id', '{attempt_key,rejection_reason}', operations => 'update'),
  audit_table('reconciliation_breaks', 'reconciliation_break', 'id', '{note}', operations => 'update'),
  -- A key is retired when its check is deleted. The values that are encrypted again keep their content, and leave no entry.
  audit_table('service_secrets', 'encryption_key', 'name', '{value}', operations => 'delete');
