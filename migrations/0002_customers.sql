-- Customers of a merchant, and their saved payment methods, which the merchant can charge again without the payer.

-- The n-grams by which customers are searched: every substring of four characters, and the shorter ones at the end, so that
-- a prefix match finds search texts of one to three characters. Each n-gram starts with the end of the merchant's id, so the
-- index scan reads the entries of one merchant only. There are no positions: the query compares the text itself afterwards.
create function search_ngrams(merchant_id uuid, content text) returns tsvector
language sql immutable strict parallel safe
return array_to_tsvector(
  array(
    select merchant_prefix || substr(content, n, 4)
    from (select right(merchant_id::text, 8) as merchant_prefix) as m, generate_series(1, length(content)) as n
  )
);

-- Each payment updates its customer's row twice. The fill factor leaves space for HOT updates, which write no index entry.
create table customers (
  merchant_id uuid not null references merchants (id),
  id uuid not null,
  email text not null,
  -- The lower-cased e-mail identifies the customer; email keeps the spelling of the latest payment.
  email_key text not null,
  firstname text not null,
  lastname text not null,
  country text,
  phone text,
  metadata jsonb not null default '{}',
  status text not null default 'active' check (status in ('active', 'blocked')),
  -- "first last" and the e-mail in lower case. The service computes it, because lower() depends on the server's locale.
  search_text text not null,
  successful_payments bigint not null default 0 check (successful_payments >= 0),
  last_payment_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- Why the customer is blocked; null for an active customer.
  status_reason text,
  primary key (merchant_id, id),
  unique (merchant_id, email_key)
) with (fillfactor = 80);

create index customers_by_time on customers (merchant_id, created_at, id);
-- The insert that fills the pending list sorts it into the index. With 512 kB instead of 4096 that insert takes a fifth of
-- the time, and the total work stays the same.
create index customers_by_ngrams on customers using gin (search_ngrams(merchant_id, search_text))
with (gin_pending_list_limit = 512);

create table payment_methods (
  merchant_id uuid not null,
  id uuid not null,
  customer_id uuid not null,
  type text not null check (type in ('card', 'mobile_money', 'bank_account')),
  status text not null default 'active' check (status in ('active', 'expired', 'revoked')),
  gateway text not null,
  fingerprint text not null,
  -- Our token: found by its hash (256 random bits need no key), returned to the merchant from the encrypted text.
  token_hash bytea not null unique,
  token_sealed text not null check (token_sealed like 'v1.%'),
  -- The provider's own token, encrypted. No API operation returns it.
  credential_sealed text not null check (credential_sealed like 'v1.%'),
  currencies text[] not null,
  card jsonb,
  mobile_money jsonb,
  is_default boolean not null default false,
  is_recurring_intent boolean not null default false,
  expires_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz not null,
  -- Null: the instance's own account. There is no foreign key, as for attempts.
  account_id uuid,
  -- Increases by one with every event of the method.
  version integer not null default 1 check (version >= 1),
  -- The save that the last payment_method.saved event reported. Saving an expired method again emits another event.
  save_id uuid,
  primary key (merchant_id, id),
  foreign key (merchant_id, customer_id) references customers (merchant_id, id),
  constraint default_is_active check (status = 'active' or not is_default)
);

create unique index one_default_method on payment_methods (merchant_id, customer_id) where is_default;
-- A provider's token is valid for one account only, so the same card at two accounts is two methods. A revoked method stays
-- revoked together with its token: the same card saved again is another row with another token.
create unique index one_method_per_card
on payment_methods (merchant_id, customer_id, gateway, account_id, fingerprint) nulls not distinct
where status <> 'revoked';
-- The expiry job removes rows from this index by changing their status.
create index payment_methods_expiring on payment_methods (expires_at) where status = 'active' and expires_at is not null;
