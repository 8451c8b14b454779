-- The request log: the latest requests with a merchant's API keys, for its developers. It has no bodies, addresses or headers.
-- Processes write it in batches after the responses, so a crash loses about a second of it.
create table api_requests (
  merchant_id uuid not null references merchants (id),
  created_at timestamptz not null,
  id uuid not null,
  key_id text not null,
  -- The caller may choose it, so it may occur more than once.
  request_id text not null,
  method text not null,
  -- The pattern of the path, never the address.
  route text not null,
  http integer not null,
  error_code text,
  -- Names and codes of the fields that were refused, such as "amount: invalid_amount". Never their values.
  error_fields text,
  -- The merchant's reference of the payment.
  reference text,
  duration_ms integer not null,
  primary key (merchant_id, created_at, id)
);

create index api_requests_by_request_id on api_requests (merchant_id, request_id);
create index api_requests_failed on api_requests (merchant_id, created_at, id) where http >= 400;
alter table api_requests alter column merchant_id set (n_distinct = 10);

select apply_row_level_security();
