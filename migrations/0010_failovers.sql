-- A press of the payer may go through several gateways when the first provably begin nothing. Only the presses count
-- towards the most attempts that a checkout may have.
alter table payments add column failovers integer not null default 0;
alter table payments add constraint payments_failovers_check check (failovers between 0 and attempts_used);
