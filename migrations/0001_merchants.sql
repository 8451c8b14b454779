-- Who may ask: a merchant, its API keys (only a keyed hash of each secret), and what an installation keeps to itself.

create table merchants (
  id uuid primary key,
  name text not null check (char_length(name) between 1 and 100),
  mode text not null check (mode in ('test', 'live')),
  base_currency text not null default 'USD' check (base_currency ~ '^[A-Z]{3}$'),
  status text not null default 'active' check (status in ('active', 'suspended')),
  settings jsonb not null default '{}' check (jsonb_typeof(settings) = 'object'),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- Only so that a key can be tied to the mode of its merchant.
  unique (id, mode)
);

create table api_keys (
  key_id text primary key check (key_id ~ '^[0-9A-Za-z]{12}$'),
  merchant_id uuid not null,
  name text not null check (char_length(name) between 1 and 100),
  -- HMAC-SHA-256 with a pepper that is not in this database; the secret itself is shown once and never stored.
  secret_hash bytea not null check (octet_length(secret_hash) = 32),
  mode text not null check (mode in ('test', 'live')),
  scopes text[] not null check (cardinality(scopes) > 0),
  -- Empty: any address.
  allowed_ips text[] not null default '{}',
  -- Null: the limit of the whole service.
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

create index api_keys_of_merchant on api_keys (merchant_id, created_at desc, key_id desc);

-- The generated secrets of a staging installation, so that several processes on one database agree on them.
-- Production takes its secrets from the environment: it keeps nothing here but keyring_check, a text sealed with the
-- encryption key, so that a start with a wrong keyring is refused before it does harm.
create table service_secrets (
  name text primary key,
  value text not null
);
