-- Customers of a merchant and the payment methods they saved, so that a method can be charged again without them.
create extension if not exists pg_trgm;

create table customers (
  merchant_id uuid not null references merchants (id),
  id uuid not null,
  email text not null,
  -- The identity of a customer is the lower-cased e-mail; email keeps the spelling of the latest payment.
  email_key text not null,
  firstname text not null,
  lastname text not null,
  country text,
  phone text,
  metadata jsonb not null default '{}',
  status text not null default 'active' check (status in ('active', 'blocked')),
  -- "first last" and the e-mail in lower case, made by the service because lower() depends on the server's locale.
  search_text text not null,
  successful_payments bigint not null default 0 check (successful_payments >= 0),
  last_payment_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (merchant_id, id),
  unique (merchant_id, email_key)
);

create index customers_by_time on customers (merchant_id, created_at, id);
create index customers_search on customers using gin (search_text gin_trgm_ops);

create table payment_methods (
  merchant_id uuid not null,
  id uuid not null,
  customer_id uuid not null,
  type text not null check (type in ('card', 'mobile_money', 'bank_account')),
  status text not null default 'active' check (status in ('active', 'expired', 'revoked')),
  gateway text not null,
  fingerprint text not null,
  -- Ours: looked up by its hash (256 random bits need no key), shown to the merchant again from the sealed text.
  token_hash bytea not null unique,
  token_sealed text not null check (token_sealed like 'v1.%'),
  -- The provider's own token: sealed, and never answered by any operation.
  credential_sealed text not null check (credential_sealed like 'v1.%'),
  currencies text[] not null,
  card jsonb,
  mobile_money jsonb,
  is_default boolean not null default false,
  is_recurring_intent boolean not null default false,
  expires_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz not null,
  primary key (merchant_id, id),
  foreign key (merchant_id, customer_id) references customers (merchant_id, id),
  unique (merchant_id, customer_id, gateway, fingerprint)
);

create unique index one_default_method on payment_methods (merchant_id, customer_id) where is_default;
