-- Pay by transfer to an account of the merchant: the accounts, the transfers that are expected there, and every move of them.

create table p2p_accounts (
  merchant_id uuid not null references merchants (id),
  id uuid not null,
  channel text not null check (channel in ('bank_transfer', 'mobile_money')),
  currency text not null,
  -- Null: any country that uses the currency.
  country text,
  -- What a payer needs to send money there, so it is shown to everybody who pays and kept as it is.
  account_name text not null,
  account_number text,
  bank_name text,
  network text,
  phone_number text,
  is_active boolean not null default true,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (merchant_id, id),
  check (
    case channel
      when 'bank_transfer' then num_nulls(account_number, bank_name) = 0 and num_nonnulls(network, phone_number) = 0
      else num_nulls(network, phone_number, country) = 0 and num_nonnulls(account_number, bank_name) = 0
    end
  )
);

create index p2p_accounts_by_time on p2p_accounts (merchant_id, created_at, id);

-- One for each payment that was to be paid this way. It keeps the account as the payer was told it.
create table p2p_transfers (
  merchant_id uuid not null,
  payment_id uuid not null,
  -- Which attempt the transfer is made for; a payer who chooses this way again goes on with the same transfer.
  attempt_key text not null unique,
  channel text not null check (channel in ('bank_transfer', 'mobile_money')),
  account_id uuid,
  account_name text not null,
  account_number text,
  bank_name text,
  network text,
  phone_number text,
  -- What the payer writes beside the money, and the merchant finds it by.
  narration text not null check (narration ~ '^[0-9A-Z]{8}$'),
  status text not null check (
    status in (
      'awaiting_payment', 'marked_paid', 'confirmed', 'underpaid', 'overpaid', 'rejected', 'expired', 'cancelled'
    )
  ),
  version integer not null check (version >= 1),
  currency text not null,
  expected_minor bigint not null check (expected_minor > 0),
  -- All that has arrived so far, by the merchant's word.
  received_minor bigint check (received_minor > 0),
  rejection_reason text,
  expires_at timestamptz not null,
  -- When the background ends it for time; null when there is nothing to end.
  due_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (merchant_id, payment_id),
  -- Also among those that are over: money may come late, and then its words must name one payment.
  unique (merchant_id, narration),
  foreign key (merchant_id, payment_id) references payments (merchant_id, id),
  foreign key (merchant_id, account_id) references p2p_accounts (merchant_id, id) on delete set null (account_id),
  check ((status = 'awaiting_payment') = (due_at is not null)),
  check (
    case status
      when 'confirmed' then coalesce(received_minor = expected_minor, false)
      when 'underpaid' then coalesce(received_minor < expected_minor, false)
      when 'overpaid' then coalesce(received_minor > expected_minor, false)
      when 'rejected' then true
      else received_minor is null
    end
  )
);

create index p2p_transfers_by_time on p2p_transfers (merchant_id, created_at, payment_id);
create index p2p_transfers_by_status on p2p_transfers (merchant_id, status, created_at, payment_id);
create index p2p_transfers_of_account on p2p_transfers (merchant_id, account_id) where account_id is not null;
create index p2p_transfers_due on p2p_transfers (due_at) where due_at is not null;

create table p2p_moves (
  merchant_id uuid not null,
  payment_id uuid not null,
  version integer not null check (version >= 1),
  from_status text,
  to_status text not null,
  received_minor bigint,
  -- The payer, the merchant, or the time.
  source text not null check (source in ('payer', 'merchant', 'time')),
  at timestamptz not null,
  primary key (merchant_id, payment_id, version),
  foreign key (merchant_id, payment_id) references p2p_transfers (merchant_id, payment_id),
  check ((from_status is null) = (version = 1)),
  check (
    (from_status is null and to_status = 'awaiting_payment')
    or (from_status, to_status) in (
      ('awaiting_payment', 'marked_paid'), ('awaiting_payment', 'expired'), ('awaiting_payment', 'cancelled'),
      ('marked_paid', 'confirmed'), ('marked_paid', 'underpaid'), ('marked_paid', 'overpaid'),
      ('marked_paid', 'rejected'),
      ('underpaid', 'underpaid'), ('underpaid', 'confirmed'), ('underpaid', 'overpaid'), ('underpaid', 'rejected'),
      ('expired', 'awaiting_payment'), ('expired', 'marked_paid')
    )
  )
);

create trigger p2p_moves_append_only before update or delete or truncate on p2p_moves
for each statement execute function reject_change();

create view invariant_p01_transfers_follow_their_moves as
select m.merchant_id, m.payment_id, m.version, 'does not continue the move before it' as why
from p2p_moves m
left join p2p_moves b
  on b.merchant_id = m.merchant_id and b.payment_id = m.payment_id and b.version = m.version - 1
where m.version > 1 and b.to_status is distinct from m.from_status
union all
select t.merchant_id, t.payment_id, t.version, 'the transfer is not where its last move led'
from p2p_transfers t
left join p2p_moves m on m.merchant_id = t.merchant_id and m.payment_id = t.payment_id and m.version = t.version
where m.to_status is distinct from t.status
union all
select m.merchant_id, m.payment_id, m.version, 'a move beyond the transfer''s version'
from p2p_moves m
join p2p_transfers t on t.merchant_id = m.merchant_id and t.payment_id = m.payment_id
where m.version > t.version;

create view invariant_p02_one_event_per_transfer_move as
select
  coalesce(m.merchant_id, e.merchant_id) as merchant_id,
  coalesce(m.payment_id, e.resource_id) as payment_id,
  coalesce(m.version, e.version) as version
from p2p_moves m
full join (select * from events where resource_type = 'p2p_payment') e
  on e.merchant_id = m.merchant_id and e.resource_id = m.payment_id and e.version = m.version
where m.version is null or e.version is null or e.type <> 'p2p.' || m.to_status;

-- The merchant's word is the proof: what it confirmed is paid or about to be asked about, and nothing else is paid.
create view invariant_p03_confirmed_transfers_are_paid as
select t.merchant_id, t.payment_id, t.status, 'confirmed and forgotten' as why
from p2p_transfers t
left join attempts a on a.merchant_id = t.merchant_id and a.gateway_key = t.attempt_key
where t.status in ('confirmed', 'overpaid')
  and (a.id is null or (a.status not in ('succeeded', 'duplicate_success') and a.due_at is null))
union all
select a.merchant_id, a.payment_id, t.status, 'paid without being confirmed'
from attempts a
left join p2p_transfers t on t.merchant_id = a.merchant_id and t.attempt_key = a.gateway_key
where a.gateway = 'p2p'
  and a.status in ('succeeded', 'duplicate_success')
  and coalesce(t.status, '') not in ('confirmed', 'overpaid');

-- Money that the merchant has already stands in no balance of its wallet.
create view invariant_p04_direct_money_is_in_no_balance as
select p.merchant_id, p.entry_id, p.account
from postings p
where p.account in ('available', 'pending', 'fees')
  and exists (
    select
    from postings d
    where d.merchant_id = p.merchant_id and d.entry_id = p.entry_id and d.account = 'direct'
  );
