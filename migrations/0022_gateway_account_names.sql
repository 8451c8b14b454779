-- Tells which gateways merchants have accounts at, for the gateway checks of cowry doctor.

create index gateway_accounts_by_gateway on gateway_accounts (gateway) where revoked_at is null;
