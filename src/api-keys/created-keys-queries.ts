// The keys that were created with a key, directly or with keys that it had created. Who stole a key may have made some of
// them. A key that has replaced another one by rotation is listed apart, with what was created with it, unless the other one
// is among the created ones: the successor of the key itself is what its server uses now.

import { sql, type Tx } from '../kit/db/db.ts'
import { KEY_COLUMNS, type KeyRow } from './api-key.ts'

const CREATED = `
with recursive family as (
  select key_id
  from api_keys
  where merchant_id = $1 and created_by_key = $2
  union
  select k.key_id
  from family f
  join api_keys k on k.merchant_id = $1 and k.created_by_key = f.key_id
), apart as (
  select replaced_by as key_id
  from api_keys
  where merchant_id = $1 and replaced_by is not null and key_id not in (select key_id from family)
  union
  select k.key_id
  from apart a
  join api_keys p on p.merchant_id = $1 and p.key_id = a.key_id
  join api_keys k on k.merchant_id = $1 and (k.created_by_key = p.key_id or k.key_id = p.replaced_by)
)`

const LIVE_CREATED = `
merchant_id = $1
  and key_id in (select key_id from family)
  and revoked_at is null
  and (expires_at is null or expires_at > $3)`

export type CreatedKey = KeyRow & { isSuccessor: boolean }

const selectCreatedStatement = sql<CreatedKey>`
${CREATED}
select ${KEY_COLUMNS}, key_id in (select key_id from apart) as "isSuccessor"
from api_keys
where ${LIVE_CREATED}
order by created_at, key_id`

/** Those that still work. */
export function listCreatedKeys(db: Tx, merchantId: string, keyId: string, now: Date): Promise<CreatedKey[]> {
  return db.query(selectCreatedStatement, [merchantId, keyId, now])
}

const revokeCreatedStatement = sql<KeyRow>`
${CREATED}
update api_keys
set revoked_at = $3
where ${LIVE_CREATED} and key_id not in (select key_id from apart)
returning ${KEY_COLUMNS}`

/** Successors stay. Returns the keys that worked until now. */
export function revokeCreatedKeyRows(
  db: Tx,
  merchantId: string,
  keyId: string,
  now: Date,
): Promise<KeyRow[]> {
  return db.query(revokeCreatedStatement, [merchantId, keyId, now])
}
