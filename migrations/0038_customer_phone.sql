-- The payer's phone number, as the merchant sent it with the payment: the checkout page shows it in its field.

alter table payments add column customer_phone text check (customer_phone ~ '^\+[1-9][0-9]{6,14}$');
