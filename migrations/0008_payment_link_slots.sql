-- The slots of payment links: a payment reserves one before its first attempt, so a link never collects too many payments.

-- A slot is reserved before an attempt is recorded. It stays reserved while an attempt is open, has an unknown outcome, or
-- was declined on a page that can still be paid. It is released when the payment ends unpaid or can no longer be paid, and
-- counted when it is paid. A link never has more slots than payments it may collect.
create table payment_link_slots (
  merchant_id uuid not null,
  payment_id uuid not null,
  link_id uuid not null,
  reserved_at timestamptz not null,
  reference text not null,
  -- Null until the payment is paid.
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

-- Every statement that moves a payment updates its slot. The trigger touches the row of this payment only, so a batch of
-- moves never waits for a link.
create function sync_link_slot() returns trigger language plpgsql as $$
begin
  if new.status = 'processing' then
    if not exists (
      select 1 from payment_link_slots where merchant_id = new.merchant_id and payment_id = new.id
    ) then
      raise exception 'payment % has no slot at its link', new.id using errcode = 'restrict_violation';
    end if;
  elsif new.status = 'successful' and old.status <> 'disputed' then
    -- A late payment is accepted: it is counted even if no slot was left.
    insert into payment_link_slots as s (merchant_id, payment_id, link_id, reserved_at, reference, paid_minor, paid_at)
    values (
      new.merchant_id, new.id, new.link_id, coalesce(new.paid_at, now()), new.reference, new.amount_paid_minor,
      coalesce(new.paid_at, now())
    )
    on conflict (merchant_id, payment_id) do update
    set paid_minor = excluded.paid_minor, paid_at = excluded.paid_at;
  elsif new.status in ('pending', 'failed', 'abandoned', 'expired') then
    -- A payer who switched to another method may still pay the first attempt. A declined payer may retry on a gateway page
    -- that stays open, which is why such an attempt is polled again. The payment keeps its slot in both cases.
    delete from payment_link_slots s
    where s.merchant_id = new.merchant_id
      and s.payment_id = new.id
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

-- A declined attempt that is no longer polled cannot be paid, so its slot is released. The slot stays if another attempt
-- uses it, or if the payer has reserved it again for an attempt that is about to start.
create function release_link_slot() returns trigger language plpgsql as $$
begin
  delete from payment_link_slots s
  using payments p
  where s.merchant_id = new.merchant_id
    and s.payment_id = new.payment_id
    and s.paid_at is null
    and p.merchant_id = s.merchant_id
    and p.id = s.payment_id
    and p.status = 'pending'
    and not exists (
      select 1
      from attempts a
      where a.merchant_id = s.merchant_id
        and a.payment_id = s.payment_id
        and (a.status <> 'declined' or a.due_at is not null)
    )
    and s.reserved_at <= (
      select max(a.started_at)
      from attempts a
      where a.merchant_id = s.merchant_id and a.payment_id = s.payment_id
    );
  return null;
end
$$;

create trigger attempts_release_link_slot after update of due_at on attempts
for each row
when (new.status = 'declined' and new.due_at is null and old.due_at is not null)
execute function release_link_slot();
