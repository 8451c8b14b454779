// The statements of the runbook in docs/running-in-production.md: a test requires that it has each of them. OLD runs on the old
// server and NEW on the new one, both in the database of the service, as a superuser.

export const OLD = {
  publish: 'create publication upgrade for all tables with (publish_via_partition_root = true)',
  refuseWrites: 'alter database cowry set default_transaction_read_only = on',
  disconnect: `
select pg_terminate_backend(pid)
from pg_stat_activity
where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`,
  position: 'select pg_current_wal_lsn() as lsn',
  received: `
select confirmed_flush_lsn >= '<lsn>' as "isReceived"
from pg_replication_slots
where slot_name = 'upgrade'`,
  numbers: `
select format('select setval(%L, %s)', format('%I.%I', schemaname, sequencename), last_value) as command
from pg_sequences
where last_value is not null`,
}

export const NEW = {
  empty: `
do $$
begin
  if exists (select from payments) then
    raise exception 'this database has payments: it is not the new one';
  end if;
  -- Tables that are only appended to have triggers against this.
  set local session_replication_role = replica;
  execute (
    select 'truncate ' || string_agg(c.oid::regclass::text, ', ')
    from pg_class c
    where c.relnamespace in ('public'::regnamespace, 'sandbox'::regnamespace)
      and c.relkind in ('r', 'p') and not c.relispartition
  );
end
$$`,
  subscribe: `
create subscription upgrade
connection 'host=<old host> port=<port> dbname=cowry user=<user> password=<password>'
publication upgrade`,
  uncopied: `
select srrelid::regclass::text as table, srsubstate as state
from pg_subscription_rel
where srsubstate <> 'r'`,
  analyze: 'analyze',
  unsubscribe: 'drop subscription upgrade',
}
