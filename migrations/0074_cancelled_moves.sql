-- Whether an operator has cancelled the move: the merchant stays in the old cell, and the copy in the new one is deleted.
alter table merchant_moves add column is_cancelled boolean not null default false;
