-- With which key an API key was created, so that who revokes a leaked key can also revoke the keys that were created with it.

-- The key that asked, also for a rotation. Null: a person or an operator created it. descends_from has only the first keys.
alter table api_keys add column created_by_key text;

-- Of earlier keys the audit log knows it.
alter table api_keys disable trigger user;
update api_keys k
set created_by_key = e.actor_id
from audit_entries e
cross join lateral jsonb_array_elements(e.changes) c
where e.merchant_id = k.merchant_id
  and e.actor_type = 'api_key'
  and e.operation in ('POST /api/v1/api-keys', 'POST /api/v1/api-keys/{keyId}/rotate')
  and c ->> 'type' = 'api_key'
  and c ->> 'id' = k.key_id
  and c -> 'before' = 'null';
alter table api_keys enable trigger user;

create index api_keys_by_creator on api_keys (merchant_id, created_by_key) where created_by_key is not null;
