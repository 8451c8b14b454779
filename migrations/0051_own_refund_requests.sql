-- The list of the refunds that a person has asked for.
create index refund_requests_by_person on refund_requests (merchant_id, requested_by, created_at, id);
