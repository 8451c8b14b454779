-- Webhook endpoints subscribe to patterns too: payment.* is every event type whose name begins with "payment.", also one of a
-- later version.

create or replace function is_subscribed_to_event(endpoint_id uuid, events text[], type text, resource_id uuid)
returns boolean
language sql immutable parallel safe
return case
  when type = 'webhook.test' then endpoint_id = resource_id
  else events && array['*', type, split_part(type, '.', 1) || '.*']
end;
