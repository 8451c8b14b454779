-- How often a phone was asked to approve a payment, so that nobody can make strangers' phones ring with our page.

create table phone_prompts (
  -- A keyed hash: the limit needs to know a number again, not to know it.
  phone_hash bytea primary key check (length(phone_hash) = 32),
  window_ends_at timestamptz not null,
  -- One more than the limit once a prompt was refused.
  prompts integer not null check (prompts >= 1)
);

create index phone_prompts_by_time on phone_prompts (window_ends_at);
