-- Which payment a person has proven with which reference of the provider: one reference proves one payment of an account.

create table payment_proofs (
  gateway text not null,
  -- Null: the instance's own account.
  account_id uuid,
  reference text not null,
  merchant_id uuid not null,
  attempt_id uuid not null,
  created_at timestamptz not null,
  primary key (merchant_id, attempt_id),
  unique nulls not distinct (gateway, account_id, reference),
  foreign key (merchant_id, attempt_id) references attempts (merchant_id, id)
);

alter table payment_proofs alter column merchant_id set (n_distinct = 10);

select apply_row_level_security();
