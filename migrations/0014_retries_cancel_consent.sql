-- Refunds that are safe to retry: the merchant's own reference of a refund identifies it, like the reference of a payment.
-- And the payer's consent to a saved method.

alter table refunds add column refund_reference text;

-- Claimed in the transaction that inserts the refund, so that concurrent requests wait for each other here.
create table refund_references (
  merchant_id uuid not null,
  reference text not null,
  refund_id uuid not null,
  -- Of the request: another body under the same reference is rejected.
  fingerprint bytea not null,
  primary key (merchant_id, reference)
);

-- When, where and to which wording the payer agreed that the method is saved. Null: the payer was not asked.
alter table payment_methods add column consent jsonb;

-- As for the other tables: 0013_row_level_security.sql.
alter table refund_references alter column merchant_id set (n_distinct = 10);
select apply_row_level_security();
