-- A merchant has a handful of endpoints. 0022 let the planner believe that a tenth of all of them are one merchant's, so
-- that the fan-out of a few events read the endpoints of every merchant: measured, 2.6 instead of 1.0 ms for sixteen
-- events where ten thousand merchants have one each.

alter table webhook_endpoints alter column merchant_id set (n_distinct = -0.25);
analyze webhook_endpoints;
