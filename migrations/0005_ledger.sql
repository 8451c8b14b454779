-- The double-entry ledger (the postings of an entry sum to zero; rows are never changed) and the balances made from it.

create table ledger_entries (
  merchant_id uuid not null,
  id uuid not null,
  -- A dispute moves its amount out of the merchant's balance into the account "disputed"; a won dispute returns it, a lost
  -- one passes it on to the gateway.
  kind text not null check (
    kind in ('capture', 'duplicate_capture', 'settlement', 'refund', 'dispute', 'dispute_won', 'reversal')
  ),
  payment_id uuid not null,
  attempt_id uuid,
  at timestamptz not null,
  refund_id uuid,
  primary key (merchant_id, id),
  foreign key (merchant_id, payment_id) references payments (merchant_id, id)
);

create unique index one_capture on ledger_entries (merchant_id, payment_id) where kind = 'capture';
create unique index one_settlement on ledger_entries (merchant_id, payment_id) where kind = 'settlement';
create unique index one_credit_per_attempt on ledger_entries (merchant_id, attempt_id)
where kind in ('capture', 'duplicate_capture');
create unique index one_entry_per_refund on ledger_entries (merchant_id, refund_id) where refund_id is not null;

create trigger ledger_entries_append_only before update or delete or truncate on ledger_entries
for each statement execute function reject_change();

create table postings (
  merchant_id uuid not null,
  entry_id uuid not null,
  position integer not null,
  -- available, pending, fees, duplicates, disputed, direct, or gateway:<name>, the money that a provider holds for us.
  account text not null,
  currency text not null,
  amount_minor bigint not null check (amount_minor <> 0),
  primary key (merchant_id, entry_id, position),
  foreign key (merchant_id, entry_id) references ledger_entries (merchant_id, id)
);

create index postings_by_account on postings (merchant_id, account, currency);

-- One statement inserts all postings of an entry, so the check runs once per statement.
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

create trigger postings_append_only before update or delete or truncate on postings
for each statement execute function reject_change();

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
-- A refund or dispute that takes pending money takes it from the settlements with the latest due time.
create index pending_settlements_by_merchant on pending_settlements (merchant_id, currency, due_at);

-- A background job folds deltas into balances, so that a busy merchant's payments do not wait for one balance row. A read
-- adds the deltas that are not folded yet. A delta has all columns of its statement line, so the fold joins no other table.
create table balance_deltas (
  id bigint generated always as identity primary key,
  merchant_id uuid not null,
  currency text not null,
  account text not null check (account in ('available', 'pending')),
  amount_minor bigint not null,
  at timestamptz not null,
  entry_id uuid not null,
  position integer not null,
  kind text not null,
  payment_id uuid not null
);

-- A read of the statement folds the deltas of one merchant, oldest first, however many deltas other merchants have.
create index balance_deltas_by_merchant on balance_deltas (merchant_id, id);

-- One row per merchant and currency, which the fold locks while it numbers lines.
create table balances (
  merchant_id uuid not null,
  currency text not null,
  available_minor bigint not null,
  pending_minor bigint not null,
  -- The number of statement lines, the time of the last one, and that time before the latest fold.
  lines bigint not null,
  updated_at timestamptz not null,
  previous_at timestamptz,
  primary key (merchant_id, currency)
);

-- The statement of the wallet: each posting to one of the merchant's balances, in the order of the fold. Times never
-- decrease, so number and time give the same order and a page of any month costs the same. There is no foreign key to
-- postings, because it would lock, and so write, each of them once more; an invariant checks the reference.
create table wallet_lines (
  merchant_id uuid not null,
  currency text not null,
  number bigint not null check (number >= 1),
  kind text not null,
  account text not null check (account in ('available', 'pending')),
  amount_minor bigint not null check (amount_minor <> 0),
  available_minor bigint not null,
  pending_minor bigint not null,
  payment_id uuid not null,
  entry_id uuid not null,
  position integer not null,
  created_at timestamptz not null,
  primary key (merchant_id, currency, number)
);

create index wallet_lines_by_time on wallet_lines (merchant_id, created_at, currency, number);
create index wallet_lines_by_currency on wallet_lines (merchant_id, currency, created_at, number);
create index wallet_lines_by_payment on wallet_lines (merchant_id, payment_id);
-- Captures and settlements are most of the lines: a list of them needs no index of its own.
create index wallet_lines_by_kind on wallet_lines (merchant_id, kind, created_at, currency, number)
where kind not in ('capture', 'settlement');

create trigger wallet_lines_append_only before update or delete or truncate on wallet_lines
for each statement execute function reject_change();
