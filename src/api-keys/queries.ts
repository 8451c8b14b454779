// The statements over API keys, and the lock of the demo merchant.

import { COUNT_CAP } from '../core/page.ts'
import { ADVISORY_LOCKS } from '../kit/db/advisory-locks.ts'
import { sql, type Tx } from '../kit/db/db.ts'
import { requireRow } from '../kit/db/rows.ts'
import { API_KEY, KEY_COLUMNS, type KeyRow } from './api-key.ts'

const lockDemoStatement = sql<unknown>`select pg_advisory_xact_lock(${ADVISORY_LOCKS.demoMerchant})`

/** Until the transaction ends, no other process creates the demo merchant, its key or the test shop. */
export async function lockDemoMerchant(tx: Tx): Promise<void> {
  await tx.query(lockDemoStatement)
}

const NEW_KEY = [
  'merchantId',
  'keyId',
  'mode',
  'name',
  'scopes',
  'allowedIps',
  'ratePerSecond',
  'rateBurst',
  'createdAt',
  'expiresAt',
  'descendsFrom',
  'createdByKey',
] as const

const insertKeyStatement = sql<KeyRow>`
insert into api_keys (secret_hash, ${API_KEY.list(NEW_KEY)})
values ($1, ${API_KEY.placeholders(NEW_KEY, 2)})
returning ${KEY_COLUMNS}`

type NewKey = Pick<KeyRow, (typeof NEW_KEY)[number]>

export async function insertKey(db: Tx, key: NewKey, secretHash: Buffer): Promise<KeyRow> {
  return requireRow(await db.query(insertKeyStatement, [secretHash, ...API_KEY.values(key, NEW_KEY)]))
}

export interface KeyOwnerRow extends KeyRow {
  secretHash: Buffer
  merchantName: string
  merchantStatus: 'active' | 'suspended'
  baseCurrency: string
}

// The array is read in subselects. If the planner saw its length, it would make a new plan for every batch size.
const findKeysStatement = sql<KeyOwnerRow>`
select ${API_KEY.select('k')}, k.secret_hash as "secretHash", m.name as "merchantName", m.status as "merchantStatus",
  m.base_currency as "baseCurrency"
from (
  select *
  from unnest((select $1::text[])) as u (key_id)
  limit (select cardinality($1::text[]))
) as i
join api_keys k on k.key_id = i.key_id
join merchants m on m.id = k.merchant_id`

/** The only read of authentication. It names no merchant, because the key identifies the merchant. */
export async function findKeyOwners(db: Tx, keyIds: readonly string[]): Promise<(KeyOwnerRow | undefined)[]> {
  const rows = await db.query(findKeysStatement, [keyIds])
  const owners = new Map(rows.map((row) => [row.keyId, row]))
  return keyIds.map((keyId) => owners.get(keyId))
}

export async function findKeyOwner(db: Tx, keyId: string): Promise<KeyOwnerRow | undefined> {
  return (await findKeyOwners(db, [keyId]))[0]
}

const listKeysStatement = sql<KeyRow>`
select ${KEY_COLUMNS}
from api_keys
where merchant_id = $1
order by created_at desc, key_id desc
limit $2
offset $3`

export function listKeyRows(db: Tx, merchantId: string, limit: number, offset: number): Promise<KeyRow[]> {
  return db.query(listKeysStatement, [merchantId, limit, offset])
}

const countKeysStatement = sql<{ total: number }>`
select count(*)::integer as total
from (select from api_keys where merchant_id = $1 limit ${String(COUNT_CAP + 1)}) counted`

export async function countKeys(db: Tx, merchantId: string): Promise<number> {
  return requireRow(await db.query(countKeysStatement, [merchantId])).total
}

const COPIED = ['merchantId', 'mode', 'name', 'scopes', 'allowedIps', 'ratePerSecond', 'rateBurst'] as const

// One statement ends the old key and inserts its successor. A concurrent rotation waits for the row lock and then finds the
// successor. If the old key expires, the successor has the same lifetime, at most until $7. It descends from the old key, and
// from the key that asks ($8, $9), whose holder gets its secret.
const replaceKeyStatement = sql<KeyRow>`
with current as (
  select *
  from api_keys
  where merchant_id = $1
    and key_id = $2
    and revoked_at is null
    and replaced_by is null
    and (expires_at is null or expires_at > $5)
  for update
), replaced as (
  update api_keys
  set replaced_by = $3, expires_at = least(current.expires_at, $6)
  from current
  where api_keys.merchant_id = $1 and api_keys.key_id = current.key_id
)
insert into api_keys (key_id, secret_hash, created_at, expires_at, descends_from, created_by_key, ${API_KEY.list(COPIED)})
select
  $3, $4, $5::timestamptz, least($5::timestamptz + (expires_at - created_at), $7),
  array(
    select unnest(case when cardinality(descends_from) = 0 then array[key_id] else descends_from end)
    union
    select unnest($8::text[])
  ),
  $9,
  ${API_KEY.list(COPIED)}
from current
returning ${KEY_COLUMNS}`

export async function replaceKey(
  db: Tx,
  merchantId: string,
  keyId: string,
  successor: {
    keyId: string
    secretHash: Buffer
    createdAt: Date
    predecessorEndsAt: Date
    endsBy: Date | null
    descendsFrom: readonly string[]
    createdByKey: string | null
  },
): Promise<KeyRow | undefined> {
  const { createdAt, predecessorEndsAt, endsBy, descendsFrom, createdByKey } = successor
  const values = [
    merchantId,
    keyId,
    successor.keyId,
    successor.secretHash,
    createdAt,
    predecessorEndsAt,
    endsBy,
    descendsFrom,
    createdByKey,
  ]
  return (await db.query(replaceKeyStatement, values))[0]
}

const originsOfKey = (keyId: string) =>
  `(select descends_from || key_id from api_keys where merchant_id = $1 and key_id = ${keyId})`

const areRelatedStatement = sql<{ areRelated: boolean | null }>`
select coalesce($3::text[], ${originsOfKey('$2')}) && coalesce($5::text[], ${originsOfKey('$4')}) as "areRelated"`

/** Null if one of the keys does not exist. */
export async function selectRelation(
  db: Tx,
  merchantId: string,
  [a, b]: readonly [Holder, Holder],
): Promise<boolean | null> {
  const values = [a, b].flatMap(({ keyId = null, origins = null }) => [keyId, origins])
  return (await db.query(areRelatedStatement, [merchantId, ...values]))[0]?.areRelated ?? null
}

/** A key, whose origins are stored, or the origins of a person. */
export interface Holder {
  keyId?: string
  origins?: string[]
}

const originsOfNewKeyStatement = sql<{ origins: string[] }>`
select descends_from as origins
from api_keys
where merchant_id = $1 and key_id = $2 and created_at > $3`

/** Of a key that was created after this time; none of another one. */
export async function selectOriginsOfNewKey(
  db: Tx,
  merchantId: string,
  keyId: string,
  after: Date,
): Promise<string[]> {
  return (await db.query(originsOfNewKeyStatement, [merchantId, keyId, after]))[0]?.origins ?? []
}

const revokeKeyStatement = sql<KeyRow>`
update api_keys
set revoked_at = coalesce(revoked_at, $3)
where merchant_id = $1
  and key_id = $2
returning ${KEY_COLUMNS}`

export async function revokeKeyRow(
  db: Tx,
  merchantId: string,
  keyId: string,
  now: Date,
): Promise<KeyRow | undefined> {
  return (await db.query(revokeKeyStatement, [merchantId, keyId, now]))[0]
}

const touchKeyStatement = sql<unknown>`
update api_keys
set last_used_at = $3
where merchant_id = $1
  and key_id = $2
  and (last_used_at is null or last_used_at < $4)`

/** Saves the last-used time, unless another process saved one after `unlessAfter`. */
export async function touchKey(
  db: Tx,
  merchantId: string,
  keyId: string,
  use: { usedAt: Date; unlessAfter: Date },
): Promise<void> {
  await db.query(touchKeyStatement, [merchantId, keyId, use.usedAt, use.unlessAfter])
}
