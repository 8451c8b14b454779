-- Some providers want a short-lived access token with each call. All processes share one token of an account here, so that
-- it is granted once, survives a restart, and no provider's limit on grants is exceeded.
create table gateway_tokens (
  -- A keyed hash of the provider's address, the account there and the name of the token.
  id uuid primary key,
  gateway text not null,
  -- The merchant's gateway account that requested the token last; null: the instance.
  account_id uuid,
  -- Grows by one with each change, which applies only to the version that was read.
  version bigint not null,
  -- The token, encrypted for this row.
  sealed text check (sealed like 'v1.%'),
  -- A keyed hash of the secrets for which the token was granted: a token of other secrets is not used.
  granted_with text,
  granted_at timestamptz,
  renew_at timestamptz,
  expires_at timestamptz,
  -- One process requests a token until then; the others wait.
  leased_until timestamptz,
  -- When tokens were requested, written before each request. Empty if the provider does not limit grants.
  grants timestamptz[] not null default '{}',
  -- Why the last request failed, with which secrets, and when the next one is made.
  failure text,
  failed_with text,
  is_refused boolean not null default false,
  retry_at timestamptz,
  -- The row means nothing any more.
  purge_at timestamptz not null,
  check ((sealed is null) = (granted_with is null)),
  check (sealed is null or (granted_at is not null and renew_at is not null and expires_at is not null))
);

create index gateway_tokens_by_purge on gateway_tokens (purge_at);
create index gateway_tokens_by_account on gateway_tokens (account_id) where account_id is not null;

-- A revoked account keeps no token. The times of its grants stay: the provider counts them too.
create function clear_gateway_tokens() returns trigger language plpgsql as $$
begin
  update gateway_tokens
  set sealed = null, granted_with = null, version = version + 1
  where account_id = new.id;
  return null;
end
$$;

create trigger gateway_accounts_clear_tokens after update of revoked_at on gateway_accounts
for each row when (new.revoked_at is not null and old.revoked_at is null) execute function clear_gateway_tokens();
