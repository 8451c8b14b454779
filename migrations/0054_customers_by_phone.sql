-- Support finds a customer by the phone number. The index is built before the service starts, in about a second for a million
-- customers.
create index customers_by_phone on customers (merchant_id, phone) where phone is not null;
