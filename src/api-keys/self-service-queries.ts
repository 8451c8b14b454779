// The statements of self-service key management.

import { COUNT_CAP } from '../core/page.ts'
import { sql, type Tx } from '../kit/db/db.ts'
import type { ListWindow } from '../kit/db/pagination.ts'
import { KEY_COLUMNS, type KeyRow } from './api-key.ts'

// Not "for update": an insert that references the merchant, such as a new payment, must not wait for this lock.
const lockKeysStatement = sql<unknown>`
select
from merchants
where id = $1
for no key update`

/** Until the transaction ends, no other transaction creates a key for this merchant, so the count of live keys holds. */
export async function lockKeysOfMerchant(tx: Tx, merchantId: string): Promise<void> {
  await tx.query(lockKeysStatement, [merchantId])
}

// The share lock makes a revocation wait for this transaction. A list that is read after the revocation shows the new key.
const lockKeyForShareStatement = sql<KeyRow>`
select ${KEY_COLUMNS}
from api_keys
where merchant_id = $1
  and key_id = $2
for share`

/** The current row, not the cached one; it does not change until the transaction ends. */
export async function lockKeyForShare(
  tx: Tx,
  merchantId: string,
  keyId: string,
): Promise<KeyRow | undefined> {
  return (await tx.query(lockKeyForShareStatement, [merchantId, keyId]))[0]
}

const findKeyStatement = sql<KeyRow>`
select ${KEY_COLUMNS}
from api_keys
where merchant_id = $1
  and key_id = $2`

export async function findKey(db: Tx, merchantId: string, keyId: string): Promise<KeyRow | undefined> {
  return (await db.query(findKeyStatement, [merchantId, keyId]))[0]
}

const countLiveKeysStatement = sql<{ total: number }>`
select count(*)::integer as total
from api_keys
where merchant_id = $1
  and revoked_at is null
  and (expires_at is null or expires_at > $2)`

export async function countLiveKeys(db: Tx, merchantId: string, now: Date): Promise<number> {
  return (await db.query(countLiveKeysStatement, [merchantId, now]))[0]?.total ?? 0
}

const FILTER = `
  merchant_id = $1
  and ($2::timestamptz is null or created_at >= $2)
  and ($3::timestamptz is null or created_at <= $3)`

const selectNewestKeys = sql<KeyRow>`
select ${KEY_COLUMNS}
from api_keys
where ${FILTER}
  and ($4::timestamptz is null or (created_at, key_id) < ($4, $5::text))
order by created_at desc, key_id desc
limit $6
offset $7`

const selectOldestKeys = sql<KeyRow>`
select ${KEY_COLUMNS}
from api_keys
where ${FILTER}
  and ($4::timestamptz is null or (created_at, key_id) > ($4, $5::text))
order by created_at, key_id
limit $6
offset $7`

/** One row more than the page has: the caller then knows that there is a next page. */
export function listKeyPage(db: Tx, merchantId: string, window: ListWindow): Promise<KeyRow[]> {
  const statement = window.order === 'desc' ? selectNewestKeys : selectOldestKeys
  const after = [window.after?.at ?? null, window.after?.id ?? null]
  const values = [merchantId, window.createdFrom, window.createdTo, ...after]
  return db.query(statement, [...values, window.limit + 1, window.offset])
}

const countKeysStatement = sql<{ total: number }>`
select count(*)::integer as total
from (
  select 1
  from api_keys
  where ${FILTER}
  limit ${String(COUNT_CAP + 1)}
) counted`

export async function countKeysInPeriod(db: Tx, merchantId: string, window: ListWindow): Promise<number> {
  const values = [merchantId, window.createdFrom, window.createdTo]
  return (await db.query(countKeysStatement, values))[0]?.total ?? 0
}
