-- Gateway accounts of single merchants, which account an attempt or a saved method was made with, and the webhooks that came in.

-- An account that was removed is revoked: nothing new begins there, and what was begun there is still asked about.
create table gateway_accounts (
  merchant_id uuid not null references merchants (id),
  id uuid not null,
  gateway text not null check (gateway ~ '^[a-z][a-z0-9_]{0,39}$'),
  -- The credentials as one JSON text, sealed for this row; no operation answers them.
  sealed text not null check (sealed like 'v1.%'),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  revoked_at timestamptz,
  primary key (merchant_id, id)
);

create unique index one_live_account on gateway_accounts (merchant_id, gateway) where revoked_at is null;

-- Null is the installation's own account. There is no foreign key: every attempt of a busy merchant would lock the one
-- row of its account. Accounts are never deleted, and the view below watches over them.
alter table attempts add column account_id uuid;
alter table payment_methods add column account_id uuid;

-- A provider's token is good for one account only, so the same card at two accounts is two methods. Nothing but the
-- sandbox has saved methods so far: the table is small.
alter table payment_methods drop constraint payment_methods_merchant_id_customer_id_gateway_fingerprint_key;
alter table payment_methods add constraint one_method_per_card
unique nulls not distinct (merchant_id, customer_id, gateway, account_id, fingerprint);

-- Webhooks of gateways: what is needed to know one again and to ask about its payment. Their bodies are not kept: they are
-- never believed, and hold what is none of our business.
create table gateway_webhooks (
  gateway text not null,
  event_id text not null check (char_length(event_id) between 1 and 200),
  account_id uuid,
  gateway_key text not null,
  received_at timestamptz not null,
  -- When it made us ask. Null: nobody knows its key yet.
  handled_at timestamptz,
  -- When its key is looked for again; null when it was found, or after days without it.
  due_at timestamptz,
  unique nulls not distinct (gateway, event_id, account_id),
  check (handled_at is null or due_at is null)
);

create index gateway_webhooks_due on gateway_webhooks (due_at) where due_at is not null;
create index gateway_webhooks_by_time on gateway_webhooks (received_at);

insert into gateway_webhooks (gateway, event_id, gateway_key, received_at, handled_at)
select gateway, left(event_id, 200), gateway_key, received_at, received_at
from inbound_webhooks
where event_id <> ''
on conflict do nothing;

drop table inbound_webhooks;

create view invariant_i15_accounts_share_the_merchant as
select a.merchant_id, a.id as child_id, 'attempt' as child
from attempts a
left join gateway_accounts g on g.merchant_id = a.merchant_id and g.id = a.account_id
where a.account_id is not null and g.gateway is distinct from a.gateway
union all
select m.merchant_id, m.id, 'payment method'
from payment_methods m
left join gateway_accounts g on g.merchant_id = m.merchant_id and g.id = m.account_id
where m.account_id is not null and g.gateway is distinct from m.gateway;
