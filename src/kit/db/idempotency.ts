// A retry is never an error: an Idempotency-Key points at the record that its first request made or changed, and whoever
// sends it again gets that record as it stands now. The key is claimed in the transaction that makes or changes the record,
// so that there is never one without the other, also when many identical requests come at once.
//
// Payments claim theirs inside their own record statement, for speed.

import { createHash } from 'node:crypto'
import { canonicalJson } from '../../core/canonical.ts'
import { ApiError } from '../../core/errors.ts'
import type { Clock } from '../clock.ts'
import type { Random } from '../random.ts'
import { type Db, sql, type Tx } from './db.ts'
import { awaitStandby } from './standby.ts'

export interface KeyClaim {
  merchantId: string
  /** Absent: the request came without a key, and is done every time. */
  key: string | undefined
  /** Method and path, such as POST /api/v1/refunds. */
  operation: string
  /** What tells this request from another one under the same key: params and body together. */
  input: unknown
}

export interface IdempotentResult<Made> {
  record: Made
  replayed: boolean
}

interface Needs {
  db: Db
  clock: Clock
  random: Random
}

interface IdempotentWork<Made> {
  /**
   * Makes the record under this id. What it writes and the claim of the key stand or fall together; it writes nowhere
   * else, because it runs again when the database gives the transaction up for the sake of another.
   */
  make: (tx: Tx, id: string) => Promise<Made>
  /** The record that an earlier request made, as it stands now. */
  find: (id: string) => Promise<Made | undefined>
}

/** The header by which a caller tells an answer that was given before from a new one. */
export const REPLAYED_HEADER = { 'Idempotent-Replayed': 'true' }

/** Makes a record, or finds the one that an earlier request with the same key made. */
export async function createIdempotently<Made>(
  app: Needs,
  claim: KeyClaim,
  work: IdempotentWork<Made>,
): Promise<IdempotentResult<Made>> {
  const id = app.random.uuid()
  const made = await app.db.transaction(async (tx) => {
    const earlier = await claimKey(tx, claim, id, app.clock.now())
    return earlier === undefined
      ? { isNew: true as const, record: await work.make(tx, id) }
      : { isNew: false as const, earlier }
  })
  if (made.isNew) return { record: made.record, replayed: false }
  const record = await work.find(made.earlier)
  // What it made is gone by now, such as an endpoint that was deleted since: nothing can be answered in its place.
  if (record === undefined)
    throw new ApiError('invalid_state', { message: 'What this Idempotency-Key made is gone.' })
  return { record, replayed: true }
}

/**
 * Claims the key of a request that changes a record, in the transaction of the change. True when the same request has
 * made its change before: then nothing is changed again, and the record is answered as it stands now.
 */
export async function isReplay(
  app: Pick<Needs, 'clock' | 'random'>,
  tx: Tx,
  claim: KeyClaim,
): Promise<boolean> {
  return (await claimKey(tx, claim, app.random.uuid(), app.clock.now())) !== undefined
}

interface KeyRow {
  operation: string
  fingerprint: Buffer
  resource: string
}

// Somebody who claims the same key at this moment is waited for.
const insertKey = sql<{ key: string }>`
insert into idempotency_keys (merchant_id, key, operation, fingerprint, resource, claimed_by, created_at)
values ($1, $2, $3, $4, $5::uuid::text, $5::uuid, $6)
on conflict (merchant_id, key) do nothing
returning key`

const selectKey = sql<KeyRow>`
select operation, fingerprint, resource
from idempotency_keys
where merchant_id = $1 and key = $2`

/** What a key was used for, if it was. */
export async function findKey(tx: Tx, merchantId: string, key: string): Promise<KeyRow | undefined> {
  const [row] = await tx.query(selectKey, [merchantId, key])
  return row
}

/** Undefined when the key is ours from now on; otherwise the id under which it was claimed before. */
export async function claimKey(tx: Tx, claim: KeyClaim, id: string, at: Date): Promise<string | undefined> {
  const { merchantId, key, operation } = claim
  if (key === undefined) return undefined
  const fingerprint = createHash('sha256').update(operation).update(canonicalJson(claim.input)).digest()
  const claimed = await tx.query(insertKey, [merchantId, key, operation, fingerprint, id, at])
  if (claimed.length > 0) return undefined
  const existing = await findKey(tx, merchantId, key)
  if (!existing) throw new ApiError('temporarily_unavailable')
  if (existing.operation !== operation || !existing.fingerprint.equals(fingerprint)) {
    throw new ApiError('idempotency_key_reused')
  }
  await awaitStandby(tx)
  return existing.resource
}

const deleteKey = sql<unknown>`
delete from idempotency_keys
where merchant_id = $1 and key = $2 and claimed_by = $3`

/** Releases a key whose request has written nothing, so that the caller may use it again. */
export async function releaseIdempotencyKey(
  db: Tx,
  merchantId: string,
  key: string,
  claimedBy: string,
): Promise<void> {
  await db.query(deleteKey, [merchantId, key, claimedBy])
}

const deleteOldKeys = sql<{ key: string }>`
with old as materialized (
  select merchant_id, key
  from idempotency_keys
  where created_at < $1
  limit 1000
)
delete from idempotency_keys k
using old
where k.merchant_id = old.merchant_id and k.key = old.key
returning k.key`

/** Deletes at most a thousand keys, and returns how many it deleted. */
export async function purgeIdempotencyKeys(db: Db, before: Date): Promise<number> {
  return (await db.query(deleteOldKeys, [before])).length
}
