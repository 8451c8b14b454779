-- The list of failed deliveries for a merchant's developers. A delivery that succeeds at its first attempt is never in this
-- index. Its writes change due_at, which is indexed already, so they are no HOT updates with or without it.
create index deliveries_failed on deliveries (merchant_id, endpoint_id, status, created_at, event_id)
where status = 'dead' or (status = 'pending' and attempt_count > 0);
