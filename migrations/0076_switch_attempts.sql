-- The column is named as the other counts of attempts.
alter table merchant_moves rename column switch_tries to switch_attempts;
