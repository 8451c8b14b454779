-- Whether the last run of the move has found what a person must look at. It is tried again rarely, and other moves go on.
alter table merchant_moves add column is_refused boolean not null default false;
