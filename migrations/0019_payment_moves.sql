-- The state of a payment changes only along the table of moves, also for a statement that writes no move.

create function reject_payment_move() returns trigger language plpgsql as $$
begin
  raise exception 'a payment cannot move from % to %', old.status, new.status using errcode = 'check_violation';
end
$$;

-- The condition is evaluated without a call, so an allowed move costs nothing measurable. The pairs are those of moves.
create trigger payments_follow_the_moves before update on payments
for each row
when (
  old.status <> new.status
  and (old.status, new.status) not in (
    ('pending', 'processing'), ('pending', 'successful'), ('pending', 'failed'),
    ('pending', 'abandoned'), ('pending', 'expired'),
    ('processing', 'pending'), ('processing', 'successful'), ('processing', 'failed'),
    ('processing', 'abandoned'), ('processing', 'expired'),
    ('successful', 'partially_refunded'), ('successful', 'refunded'), ('successful', 'disputed'),
    ('successful', 'reversed'),
    ('failed', 'successful'), ('abandoned', 'successful'), ('expired', 'successful'),
    ('partially_refunded', 'refunded'), ('partially_refunded', 'disputed'),
    ('refunded', 'disputed'),
    ('disputed', 'successful'), ('disputed', 'reversed')
  )
)
execute function reject_payment_move();
