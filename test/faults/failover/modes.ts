// The modes of losing a primary. Only disconnecting the standby first distinguishes synchronous from asynchronous
// replication: otherwise the standby has received everything a moment before.

import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import type { Pair } from './pair.ts'

export interface Mode {
  name: string
  fault: string
  isSynchronous: boolean
  /** Removes the primary; returns the number of commits with an unknown outcome, in the mode that causes them. */
  lose(pair: Pair): Promise<number | undefined>
}

// Long enough that a service which acknowledged without the standby would have acknowledged hundreds.
const CUT_MS = 3_000

async function cutThenKill(pair: Pair): Promise<undefined> {
  pair.cutReplication()
  await delay(CUT_MS)
  await pair.primary.kill()
}

export const MODES: readonly Mode[] = [
  {
    name: 'primary killed',
    fault: 'F-16',
    isSynchronous: true,
    lose: async ({ primary }) => void (await primary.kill()),
  },
  {
    name: 'primary isolated',
    fault: 'F-17',
    isSynchronous: true,
    async lose(pair) {
      pair.isolatePrimary()
      await assertNoAcknowledgement(pair)
      return undefined
    },
  },
  { name: 'standby cut, then primary killed', fault: 'F-18', isSynchronous: true, lose: cutThenKill },
  {
    name: 'standby cut, waits cancelled, primary killed',
    fault: 'F-19',
    isSynchronous: true,
    async lose(pair) {
      pair.cutReplication()
      const cancelled = await cancelWaits(pair)
      assert.ok(cancelled > 0, 'no commit waited for the standby')
      await pair.primary.kill()
      return cancelled
    },
  },
]

/** Without a synchronous standby acknowledged records are lost: if this mode loses none, the others prove nothing. */
export const CONTROL: Mode = {
  name: 'control without synchronous standby',
  fault: 'F-18',
  isSynchronous: false,
  lose: cutThenKill,
}

const WRITE_TIMEOUT_MS = 1_500

/** The old primary still runs, and must not acknowledge a write. */
async function assertNoAcknowledgement({ primary }: Pair): Promise<void> {
  const write = primary.query('create table acknowledged_by_the_old_primary ()', WRITE_TIMEOUT_MS)
  await assert.rejects(write, /timeout/, 'the old primary acknowledged a write alone')
}

const CANCEL_EVERY_MS = 250
const CANCEL_WAITS = `
select count(pg_cancel_backend(pid))::integer as count
from pg_stat_activity
where wait_event = 'SyncRep'`

/** An operator or a pooler that cancels hanging statements has this effect. */
async function cancelWaits({ primary }: Pair): Promise<number> {
  let cancelled = 0
  for (let waitedMs = 0; waitedMs < CUT_MS; waitedMs += CANCEL_EVERY_MS) {
    await delay(CANCEL_EVERY_MS)
    const [row] = await primary.query<{ count: number }>(CANCEL_WAITS)
    cancelled += row?.count ?? 0
  }
  return cancelled
}
