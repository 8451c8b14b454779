-- The test clock of staging: by how much each merchant has advanced its time. Production never writes here.

create table test_clocks (
  merchant_id uuid primary key references merchants (id),
  advanced_ms bigint not null check (advanced_ms >= 0),
  advanced_at timestamptz,
  -- The lease of the request that advances it: one at a time.
  advancing_until timestamptz
);

-- As for the other tables: 0013_row_level_security.sql.
alter table test_clocks alter column merchant_id set (n_distinct = 10);
select apply_row_level_security();
