-- The refunds at the provider about which a case asks, and those about which a person has decided: each is decided once.

alter table cases
-- The provider's ids of the refunds in unbooked_minor and in the message.
add column unbooked_references text[] not null default '{}',
-- Those of earlier decisions, from before the case was opened again. The provider lists them at each lookup.
add column decided_references text[] not null default '{}';
