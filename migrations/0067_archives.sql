-- History that is old and finished can be archived: exported to files, and deleted here. What was deleted is carried forward,
-- so that the invariants hold for what stays.

-- One row for each file of an archive. It is made when the file is written and read back.
create table archives (
  -- Everything in the file happened before this time, the end of a month in UTC.
  before timestamptz not null,
  -- "postings" has the settlements, each posting with its entry.
  table_name text not null check (table_name in ('events', 'wallet_lines', 'moves', 'postings')),
  state text not null default 'exported' check (state in ('exported', 'dropped')),
  file text not null,
  sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
  bytes bigint not null check (bytes >= 0),
  rows bigint not null check (rows >= 0),
  dropped_rows bigint not null default 0 check (dropped_rows between 0 and rows),
  -- Append-only tables permit deletions only while this is true, and it is true only inside the transaction that deletes:
  -- no other session sees it.
  is_open boolean not null default false,
  exported_at timestamptz not null,
  dropped_at timestamptz,
  primary key (before, table_name),
  check ((state = 'dropped') = (dropped_at is not null))
);

-- What happened to the merchant before this time may be archived.
create table archive_boundaries (
  merchant_id uuid primary key,
  archived_before timestamptz not null
);

-- The archived events of a record: the latest version, and how many. Payments need none, because they keep their moves.
create table archived_versions (
  merchant_id uuid not null,
  resource_type text not null,
  resource_id uuid not null,
  first_version integer not null,
  version integer not null,
  events integer not null check (events > 0),
  -- Of a payment link: the events of its payments.
  paid_events integer not null check (paid_events >= 0),
  primary key (merchant_id, resource_type, resource_id)
);

-- The last line of the statement in each archive, with the balances after it.
create table archived_lines (
  merchant_id uuid not null,
  currency text not null,
  before timestamptz not null,
  number bigint not null check (number >= 1),
  available_minor bigint not null,
  pending_minor bigint not null,
  created_at timestamptz not null,
  primary key (merchant_id, currency, before)
);

-- The sums of the archived postings.
create table archived_sums (
  merchant_id uuid not null,
  account text not null,
  currency text not null,
  amount_minor bigint not null,
  postings bigint not null check (postings > 0),
  primary key (merchant_id, account, currency)
);

alter table archive_boundaries alter column merchant_id set (n_distinct = 10);
alter table archived_versions alter column merchant_id set (n_distinct = 10);
alter table archived_lines alter column merchant_id set (n_distinct = 10);
alter table archived_sums alter column merchant_id set (n_distinct = 10);

create function reject_change_unless_archived() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and exists (select from archives where table_name = tg_argv[0] and is_open) then
    return null;
  end if;
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end
$$;

create function require_archived_creation() returns trigger language plpgsql as $$
declare
  latest timestamptz;
begin
  select max(created_at) into latest from gone;
  if exists (select from archives where table_name = tg_table_name and is_open and before <= latest) then
    raise exception '% has rows that are not archived', tg_table_name using errcode = 'restrict_violation';
  end if;
  return null;
end
$$;

create function require_archived_time() returns trigger language plpgsql as $$
declare
  latest timestamptz;
begin
  select max(at) into latest from gone;
  if exists (select from archives where table_name = tg_argv[0] and is_open and before <= latest) then
    raise exception '% has rows that are not archived', tg_table_name using errcode = 'restrict_violation';
  end if;
  return null;
end
$$;

drop trigger events_append_only on events;
create trigger events_append_only before update or delete or truncate on events
for each statement execute function reject_change_unless_archived('events');
create trigger events_archived after delete on events
referencing old table as gone
for each statement execute function require_archived_creation();

drop trigger wallet_lines_append_only on wallet_lines;
create trigger wallet_lines_append_only before update or delete or truncate on wallet_lines
for each statement execute function reject_change_unless_archived('wallet_lines');
create trigger wallet_lines_archived after delete on wallet_lines
referencing old table as gone
for each statement execute function require_archived_creation();

drop trigger moves_append_only on moves;
create trigger moves_append_only before update or delete or truncate on moves
for each statement execute function reject_change_unless_archived('moves');
create trigger moves_archived after delete on moves
referencing old table as gone
for each statement execute function require_archived_time('moves');

-- Postings have no time of their own. The foreign key, and invariant_i01, bind them to their entry.
drop trigger ledger_entries_append_only on ledger_entries;
create trigger ledger_entries_append_only before update or delete or truncate on ledger_entries
for each statement execute function reject_change_unless_archived('postings');
create trigger ledger_entries_archived after delete on ledger_entries
referencing old table as gone
for each statement execute function require_archived_time('postings');

drop trigger postings_append_only on postings;
create trigger postings_append_only before update or delete or truncate on postings
for each statement execute function reject_change_unless_archived('postings');

select pin_trigger_functions();
select apply_row_level_security();

-- Balances are what was carried forward and the postings.
create or replace view invariant_i03_balances_match_postings as
with shown as (
  select merchant_id, currency, account, sum(amount_minor) as amount_minor
  from (
    select merchant_id, currency, 'available' as account, available_minor as amount_minor from balances
    union all
    select merchant_id, currency, 'pending', pending_minor from balances
    union all
    select merchant_id, currency, account, amount_minor from balance_deltas
  ) parts
  group by merchant_id, currency, account
),
booked as (
  select merchant_id, currency, account, sum(amount_minor) as amount_minor
  from (
    select merchant_id, currency, account, amount_minor from postings
    union all
    select merchant_id, currency, account, amount_minor from archived_sums
  ) parts
  where account in ('available', 'pending')
  group by merchant_id, currency, account
)
select merchant_id, currency, account, shown.amount_minor as shown_minor, booked.amount_minor as booked_minor
from shown
full join booked using (merchant_id, currency, account)
where coalesce(shown.amount_minor, 0) <> coalesce(booked.amount_minor, 0);

create or replace view invariant_i02_currencies_balance as
select currency, sum(amount_minor) as sum_minor
from (
  select currency, amount_minor from postings
  union all
  select currency, amount_minor from archived_sums
) parts
group by currency
having sum(amount_minor) <> 0;

create or replace view invariant_i03_settlements_match_pending as
with booked as (
  select merchant_id, currency, sum(amount_minor) as amount_minor
  from (
    select merchant_id, currency, account, amount_minor from postings
    union all
    select merchant_id, currency, account, amount_minor from archived_sums
  ) parts
  where account = 'pending'
  group by merchant_id, currency
),
expected as (
  select merchant_id, currency, sum(amount_minor) as amount_minor
  from pending_settlements
  group by merchant_id, currency
)
select merchant_id, currency, booked.amount_minor as booked_minor, expected.amount_minor as expected_minor
from booked
full join expected using (merchant_id, currency)
where coalesce(booked.amount_minor, 0) <> coalesce(expected.amount_minor, 0);

-- The statement goes on from the last archived line: its numbers and balances too. A posting may lack its line only if it was
-- booked before the boundary, and there are as many postings, with the archived ones, as lines.
create or replace view invariant_i03_statement_matches_postings as
with carried as (
  select distinct on (merchant_id, currency) *
  from archived_lines
  order by merchant_id, currency, number desc
),
summed as (
  select
    l.merchant_id, l.currency, l.number, l.available_minor, l.pending_minor,
    coalesce(c.number, 0) + row_number() over line as counted,
    coalesce(c.available_minor, 0)
    + coalesce(sum(l.amount_minor) filter (where l.account = 'available') over line, 0) as available_sum,
    coalesce(c.pending_minor, 0)
    + coalesce(sum(l.amount_minor) filter (where l.account = 'pending') over line, 0) as pending_sum,
    l.created_at < coalesce(lag(l.created_at) over line, c.created_at) as is_out_of_order
  from wallet_lines l
  left join carried c on c.merchant_id = l.merchant_id and c.currency = l.currency
  window line as (partition by l.merchant_id, l.currency order by l.number rows unbounded preceding)
)
select merchant_id, currency, number, 'the number, the order or the balances are wrong' as why
from summed
where number <> counted or available_minor <> available_sum or pending_minor <> pending_sum or is_out_of_order
union all
select b.merchant_id, b.currency, b.lines, 'the last line differs from the balance'
from balances b
left join (
  select merchant_id, currency, number, available_minor, pending_minor from wallet_lines
  union all
  select merchant_id, currency, number, available_minor, pending_minor from carried
) l
  on l.merchant_id = b.merchant_id and l.currency = b.currency and l.number = b.lines
where l.available_minor is distinct from b.available_minor
  or l.pending_minor is distinct from b.pending_minor
  or exists (
    select
    from wallet_lines m
    where m.merchant_id = b.merchant_id and m.currency = b.currency and m.number > b.lines
  )
union all
select coalesce(p.merchant_id, s.merchant_id), coalesce(p.currency, s.currency), s.number, 'posting and line differ'
from (
  select p.merchant_id, p.currency, p.entry_id, p.position, p.account, p.amount_minor, e.kind, e.payment_id, e.at
  from postings p
  join ledger_entries e on e.merchant_id = p.merchant_id and e.id = p.entry_id
  where p.account in ('available', 'pending')
) p
full join (
  select merchant_id, currency, entry_id, position, account, amount_minor, kind, payment_id, number from wallet_lines
  union all
  select merchant_id, currency, entry_id, position, account, amount_minor, kind, payment_id, null from balance_deltas
) s using (merchant_id, currency, entry_id, position, account, amount_minor, kind, payment_id)
left join archive_boundaries a on a.merchant_id = p.merchant_id
where p.entry_id is null or (s.entry_id is null and p.at >= coalesce(a.archived_before, '-infinity'))
union all
select merchant_id, currency, null, 'there are not as many postings as lines'
from (
  select merchant_id, currency, count(*) as difference
  from postings
  where account in ('available', 'pending')
  group by merchant_id, currency
  union all
  select merchant_id, currency, postings from archived_sums where account in ('available', 'pending')
  union all
  select merchant_id, currency, -count(*) from wallet_lines group by merchant_id, currency
  union all
  select merchant_id, currency, -count(*) from balance_deltas group by merchant_id, currency
  union all
  select merchant_id, currency, -number from carried
) parts
group by merchant_id, currency
having sum(difference) <> 0;

-- A move may lack the one before it only if it happened before the boundary: the last move of a payment stays.
create or replace view invariant_i08_history_is_a_path as
select m.merchant_id, m.payment_id, m.version, 'the previous move ended in another status' as why
from moves m
left join moves b
  on b.merchant_id = m.merchant_id and b.payment_id = m.payment_id and b.version = m.version - 1
left join archive_boundaries a on a.merchant_id = m.merchant_id
where m.version > 1
  and b.to_status is distinct from m.from_status
  and (b.to_status is not null or m.at >= coalesce(a.archived_before, '-infinity'))
union all
select p.merchant_id, p.id, p.version, 'the status differs from the last move'
from payments p
left join moves m
  on m.merchant_id = p.merchant_id and m.payment_id = p.id and m.version = p.version
where m.to_status is distinct from p.status
union all
select m.merchant_id, m.payment_id, m.version, 'a move beyond the payment''s version'
from moves m
join payments p on p.merchant_id = m.merchant_id and p.id = m.payment_id
where m.version > p.version;

-- A move and its event have the same time.
create or replace view invariant_i09_one_event_per_move as
select
  coalesce(m.merchant_id, e.merchant_id) as merchant_id,
  coalesce(m.payment_id, e.resource_id) as payment_id,
  coalesce(m.version, e.version) as version
from moves m
full join (select * from events where resource_type in ('payment', 'charge')) e
  on e.merchant_id = m.merchant_id and e.resource_id = m.payment_id and e.version = m.version
left join archive_boundaries a on a.merchant_id = coalesce(m.merchant_id, e.merchant_id)
where (m.version is null or e.version is null)
  and coalesce(m.at, e.created_at) >= coalesce(a.archived_before, '-infinity');

create or replace view invariant_i09_customer_events as
select e.merchant_id, e.resource_type, e.resource_id, 'versions have a gap' as why
from events e
left join archived_versions a
  on a.merchant_id = e.merchant_id and a.resource_type = e.resource_type and a.resource_id = e.resource_id
where e.resource_type in ('customer', 'payment_method')
group by e.merchant_id, e.resource_type, e.resource_id, a.events, a.first_version, a.version
having count(*) + coalesce(a.events, 0)
  <> greatest(max(e.version), a.version) - least(min(e.version), a.first_version) + 1
union all
select merchant_id, resource_type, resource_id, 'created more than once'
from events
where type = 'customer.created'
group by merchant_id, resource_type, resource_id
having count(*) > 1
union all
select m.merchant_id, 'payment_method', m.id, 'revoked without an event'
from payment_methods m
left join archived_versions a
  on a.merchant_id = m.merchant_id and a.resource_type = 'payment_method' and a.resource_id = m.id
where m.status = 'revoked'
  and m.version > coalesce(a.version, 0)
  and not exists (
    select 1
    from events e
    where e.merchant_id = m.merchant_id
      and e.resource_type = 'payment_method'
      and e.resource_id = m.id
      and e.type = 'payment_method.revoked'
      and e.version = m.version
  )
union all
select e.merchant_id, e.resource_type, e.resource_id, 'an event of a customer who does not exist'
from events e
left join customers c on c.merchant_id = e.merchant_id and c.id = e.resource_id
where e.resource_type = 'customer' and c.id is null
union all
select e.merchant_id, e.resource_type, e.resource_id, 'an event of a method that does not exist'
from events e
left join payment_methods m on m.merchant_id = e.merchant_id and m.id = e.resource_id
where e.resource_type = 'payment_method' and m.id is null;

create or replace view invariant_i09_one_event_per_refund_move as
select r.merchant_id, r.id as refund_id, count(e.id) + coalesce(a.events, 0) as events
from refunds r
left join events e on e.merchant_id = r.merchant_id and e.resource_type = 'refund' and e.resource_id = r.id
left join archived_versions a on a.merchant_id = r.merchant_id and a.resource_type = 'refund' and a.resource_id = r.id
group by r.merchant_id, r.id, r.version, a.events, a.version
having count(e.id) + coalesce(a.events, 0) <> r.version
  or coalesce(greatest(max(e.version), a.version), 0) <> r.version
union all
select e.merchant_id, e.resource_id, 0
from events e
left join refunds r on r.merchant_id = e.merchant_id and r.id = e.resource_id
where e.resource_type = 'refund' and r.id is null;

create or replace view invariant_i09_case_events as
select c.merchant_id, c.id as case_id, c.version, count(e.id) + coalesce(a.events, 0) as events
from cases c
left join events e on e.merchant_id = c.merchant_id and e.resource_type = 'case' and e.resource_id = c.id
left join archived_versions a on a.merchant_id = c.merchant_id and a.resource_type = 'case' and a.resource_id = c.id
group by c.merchant_id, c.id, c.version, a.events, a.version
having count(e.id) + coalesce(a.events, 0) <> c.version
  or coalesce(greatest(max(e.version), a.version), 0) <> c.version;

create or replace view invariant_l04_one_event_per_payment_of_a_link as
select l.merchant_id, l.id as link_id, l.payments_count, count(e.id) + coalesce(a.paid_events, 0) as events
from payment_links l
left join events e
  on e.merchant_id = l.merchant_id
  and e.resource_type = 'payment_link'
  and e.resource_id = l.id
  and e.type = 'payment_link.paid'
left join archived_versions a
  on a.merchant_id = l.merchant_id and a.resource_type = 'payment_link' and a.resource_id = l.id
group by l.merchant_id, l.id, l.payments_count, a.paid_events
having count(e.id) + coalesce(a.paid_events, 0) <> l.payments_count
union all
select l.merchant_id, l.id, l.version, coalesce(greatest(max(e.version), a.version), 0)
from payment_links l
left join events e on e.merchant_id = l.merchant_id and e.resource_type = 'payment_link' and e.resource_id = l.id
left join archived_versions a
  on a.merchant_id = l.merchant_id and a.resource_type = 'payment_link' and a.resource_id = l.id
group by l.merchant_id, l.id, l.version, a.version
having coalesce(greatest(max(e.version), a.version), 0) <> l.version;

create or replace view invariant_p02_one_event_per_transfer_move as
select
  coalesce(m.merchant_id, e.merchant_id) as merchant_id,
  coalesce(m.payment_id, e.resource_id) as payment_id,
  coalesce(m.version, e.version) as version
from p2p_moves m
full join (select * from events where resource_type = 'p2p_payment') e
  on e.merchant_id = m.merchant_id and e.resource_id = m.payment_id and e.version = m.version
left join archived_versions a
  on a.merchant_id = m.merchant_id and a.resource_type = 'p2p_payment' and a.resource_id = m.payment_id
where m.version is null
  or (e.version is null and m.version > coalesce(a.version, 0))
  or e.type <> 'p2p.' || m.to_status;
