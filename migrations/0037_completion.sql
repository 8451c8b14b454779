-- Providers that move no money before our last call, which follows when the payer has confirmed.

-- When that call was begun: committed before the call, so that it is made at most once. Cleared only by the process that
-- made the call, if its outcome proves that nothing was executed.
alter table attempts add column completion_started_at timestamptz;
