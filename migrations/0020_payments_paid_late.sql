-- Lists by time of payment read the payments in order of their creation. Payments that were paid late are found by this index.

create index payments_paid_late on payments (merchant_id, paid_at, created_at) where paid_at - created_at > interval '7 days';
