// The keys that were created with a key, directly or with keys that it had created. Who stole a key may have made some of them.

import { sql, type Tx } from '../kit/db/db.ts'
import { KEY_COLUMNS, type KeyRow } from './api-key.ts'

const CREATED = `
with recursive created as (
  select key_id
  from api_keys
  where merchant_id = $1 and created_by_key = $2
  union
  select k.key_id
  from created c
  join api_keys k on k.merchant_id = $1 and k.created_by_key = c.key_id
)`

const LIVE_CREATED = `
merchant_id = $1
  and key_id in (select key_id from created)
  and revoked_at is null
  and (expires_at is null or expires_at > $3)`

const selectCreatedStatement = sql<KeyRow>`
${CREATED}
select ${KEY_COLUMNS}
from api_keys
where ${LIVE_CREATED}
order by created_at, key_id`

/** Those that still work. */
export function listCreatedKeys(db: Tx, merchantId: string, keyId: string, now: Date): Promise<KeyRow[]> {
  return db.query(selectCreatedStatement, [merchantId, keyId, now])
}

const revokeCreatedStatement = sql<KeyRow>`
${CREATED}
update api_keys
set revoked_at = $3
where ${LIVE_CREATED}
returning ${KEY_COLUMNS}`

/** Returns the keys that worked until now. */
export function revokeCreatedKeyRows(
  db: Tx,
  merchantId: string,
  keyId: string,
  now: Date,
): Promise<KeyRow[]> {
  return db.query(revokeCreatedStatement, [merchantId, keyId, now])
}
