-- Payment links: addresses at which many people may pay, with a slot for everybody who is let through to a gateway.

create table payment_links (
  merchant_id uuid not null,
  id uuid not null,
  -- What stands in the address. It opens a page that asks for money and nothing else, so it is kept as it is.
  slug text not null unique check (slug ~ '^[0-9A-Za-z]{12,32}$'),
  title text not null,
  description text,
  -- Null when the payer chooses; then the bounds may say between what.
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
  -- Set while all the payments that the link may collect have been counted.
  completed_at timestamptz,
  -- Set while it was told that the time of the link has passed.
  expired_at timestamptz,
  -- What was folded in; the paid slots that were not yet stand in payment_link_slots, and a reader adds them.
  payments_count bigint not null default 0 check (payments_count >= 0),
  collected_minor bigint not null default 0 check (collected_minor >= 0),
  -- Of the last event about this link.
  version integer not null default 0 check (version >= 0),
  -- When the background looks whether the link has expired.
  due_at timestamptz,
  search_text text not null,
  created_at timestamptz not null,
  -- The status as the events so far have told it, for lists: that of a link with payments to be counted, or whose time has
  -- passed a moment ago, may be another one.
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
create index payment_links_by_search on payment_links using gin (search_text gin_trgm_ops);
create index payment_links_due on payment_links (due_at) where due_at is not null;

-- Of a payment that was begun at a link. Nothing is rewritten, and there is nothing to validate: the column is null in
-- every row that stands already. The index holds none of them, so making it is one reading of the table.
alter table payments add column link_id uuid;
alter table payments add constraint payments_link_fkey
  foreign key (merchant_id, link_id) references payment_links (merchant_id, id) not valid;
create index payments_by_link on payments (merchant_id, link_id, created_at, id) where link_id is not null;

-- Who may be charged at this moment, and who has paid since the link was last counted. A slot is taken before an attempt
-- is recorded, kept while one is under way, not known, or declined on a page that can still be paid, given back when the
-- payment ends unpaid or nothing of it can be paid any more, and counted when it is paid. A link never has more slots than
-- payments it may collect.
create table payment_link_slots (
  merchant_id uuid not null,
  payment_id uuid not null,
  link_id uuid not null,
  reserved_at timestamptz not null,
  reference text not null,
  -- Null while nothing is paid yet.
  paid_minor bigint check (paid_minor > 0),
  paid_at timestamptz,
  primary key (merchant_id, payment_id),
  foreign key (merchant_id, payment_id) references payments (merchant_id, id),
  foreign key (merchant_id, link_id) references payment_links (merchant_id, id),
  check ((paid_minor is null) = (paid_at is null))
);

create index payment_link_slots_by_link on payment_link_slots (merchant_id, link_id);
create index payment_link_slots_paid on payment_link_slots (paid_at) where paid_at is not null;
create index payment_link_slots_reserved on payment_link_slots (reserved_at) where paid_at is null;

-- A slot follows its payment in the very statement that moves it, whoever moves it. It touches this payment's own row
-- only: a batch of moves never waits for a link.
create function sync_link_slot() returns trigger language plpgsql as $$
begin
  if new.status = 'processing' then
    if not exists (
      select 1 from payment_link_slots where merchant_id = new.merchant_id and payment_id = new.id
    ) then
      raise exception 'payment % has no slot at its link', new.id using errcode = 'restrict_violation';
    end if;
  elsif new.status = 'successful' and old.status <> 'disputed' then
    -- Late money is money: it is counted also where no slot was left.
    insert into payment_link_slots as p (merchant_id, payment_id, link_id, reserved_at, reference, paid_minor, paid_at)
    values (
      new.merchant_id, new.id, new.link_id, coalesce(new.paid_at, now()), new.reference, new.amount_paid_minor,
      coalesce(new.paid_at, now())
    )
    on conflict (merchant_id, payment_id) do update
    set paid_minor = excluded.paid_minor, paid_at = excluded.paid_at;
  elsif new.status in ('pending', 'failed', 'abandoned', 'expired') then
    -- A payer who went on to another way to pay may still pay the first one, and one who was declined may try again on a
    -- gateway's page that stays open, which is why such an attempt is looked at again. So the slot stays theirs.
    delete from payment_link_slots p
    where p.merchant_id = new.merchant_id
      and p.payment_id = new.id
      and (
        new.status <> 'pending'
        or not exists (
          select 1
          from attempts a
          where a.merchant_id = new.merchant_id
            and a.payment_id = new.id
            and (a.status <> 'declined' or a.due_at is not null)
        )
      );
  end if;
  return null;
end
$$;

create trigger payments_sync_link_slot after update of status on payments
for each row
when (new.link_id is not null and old.status is distinct from new.status)
execute function sync_link_slot();

-- Nobody looks at a declined attempt any more, so it cannot be paid: its slot is free, unless another attempt holds it or
-- the payer has taken it again since, for one that is about to start.
create function release_link_slot() returns trigger language plpgsql as $$
begin
  delete from payment_link_slots h
  using payments p
  where h.merchant_id = new.merchant_id
    and h.payment_id = new.payment_id
    and h.paid_at is null
    and p.merchant_id = h.merchant_id
    and p.id = h.payment_id
    and p.status = 'pending'
    and not exists (
      select 1
      from attempts a
      where a.merchant_id = h.merchant_id
        and a.payment_id = h.payment_id
        and (a.status <> 'declined' or a.due_at is not null)
    )
    and h.reserved_at <= (
      select max(a.started_at)
      from attempts a
      where a.merchant_id = h.merchant_id and a.payment_id = h.payment_id
    );
  return null;
end
$$;

create trigger attempts_release_link_slot after update of due_at on attempts
for each row
when (new.status = 'declined' and new.due_at is null and old.due_at is not null)
execute function release_link_slot();

create view invariant_l01_links_count_their_payments as
with shown as (
  select
    l.merchant_id, l.id as link_id, l.payments_count + count(p.payment_id) as payments,
    l.collected_minor + coalesce(sum(p.paid_minor), 0) as collected_minor
  from payment_links l
  left join payment_link_slots p
    on p.merchant_id = l.merchant_id and p.link_id = l.id and p.paid_at is not null
  group by l.merchant_id, l.id
),
paid as (
  select merchant_id, link_id, count(*) as payments, sum(amount_paid_minor) as collected_minor
  from payments
  where link_id is not null
    and status in ('successful', 'partially_refunded', 'refunded', 'disputed', 'reversed')
  group by merchant_id, link_id
)
select s.merchant_id, s.link_id, s.payments as shown, p.payments as paid
from shown s
left join paid p on p.merchant_id = s.merchant_id and p.link_id = s.link_id
where s.payments <> coalesce(p.payments, 0) or s.collected_minor <> coalesce(p.collected_minor, 0);

create view invariant_l02_no_charge_without_slot as
select p.merchant_id, p.id as payment_id, 'at a gateway without a slot' as why
from payments p
left join payment_link_slots h on h.merchant_id = p.merchant_id and h.payment_id = p.id
where p.link_id is not null and p.status = 'processing' and h.payment_id is null
union all
select h.merchant_id, h.payment_id, 'a slot of a payment that is over'
from payment_link_slots h
join payments p on p.merchant_id = h.merchant_id and p.id = h.payment_id
where h.paid_at is null and p.status not in ('pending', 'processing')
union all
select h.merchant_id, h.payment_id, 'a slot at another link'
from payment_link_slots h
join payments p on p.merchant_id = h.merchant_id and p.id = h.payment_id
where h.link_id is distinct from p.link_id;

-- More than the maximum is only ever late money: a payment that was over already and was paid all the same.
create view invariant_l03_links_respect_max_payments as
select l.merchant_id, l.id as link_id, l.max_payments, l.payments_count + count(h.payment_id) as slots
from payment_links l
left join payment_link_slots h on h.merchant_id = l.merchant_id and h.link_id = l.id
where l.max_payments is not null
group by l.merchant_id, l.id, l.max_payments, l.payments_count
having l.payments_count + count(h.payment_id) > l.max_payments + (
  select count(distinct m.payment_id)
  from payments p
  join moves m on m.merchant_id = p.merchant_id and m.payment_id = p.id
  where p.merchant_id = l.merchant_id
    and p.link_id = l.id
    and m.to_status = 'successful'
    and m.from_status in ('failed', 'abandoned', 'expired')
);

create view invariant_l04_one_event_per_payment_of_a_link as
select l.merchant_id, l.id as link_id, l.payments_count, count(e.id) as events
from payment_links l
left join events e
  on e.merchant_id = l.merchant_id
  and e.resource_type = 'payment_link'
  and e.resource_id = l.id
  and e.type = 'payment_link.paid'
group by l.merchant_id, l.id, l.payments_count
having count(e.id) <> l.payments_count
union all
select l.merchant_id, l.id, l.version, coalesce(max(e.version), 0)
from payment_links l
left join events e on e.merchant_id = l.merchant_id and e.resource_type = 'payment_link' and e.resource_id = l.id
group by l.merchant_id, l.id, l.version
having coalesce(max(e.version), 0) <> l.version;

-- A list finds a link by these marks, so each stands exactly while it is true.
create view invariant_l05_recorded_link_status_is_correct as
select merchant_id, id as link_id, recorded_status, 'complete by its count and not by its mark, or the other way' as why
from payment_links
where (completed_at is not null) <> coalesce(payments_count >= max_payments, false)
union all
select merchant_id, id, recorded_status, 'expired without a time that has passed'
from payment_links
where expired_at is not null and (expires_at is null or expires_at > expired_at);
