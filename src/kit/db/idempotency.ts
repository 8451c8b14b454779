// Idempotency keys: an Idempotency-Key points at the record that its first request created or changed, and a retry
// returns that record in its current state. The key is claimed in the transaction that creates or changes the record,
// so that neither exists without the other, also under concurrent identical requests.
//
// Payments claim their keys inside their own record statement, for speed.

import { createHash } from 'node:crypto'
import { canonicalJson } from '../../core/canonical.ts'
import { ApiError } from '../../core/errors.ts'
import { worksHere } from '../cells/moving-queries.ts'
import type { Clock } from '../clock.ts'
import type { Random } from '../random.ts'
import { type Db, sql, type Tx } from './db.ts'
import { firstRow } from './rows.ts'
import { awaitStandby } from './standby.ts'

export interface KeyClaim {
  merchantId: string
  /** Absent: the request has no key, and is executed every time. */
  key: string | undefined
  /** Method and path, such as POST /api/v1/refunds. */
  operation: string
  /** Distinguishes this request from another one under the same key: params and body together. */
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
   * Creates the record under this id. Its writes and the claim of the key commit together. It must write nowhere else,
   * because it is re-run after a deadlock or serialization failure.
   */
  make: (tx: Tx, id: string) => Promise<Made>
  /**
   * Claims a name that the caller gave the record, such as its own reference. Returns the id of an earlier record with this
   * name. It may write only in this transaction, like `make`.
   */
  claimName?: (tx: Tx, id: string) => Promise<string | undefined>
  /** The record that an earlier request created, in its current state. */
  find: (id: string) => Promise<Made | undefined>
}

/** Creates a record, or finds the one that an earlier request with the same key or name created. */
export async function createIdempotently<Made>(
  app: Needs,
  claim: KeyClaim,
  work: IdempotentWork<Made>,
): Promise<IdempotentResult<Made>> {
  const id = app.random.uuid()
  const made = await app.db.transaction(async (tx) => {
    const earlier = await claimKeyAndName(tx, claim, id, app.clock.now(), work)
    return earlier === undefined
      ? { isNew: true as const, record: await work.make(tx, id) }
      : { isNew: false as const, earlier }
  })
  if (made.isNew) return { record: made.record, replayed: false }
  const record = await work.find(made.earlier)
  // The record is gone by now, such as a deleted endpoint: there is nothing to replay.
  if (record === undefined)
    throw new ApiError('invalid_state', {
      message: 'The record created with this Idempotency-Key no longer exists.',
    })
  return { record, replayed: true }
}

async function claimKeyAndName(
  tx: Tx,
  claim: KeyClaim,
  id: string,
  at: Date,
  { claimName }: Pick<IdempotentWork<unknown>, 'claimName'>,
): Promise<string | undefined> {
  const earlier = (await claimKey(tx, claim, id, at)) ?? (await claimName?.(tx, id))
  if (earlier === undefined || earlier === id || claim.key === undefined) return earlier
  // A new key with a known name: the key points at the record that has the name.
  await releaseIdempotencyKey(tx, claim.merchantId, claim.key, id)
  await claimKey(tx, claim, earlier, at)
  return earlier
}

/**
 * Claims the key of a request that changes a record, in the transaction of the change. Returns true if the same request
 * has made its change before: then nothing is changed, and the response shows the current record.
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

// Waits for a concurrent transaction that claims the same key.
const insertKey = sql<{ key: string }>`
insert into idempotency_keys (merchant_id, key, operation, fingerprint, resource, claimed_by, created_at)
values ($1, $2, $3, $4, $5::uuid::text, $5::uuid, $6)
on conflict (merchant_id, key) do nothing
returning key`

const selectKey = sql<KeyRow>`
select operation, fingerprint, resource
from idempotency_keys
where merchant_id = $1 and key = $2`

/** The use of a key, if it was used. */
export async function findKey(tx: Tx, merchantId: string, key: string): Promise<KeyRow | undefined> {
  return firstRow(tx, selectKey, [merchantId, key])
}

/** Identical requests have the same fingerprint, whatever the order of their keys. */
export function fingerprintRequest(operation: string, input: unknown): Buffer {
  return createHash('sha256').update(operation).update(canonicalJson(input)).digest()
}

/** Undefined if the claim succeeded; otherwise the id under which the key was claimed before. */
export async function claimKey(tx: Tx, claim: KeyClaim, id: string, at: Date): Promise<string | undefined> {
  const { merchantId, key, operation } = claim
  if (key === undefined) return undefined
  const fingerprint = fingerprintRequest(operation, claim.input)
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

// The copy of a merchant that is moved keeps its keys: the move compares them.
const deleteOldKeys = sql<{ key: string }>`
with old as materialized (
  select merchant_id, key
  from idempotency_keys k
  where created_at < $1 and ${worksHere('k')}
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
