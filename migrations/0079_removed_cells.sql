-- A cell that has no merchants can be removed. Its row stays, so that its number and its name are not given again: values of
-- merchants that have left it contain the number.
alter table cells drop constraint cells_state_check;
alter table cells add constraint cells_state_check check (state in ('added', 'active', 'draining', 'removed'));
