-- Callbacks that name only the provider's id of a payment, and reports: what a provider says in a callback and nowhere else.

alter table gateway_webhooks alter column gateway_key drop not null;
-- The provider's id of the payment. Null: the webhook has our key.
alter table gateway_webhooks add column gateway_reference text;
alter table gateway_webhooks add check ((gateway_key is null) <> (gateway_reference is null));

-- JSON of the connector, from a callback to the secret path of this attempt or refund. It is evidence for status checks and
-- ends nothing by itself. A final report replaces one that is not; otherwise the first one is kept.
alter table attempts
  add column report text check (octet_length(report) <= 4096),
  add column report_is_final boolean not null default false,
  add check (report is not null or not report_is_final);
alter table refunds
  add column report text check (octet_length(report) <= 4096),
  add column report_is_final boolean not null default false,
  add check (report is not null or not report_is_final);
