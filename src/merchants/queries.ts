// Every statement over merchants and API keys. Operators see all merchants, so the lists of merchants name none; every
// statement over the data of one merchant does.

import { COUNT_CAP } from '../core/page.ts'
import { sql, type Tx } from '../kit/db.ts'
import type { SettingsPatch } from './settings.ts'

export interface MerchantRow {
  id: string
  name: string
  mode: 'test' | 'live'
  base_currency: string
  status: 'active' | 'suspended'
  settings: Record<string, unknown>
  created_at: Date
  updated_at: Date
}

const MERCHANT_COLUMNS = 'id, name, mode, base_currency, status, settings, created_at, updated_at'

const insertMerchantStatement = sql<MerchantRow>`
insert into merchants (id, name, mode, base_currency, settings, created_at, updated_at)
values ($1, $2, $3, $4, $5::jsonb, $6, $6)
returning ${MERCHANT_COLUMNS}`

export async function insertMerchant(
  db: Tx,
  merchant: Pick<MerchantRow, 'id' | 'name' | 'mode' | 'base_currency' | 'settings' | 'created_at'>,
): Promise<MerchantRow> {
  const { id, name, mode, base_currency, settings, created_at } = merchant
  const values = [id, name, mode, base_currency, JSON.stringify(settings), created_at]
  return requireRow(await db.query(insertMerchantStatement, values))
}

const findMerchantStatement = sql<MerchantRow>`
select ${MERCHANT_COLUMNS}
from merchants
where id = $1`

export async function findMerchant(db: Tx, merchantId: string): Promise<MerchantRow | undefined> {
  return (await db.query(findMerchantStatement, [merchantId]))[0]
}

// From the array itself the planner would see how many there are, and plan anew for every batch.
const findSettingsStatement = sql<Pick<MerchantRow, 'id' | 'settings'>>`
select m.id, m.settings
from (
  select *
  from unnest((select $1::uuid[])) as u (id)
  limit (select cardinality($1::uuid[]))
) as i
join merchants m on m.id = i.id`

/** The settings of each merchant; undefined for one that is not there. */
export async function findSettings(
  db: Tx,
  merchantIds: readonly string[],
): Promise<(MerchantRow['settings'] | undefined)[]> {
  const rows = await db.query(findSettingsStatement, [merchantIds])
  const byMerchant = new Map(rows.map(({ id, settings }) => [id, settings]))
  return merchantIds.map((id) => byMerchant.get(id))
}

// The ids are UUIDv7, so their order is the order of creation.
const listMerchantsStatement = sql<MerchantRow>`
select ${MERCHANT_COLUMNS}
from merchants
order by id desc
limit $1
offset $2`

export function listMerchantRows(db: Tx, limit: number, offset: number): Promise<MerchantRow[]> {
  return db.query(listMerchantsStatement, [limit, offset])
}

interface CountRow {
  total: number
}

const countMerchantsStatement = sql<CountRow>`
select count(*)::integer as total
from (select from merchants limit ${String(COUNT_CAP + 1)}) counted`

export async function countMerchants(db: Tx): Promise<number> {
  return requireRow(await db.query(countMerchantsStatement)).total
}

// The settings are merged here, so that of two changes at once neither undoes the other.
const updateMerchantStatement = sql<MerchantRow>`
update merchants
set
  name = coalesce($2, name),
  base_currency = coalesce($3, base_currency),
  settings = case
    when $4::jsonb is null then settings
    else settings || $4::jsonb || jsonb_build_object(
      'branding',
      case jsonb_typeof(settings -> 'branding') when 'object' then settings -> 'branding' else '{}' end || $5::jsonb
    )
  end,
  status = coalesce($6, status),
  updated_at = $7
where id = $1
returning ${MERCHANT_COLUMNS}`

/** Changes what is named and leaves the rest. */
export async function updateMerchantRow(
  db: Tx,
  merchantId: string,
  changes: Partial<Pick<MerchantRow, 'name' | 'base_currency' | 'status'>> & { settings?: SettingsPatch },
  updatedAt: Date,
): Promise<MerchantRow | undefined> {
  const { name, base_currency, settings, status } = changes
  const texts = settings && [JSON.stringify(settings.fields), JSON.stringify(settings.branding)]
  const [fields, branding] = texts ?? []
  const values = [merchantId, name, base_currency, fields, branding, status, updatedAt]
  return (await db.query(updateMerchantStatement, values))[0]
}

export interface KeyRow {
  key_id: string
  merchant_id: string
  name: string
  mode: 'test' | 'live'
  scopes: string[]
  allowed_ips: string[]
  rate_per_second: number | null
  rate_burst: number | null
  created_at: Date
  expires_at: Date | null
  last_used_at: Date | null
  revoked_at: Date | null
  replaced_by: string | null
}

export const KEY_COLUMNS = `key_id, merchant_id, name, mode, scopes, allowed_ips, rate_per_second, rate_burst, created_at,
  expires_at, last_used_at, revoked_at, replaced_by`

const insertKeyStatement = sql<KeyRow>`
insert into api_keys (merchant_id, key_id, secret_hash, mode, name, scopes, allowed_ips, rate_per_second, rate_burst,
  created_at, expires_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
returning ${KEY_COLUMNS}`

export type NewKeyRow = Omit<KeyRow, 'merchant_id' | 'last_used_at' | 'revoked_at' | 'replaced_by'> & {
  secret_hash: Buffer
}

export async function insertKey(db: Tx, merchantId: string, key: NewKeyRow): Promise<KeyRow> {
  const rows = await db.query(insertKeyStatement, [
    merchantId,
    key.key_id,
    key.secret_hash,
    key.mode,
    key.name,
    key.scopes,
    key.allowed_ips,
    key.rate_per_second,
    key.rate_burst,
    key.created_at,
    key.expires_at,
  ])
  return requireRow(rows)
}

export interface KeyOwnerRow extends KeyRow {
  secret_hash: Buffer
  merchant_name: string
  merchant_status: 'active' | 'suspended'
  base_currency: string
}

// In selects of their own, because from the array itself the planner would see how many there are, and plan anew for every
// batch.
const findKeysStatement = sql<KeyOwnerRow>`
select ${KEY_COLUMNS.replaceAll(/\w+/g, 'k.$&')},
  k.secret_hash, m.name as merchant_name, m.status as merchant_status, m.base_currency
from (
  select *
  from unnest((select $1::text[])) as u (key_id)
  limit (select cardinality($1::text[]))
) as i
join api_keys k on k.key_id = i.key_id
join merchants m on m.id = k.merchant_id`

/** The one read of a request. It names no merchant because the key is what tells who is asking. */
export async function findKeyOwners(db: Tx, keyIds: readonly string[]): Promise<(KeyOwnerRow | undefined)[]> {
  const rows = await db.query(findKeysStatement, [keyIds])
  const owners = new Map(rows.map((row) => [row.key_id, row]))
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

const countKeysStatement = sql<CountRow>`
select count(*)::integer as total
from (select from api_keys where merchant_id = $1 limit ${String(COUNT_CAP + 1)}) counted`

export async function countKeys(db: Tx, merchantId: string): Promise<number> {
  return requireRow(await db.query(countKeysStatement, [merchantId])).total
}

// One statement, so that a key is never without its successor. A second rotation waits for the row and then finds that
// it has one already. A key with an end gets a successor with the same length of life, within the bound of who asks.
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
  where api_keys.key_id = current.key_id
)
insert into api_keys (merchant_id, key_id, secret_hash, mode, name, scopes, allowed_ips, rate_per_second, rate_burst,
  created_at, expires_at)
select merchant_id, $3, $4, mode, name, scopes, allowed_ips, rate_per_second, rate_burst, $5::timestamptz,
  least($5::timestamptz + (expires_at - created_at), $7)
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
  },
): Promise<KeyRow | undefined> {
  const { createdAt, predecessorEndsAt, endsBy } = successor
  const values = [
    merchantId,
    keyId,
    successor.keyId,
    successor.secretHash,
    createdAt,
    predecessorEndsAt,
    endsBy,
  ]
  return (await db.query(replaceKeyStatement, values))[0]
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

/** Writes the time of use, unless another process has done so after the given moment. */
export async function touchKey(
  db: Tx,
  merchantId: string,
  keyId: string,
  use: { usedAt: Date; unlessAfter: Date },
): Promise<void> {
  await db.query(touchKeyStatement, [merchantId, keyId, use.usedAt, use.unlessAfter])
}

interface SecretRow {
  name: string
  value: string
}

const insertSecretsStatement = sql<unknown>`
insert into service_secrets (name, value)
select name, value
from unnest($1::text[], $2::text[]) as fresh (name, value)
on conflict (name) do nothing`

const selectSecretsStatement = sql<SecretRow>`
select name, value
from service_secrets
where name = any($1::text[])`

/** Keeps what is there and adds what is missing; then every process reads the same values, whoever was first. */
export async function ensureSecrets(db: Tx, fresh: Record<string, string>): Promise<Map<string, string>> {
  const names = Object.keys(fresh)
  await db.query(insertSecretsStatement, [names, Object.values(fresh)])
  const rows = await db.query(selectSecretsStatement, [names])
  return new Map(rows.map(({ name, value }) => [name, value]))
}

const selectSecretsLikeStatement = sql<SecretRow>`
select name, value
from service_secrets
where starts_with(name, $1)`

/** Those whose names begin so. */
export async function listSecrets(db: Tx, prefix: string): Promise<string[]> {
  return (await db.query(selectSecretsLikeStatement, [prefix])).map(({ value }) => value)
}

export async function findSecret(db: Tx, name: string): Promise<string | undefined> {
  return (await db.query(selectSecretsStatement, [[name]]))[0]?.value
}

const putSecretStatement = sql<unknown>`
insert into service_secrets (name, value)
values ($1, $2)
on conflict (name) do update set value = excluded.value`

export async function putSecret(db: Tx, name: string, value: string): Promise<void> {
  await db.query(putSecretStatement, [name, value])
}

// Any constant will do, as long as every process uses the same.
const lockDemoStatement = sql<unknown>`select pg_advisory_xact_lock(7061647)`

/** Until the end of the transaction, no other process looks after the demo merchant. */
export async function lockDemoMerchant(tx: Tx): Promise<void> {
  await tx.query(lockDemoStatement)
}

function requireRow<Row>(rows: Row[]): Row {
  const [row] = rows
  if (!row) throw new Error('the statement returned no row')
  return row
}
