-- The running processes, and which cells each knows: a merchant may only be placed in a cell that all of them know.

create table processes (
  id uuid primary key,
  -- The machine and the number of the process, for people.
  name text not null,
  -- The cells that it has loaded, beside cell 0.
  cells integer[] not null,
  -- The state of placement that it has loaded.
  epoch bigint not null,
  seen_at timestamptz not null
);

-- Raised with each change of a merchant's cell; no row before the first. Each process reads it and says in its own row that it acts on it.
create table placement (
  is_only boolean primary key default true check (is_only),
  epoch bigint not null
);
