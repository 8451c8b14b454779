// What is copied and compared while the merchant's writes wait: the last changes, and the rows with due work.

import type { Tx } from '../../kit/db/db.ts'
import { groupChanges } from './copy.ts'
import {
  deleteKeyed,
  digestKeyed,
  digestLate,
  insertLookups,
  insertRows,
  type KeyedRows,
  readKeyed,
  readLate,
  readLookups,
} from './copy-queries.ts'
import { listChanges } from './guard-queries.ts'
import { requireShort, SwitchTooLong } from './pause.ts'
import { MoveRefused, type Run } from './run.ts'

const MOST_CHANGES = 10_000

export interface Both {
  source: Tx
  target: Tx
}

const lateTables = ({ tables }: Run) => tables.filter((table) => table.late !== undefined)

/**
 * The same reads as during the pause: these connections then know the tables, and the rows are in memory. If the reads alone
 * take too long, no write has to wait for that.
 */
export async function warmUp(run: Run, { source, target }: Both): Promise<void> {
  const { merchantId } = run.move
  const { clock } = run.app
  await digestLate(target, lateTables(run), merchantId)
  const beganAt = clock.now().getTime()
  await readLate(source, lateTables(run), merchantId)
  await digestLate(source, lateTables(run), merchantId)
  requireShort(clock.now().getTime() - beganAt)
}

/** Reads under the lock, so nothing changes any more. */
export async function copyLast(run: Run, both: Both): Promise<void> {
  const { source, target } = both
  const { merchantId } = run.move
  const changes = await listChanges(source, merchantId, MOST_CHANGES)
  if (changes.length === MOST_CHANGES) throw new SwitchTooLong('too many rows have changed since the copy')
  await copyChanged(groupChanges(run.tables, changes), both)
  const late = lateTables(run)
  await insertRows(target, await readLate(source, late, merchantId))
  await requireEqual(both, (db) => digestLate(db, late, merchantId))
  await insertLookups(target, await readLookups(source, merchantId))
}

async function copyChanged(changed: readonly KeyedRows[], { source, target }: Both): Promise<void> {
  if (changed.length === 0) return
  await deleteKeyed(target, changed)
  await insertRows(target, await readKeyed(source, changed))
  await requireEqual({ source, target }, (db) => digestKeyed(db, changed))
}

/** Each digest begins with the name of its table. */
async function requireEqual({ source, target }: Both, digest: (db: Tx) => Promise<string[]>): Promise<void> {
  const [one, other] = await Promise.all([digest(source), digest(target)])
  const differing = one.filter((digest, index) => digest !== other[index])
  if (differing.length === 0) return
  throw new MoveRefused(`the copies differ after the last changes: ${differing.join(', ')}`)
}
