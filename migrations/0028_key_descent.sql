-- From which keys an API key descends, so that keys of one person cannot approve each other's resolutions of cases.

-- The keys of operators from which this one was created or rotated, through any number of keys. Empty: an operator created it.
alter table api_keys add column descends_from text[] not null default '{}';

-- Who created the earlier keys is not known here: all keys of a merchant descend from its first one.
alter table api_keys disable trigger user;
update api_keys k
set descends_from = array[f.key_id]
from (select distinct on (merchant_id) merchant_id, key_id from api_keys order by merchant_id, created_at, key_id) f
where f.merchant_id = k.merchant_id and f.key_id <> k.key_id;
alter table api_keys enable trigger user;
