-- A cell says to which instance it belongs: another one must not read and write there. The instance has its id in placement.
alter table placement add column instance_id uuid;
alter table cells add column instance_id uuid;
