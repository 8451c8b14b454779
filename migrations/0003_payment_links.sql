-- Payment links: pages of a merchant at which many payers may pay. The slots of a link follow after the payments.
create extension if not exists pg_trgm;

create table payment_links (
  merchant_id uuid not null,
  id uuid not null,
  -- The last part of the link's address. It only opens a payment page, so it is stored as plain text.
  slug text not null unique check (slug ~ '^[0-9A-Za-z]{12,32}$'),
  title text not null,
  description text,
  -- Null when the payer chooses the amount, within the bounds if there are any.
  amount_minor bigint check (amount_minor > 0),
  min_amount_minor bigint check (min_amount_minor > 0),
  max_amount_minor bigint check (max_amount_minor > 0),
  currency text not null,
  country text,
  usage text not null check (usage in ('single', 'multi')),
  max_payments integer check (max_payments >= 1),
  redirect_url text,
  metadata jsonb not null default '{}',
  expires_at timestamptz,
  deactivated_at timestamptz,
  -- Set while the counted payments reach max_payments.
  completed_at timestamptz,
  -- Set while the expiry of the link has been published as an event.
  expired_at timestamptz,
  -- Totals without the paid slots that are not counted yet; a reader adds those from payment_link_slots.
  payments_count bigint not null default 0 check (payments_count >= 0),
  collected_minor bigint not null default 0 check (collected_minor >= 0),
  -- Of the last event about this link.
  version integer not null default 0 check (version >= 0),
  -- When the background job checks the link for expiry.
  due_at timestamptz,
  search_text text not null,
  created_at timestamptz not null,
  -- The status according to the events so far, for lists. The current status may differ while paid slots are not counted or
  -- when the link expired a moment ago.
  recorded_status text not null generated always as (
    case
      when completed_at is not null then 'completed'
      when deactivated_at is not null then 'inactive'
      when expired_at is not null then 'expired'
      else 'active'
    end
  ) stored,
  primary key (merchant_id, id),
  check (amount_minor is null or (min_amount_minor is null and max_amount_minor is null)),
  check (min_amount_minor <= max_amount_minor),
  check (usage = 'multi' or max_payments is not distinct from 1)
);

create index payment_links_by_time on payment_links (merchant_id, created_at, id);
create index payment_links_by_status on payment_links (merchant_id, recorded_status, created_at, id);
create index payment_links_search on payment_links using gin (search_text gin_trgm_ops);
create index payment_links_due on payment_links (due_at) where due_at is not null;
