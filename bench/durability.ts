// Proves that speed does not cost durability: the service is killed under full load, and every acknowledged charge must
// be in the database.

import { setTimeout as delay } from 'node:timers/promises'
import { type Db, sql } from '../src/kit/db/db.ts'
import type { Rig } from './rig.ts'

export interface KillReport {
  acknowledged: number
  found: number
  fsync: string
  synchronousCommit: string
}

const LOAD_MS = 60_000

/** Leaves the rig without a service. */
export async function killUnderLoad(rig: Rig, connections: number, killAfterMs: number): Promise<KillReport> {
  const { url, child } = rig.service
  const driven = rig.drive({
    url,
    operation: 'charges',
    connections,
    forMs: LOAD_MS,
    collectsAcknowledged: true,
  })
  await delay(killAfterMs)
  child.kill('SIGKILL')
  const { acknowledged } = await driven
  return {
    acknowledged: acknowledged.length,
    found: await countSuccesses(rig.db, acknowledged),
    fsync: await readSetting(rig.db, 'fsync'),
    synchronousCommit: await readSetting(rig.db, 'synchronous_commit'),
  }
}

const countReferences = sql<{ found: number }>`
select count(*)::integer as found
from payment_references r
join payments p on p.merchant_id = r.merchant_id and p.id = r.payment_id
where r.reference = any ($1::text[]) and p.status = 'successful'`

async function countSuccesses(db: Db, references: readonly string[]): Promise<number> {
  const [row] = await db.query(countReferences, [references])
  return row?.found ?? 0
}

const selectSetting = sql<{ value: string }>`select current_setting($1) as value`

async function readSetting(db: Db, name: string): Promise<string> {
  const [row] = await db.query(selectSetting, [name])
  return row?.value ?? 'unknown'
}
