-- How many switches of the move were ended, because the writes of the merchant would have waited too long.
alter table merchant_moves add column switch_tries integer not null default 0;
