-- The provider's own references of payments, and the refunds that were made at the provider.

-- The number by which payer and provider find the payment where it differs from gateway_reference, such as an M-Pesa code.
alter table attempts add column receipt_number text;
-- The provider's object that a signed webhook named: what to ask about while gateway_reference is not known.
alter table attempts add column reference_hint text;
-- When the provider is asked next which refunds of the attempt it has.
alter table attempts add column refund_lookup_due_at timestamptz;

-- A search names only the reference; settlement files name the gateway too.
drop index attempts_by_gateway_reference;
create index attempts_by_gateway_reference on attempts (gateway_reference, gateway) where gateway_reference is not null;
create index attempts_by_receipt_number on attempts (receipt_number) where receipt_number is not null;
create index attempts_refund_lookup_due on attempts (refund_lookup_due_at) where refund_lookup_due_at is not null;

drop index refunds_by_gateway_reference;
create index refunds_by_gateway_reference on refunds (gateway_reference, gateway) where gateway_reference is not null;

-- provider: made in the provider's dashboard or by its support, and found there.
alter table refunds add column source text not null default 'api' check (source in ('api', 'provider'));
-- A refund that the provider reports twice at the same time is booked once.
create unique index one_refund_per_provider_refund on refunds (merchant_id, attempt_id, gateway_reference)
where source = 'provider';

-- How far the refunds and disputes of each account at a provider were looked through.
create table refund_lookups (
  -- The gateway of the instance, or the gateway, the merchant and the id of the merchant's own account, with slashes.
  account text primary key,
  looked_until timestamptz not null,
  -- For disputes; null: as far as for refunds.
  disputes_looked_until timestamptz,
  due_at timestamptz not null
);

create index refund_lookups_due on refund_lookups (due_at);

create function add_refund_lookup() returns trigger language plpgsql as $$
begin
  insert into refund_lookups (account, looked_until, due_at)
  values (new.gateway || '/' || new.merchant_id || '/' || new.id, new.created_at, new.created_at)
  on conflict (account) do nothing;
  return null;
end
$$;

create trigger gateway_accounts_refund_lookup after insert on gateway_accounts
for each row execute function add_refund_lookup();
