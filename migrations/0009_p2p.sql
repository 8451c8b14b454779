-- Payment by transfer to an account of the merchant: the accounts, the expected transfers, and every move of a transfer.

create table p2p_accounts (
  merchant_id uuid not null references merchants (id),
  id uuid not null,
  channel text not null check (channel in ('bank_transfer', 'mobile_money')),
  currency text not null,
  -- Null: any country that uses the currency.
  country text,
  -- The details that a payer needs for the transfer. Every payer sees them, so they are stored as plain text.
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

-- One row for each payment by transfer. It keeps a copy of the account details that the payer saw.
create table p2p_transfers (
  merchant_id uuid not null,
  payment_id uuid not null,
  -- The attempt of the transfer. A payer who chooses this method again continues the same transfer.
  attempt_key text not null unique,
  channel text not null check (channel in ('bank_transfer', 'mobile_money')),
  account_id uuid,
  account_name text not null,
  account_number text,
  bank_name text,
  network text,
  phone_number text,
  -- The payer writes it in the transfer, and the merchant finds the payment by it.
  narration text not null check (narration ~ '^[0-9A-Z]{8}$'),
  status text not null check (
    status in (
      'awaiting_payment', 'marked_paid', 'confirmed', 'underpaid', 'overpaid', 'rejected', 'expired', 'cancelled'
    )
  ),
  version integer not null check (version >= 1),
  currency text not null,
  expected_minor bigint not null check (expected_minor > 0),
  -- The total received so far, as the merchant confirmed it.
  received_minor bigint check (received_minor > 0),
  rejection_reason text,
  expires_at timestamptz not null,
  -- When the background job expires it; null when it cannot expire.
  due_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (merchant_id, payment_id),
  -- Also among finished transfers: a late payment must name one payment by its narration.
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
create index p2p_transfers_by_account on p2p_transfers (merchant_id, account_id) where account_id is not null;
create index p2p_transfers_due on p2p_transfers (due_at) where due_at is not null;

create table p2p_moves (
  merchant_id uuid not null,
  payment_id uuid not null,
  version integer not null check (version >= 1),
  from_status text,
  to_status text not null,
  received_minor bigint,
  -- What caused the move; time is the expiry.
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
