// The ways in which a primary is lost. Only the one that cuts the standby off first tells synchronous replication from
// asynchronous: without the cut, the standby has received everything a moment before.

import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import type { Pair } from './pair.ts'

export interface Mode {
  name: string
  fault: string
  isSynchronous: boolean
  /** Takes the primary away; answers how many commits were told that nobody knows, where that is what it is about. */
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

/** Without a standby that has it, an acknowledgement is worth nothing: if this one loses nothing, none of them proves anything. */
export const CONTROL: Mode = {
  name: 'control without synchronous standby',
  fault: 'F-18',
  isSynchronous: false,
  lose: cutThenKill,
}

const WRITE_TIMEOUT_MS = 1_500

/** The old primary lives on, and must not acknowledge anything to anybody. */
async function assertNoAcknowledgement({ primary }: Pair): Promise<void> {
  const write = primary.query('create table acknowledged_by_the_old_primary ()', WRITE_TIMEOUT_MS)
  await assert.rejects(write, /timeout/, 'the old primary acknowledged a write alone')
}

const CANCEL_EVERY_MS = 250
const CANCEL_WAITS = `
select count(pg_cancel_backend(pid))::integer as count
from pg_stat_activity
where wait_event = 'SyncRep'`

/** What an impatient operator or a pooler does to statements that hang. */
async function cancelWaits({ primary }: Pair): Promise<number> {
  let cancelled = 0
  for (let waitedMs = 0; waitedMs < CUT_MS; waitedMs += CANCEL_EVERY_MS) {
    await delay(CANCEL_EVERY_MS)
    const [row] = await primary.query<{ count: number }>(CANCEL_WAITS)
    cancelled += row?.count ?? 0
  }
  return cancelled
}
