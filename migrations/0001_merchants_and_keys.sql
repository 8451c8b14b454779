-- Merchants, their API keys and gateway accounts, the shared token buckets of rate limits, and the secrets of the instance.

create table merchants (
  id uuid primary key,
  name text not null check (char_length(name) between 1 and 100),
  mode text not null check (mode in ('test', 'live')),
  base_currency text not null default 'USD' check (base_currency ~ '^[A-Z]{3}$'),
  status text not null default 'active' check (status in ('active', 'suspended')),
  settings jsonb not null default '{}' check (jsonb_typeof(settings) = 'object'),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- The target of the foreign key that gives an API key the mode of its merchant.
  unique (id, mode)
);

create table api_keys (
  key_id text primary key check (key_id ~ '^[0-9A-Za-z]{12}$'),
  merchant_id uuid not null,
  name text not null check (char_length(name) between 1 and 100),
  -- HMAC-SHA-256 with a pepper that is not in this database. The secret is shown once and never stored.
  secret_hash bytea not null check (octet_length(secret_hash) = 32),
  mode text not null check (mode in ('test', 'live')),
  scopes text[] not null check (cardinality(scopes) > 0),
  -- Empty: any address.
  allowed_ips text[] not null default '{}',
  -- Null: the default rate limit of the service.
  rate_per_second integer check (rate_per_second > 0),
  rate_burst integer check (rate_burst >= rate_per_second),
  created_at timestamptz not null,
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz,
  replaced_by text references api_keys (key_id),
  foreign key (merchant_id, mode) references merchants (id, mode),
  check ((rate_per_second is null) = (rate_burst is null))
);

create index api_keys_by_merchant on api_keys (merchant_id, created_at desc, key_id desc);

-- One token bucket per API key, shared by all processes. The table is unlogged because every process writes it ten times a
-- second and a crash loses nothing of value: each key continues with a full bucket.
create unlogged table rate_limit_buckets (
  -- The id of the API key.
  owner text primary key,
  per_second double precision not null check (per_second > 0),
  burst double precision not null check (burst > 0),
  -- Negative when several processes together allowed more requests than there were tokens.
  tokens double precision not null,
  updated_at timestamptz not null
) with (fillfactor = 50);

create index rate_limit_buckets_by_time on rate_limit_buckets (updated_at);

-- The accounts of single merchants at gateways. A removed account is revoked, never deleted: it starts no attempts, and the
-- status of its earlier attempts can still be checked.
create table gateway_accounts (
  merchant_id uuid not null references merchants (id),
  id uuid not null,
  gateway text not null check (gateway ~ '^[a-z][a-z0-9_]{0,39}$'),
  -- The credentials as one JSON text, encrypted for this row. No API operation returns them.
  sealed text not null check (sealed like 'v1.%'),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  revoked_at timestamptz,
  primary key (merchant_id, id)
);

create unique index one_active_account on gateway_accounts (merchant_id, gateway) where revoked_at is null;

-- A staging instance stores its generated secrets here, so that all processes on one database share them. Production takes
-- its secrets from the environment and stores only keyring_check, a text encrypted with the encryption key: a start with a
-- wrong keyring fails before it writes anything.
create table service_secrets (
  name text primary key,
  value text not null
);
