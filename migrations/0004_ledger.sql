-- Double entry: an entry is a list of postings that sums to zero; nothing is ever updated or deleted.
create table ledger_entries (
  merchant_id uuid not null,
  id uuid not null,
  kind text not null check (kind in ('capture', 'duplicate_capture', 'settlement', 'refund', 'reversal')),
  payment_id uuid not null,
  attempt_id uuid,
  at timestamptz not null,
  primary key (merchant_id, id),
  foreign key (merchant_id, payment_id) references payments (merchant_id, id)
);

create unique index one_capture on ledger_entries (merchant_id, payment_id) where kind = 'capture';
create unique index one_settlement on ledger_entries (merchant_id, payment_id) where kind = 'settlement';
create unique index one_credit_per_attempt on ledger_entries (merchant_id, attempt_id)
where kind in ('capture', 'duplicate_capture');

create table postings (
  merchant_id uuid not null,
  entry_id uuid not null,
  position integer not null,
  -- available, pending, fees, duplicates, or gateway:<name>, the money that a provider holds for us.
  account text not null,
  currency text not null,
  amount_minor bigint not null check (amount_minor <> 0),
  primary key (merchant_id, entry_id, position),
  foreign key (merchant_id, entry_id) references ledger_entries (merchant_id, id)
);

create index postings_by_account on postings (merchant_id, account, currency);

-- All postings of an entry are inserted by one statement, so the sum of each statement decides.
create function require_balanced_postings() returns trigger language plpgsql as $$
begin
  if exists (
    select 1
    from added
    group by merchant_id, entry_id, currency
    having sum(amount_minor) <> 0
  ) then
    raise exception 'the postings of an entry must sum to zero' using errcode = 'check_violation';
  end if;
  return null;
end
$$;

create trigger postings_balanced after insert on postings
referencing new table as added
for each statement execute function require_balanced_postings();

create trigger ledger_entries_append_only before update or delete or truncate on ledger_entries
for each statement execute function reject_change();
create trigger postings_append_only before update or delete or truncate on postings
for each statement execute function reject_change();

-- Balances are folded in the background from deltas, so that a busy merchant never waits for one balance row. A read
-- adds what is not folded yet.
create table balances (
  merchant_id uuid not null,
  currency text not null,
  account text not null check (account in ('available', 'pending')),
  amount_minor bigint not null,
  updated_at timestamptz not null,
  primary key (merchant_id, currency, account)
);

create table balance_deltas (
  id bigint generated always as identity primary key,
  merchant_id uuid not null,
  currency text not null,
  account text not null check (account in ('available', 'pending')),
  amount_minor bigint not null,
  at timestamptz not null
);

create index balance_deltas_by_merchant on balance_deltas (merchant_id, currency);

-- Captured money that becomes available when it is due.
create table pending_settlements (
  merchant_id uuid not null,
  payment_id uuid not null,
  currency text not null,
  amount_minor bigint not null check (amount_minor > 0),
  due_at timestamptz not null,
  primary key (merchant_id, payment_id),
  foreign key (merchant_id, payment_id) references payments (merchant_id, id)
);

create index pending_settlements_due on pending_settlements (due_at);
