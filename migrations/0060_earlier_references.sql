-- The reference that the gateway gave for an attempt stays when a person proves the payment with another one. Adding the
-- column rewrites nothing; the index has only such attempts, but its creation reads the table once.

alter table attempts add column earlier_reference text;
create index attempts_by_earlier_reference on attempts (earlier_reference) where earlier_reference is not null;
