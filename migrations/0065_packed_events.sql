-- The events of payments are stored packed (src/events/packed.ts), in a seventh of the bytes. Those that exist keep their body.
-- Nothing is rewritten; the check reads the table once, while it can be written.
alter table events alter column body drop not null;
alter table events add column packed bytea;
-- It is compressed already.
alter table events alter column packed set storage external;

-- One check for both rules, because PostgreSQL prepares each check in every statement that writes the table.
alter table events drop constraint events_version_check;
alter table events add constraint events_check check (version >= 1 and num_nonnulls(body, packed) = 1) not valid;
alter table events validate constraint events_check;
