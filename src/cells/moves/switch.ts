// The switch: the writes of the merchant wait, the last changes and the rows with due work are copied and compared, and the
// merchant is in the new cell. It is ended and repeated later if it would take too long.

import { admitMerchant, reopenMerchant } from '../../kit/cells/moving-queries.ts'
import { waitForEpoch } from '../../kit/cells/processes.ts'
import { DbUnavailable, type Tx } from '../../kit/db/db.ts'
import { catchUp, deleteLateRows } from './copy.ts'
import { deleteLate, deleteLookups, parkLate } from './copy-queries.ts'
import { COPYING, closeMerchant, lockWrites, SWITCHING } from './guard-queries.ts'
import { copyLast, warmUp } from './last-copy.ts'
import { savePause, saveSwitchAttempt, switchPlacement } from './move-queries.ts'
import { ACKNOWLEDGED_WITHIN_MS, createPause, type Pause, SwitchTooLong, withinPause } from './pause.ts'
import { inGuardedCell, type Run, RunEnded, requireRun, takeOver } from './run.ts'
import { KEPT_LATE, type MovedTable, PARKED } from './tables.ts'

const MOST_TRIES = 10
const TRY_AGAIN_MS = 500
const LONGEST_BACKOFF_MS = 15_000

const backoffMs = (tries: number) => Math.min(TRY_AGAIN_MS * 2 ** (tries - 1), LONGEST_BACKOFF_MS)

/** Copies what has changed and switches, again if writes would have waited too long. */
export async function switchSoon(run: Run): Promise<void> {
  const { app, move, instance, signal } = run
  for (let tries = 1; ; tries += 1) {
    await catchUp(run, tries)
    try {
      return await trySwitch(run)
    } catch (error) {
      if (!isNotSwitched(error)) throw error
      await deleteLateRows(run)
      requireRun(await saveSwitchAttempt(instance, move, error.message))
      if (tries === MOST_TRIES) throw error
      await app.clock.sleep(backoffMs(tries), signal)
    }
  }
}

/** Whether the server or this process has ended the switch for its duration, so that nothing of it was done. */
function isNotSwitched(error: unknown): error is Error {
  return error instanceof SwitchTooLong || (error instanceof DbUnavailable && error.isRolledBack)
}

/** One try of the switch. */
interface Try {
  pause: Pause
  /** The rows are copied; goes on for a moment if the pause has ended. */
  copied?: Promise<void>
  /** The old cell refuses the merchant. */
  closed?: Promise<void>
}

async function trySwitch(run: Run): Promise<void> {
  const { app, move, source, instance } = run
  const pause = createPause(app.clock)
  const one: Try = { pause }
  let isSwitched = false
  const switchIn = async (gate: Tx): Promise<void> => {
    if (isSwitched) return
    requireFirst(pause)
    move.epoch = await decide(run, gate, one)
    isSwitched = true
    await app.failpoints.hit('move.after_switch')
    await leaveCell(run)
  }
  try {
    await source.transaction(switchIn, { noTimeout: true })
  } catch (error) {
    // What follows the switch is completed by the next step.
    if (!isSwitched || !(error instanceof DbUnavailable)) throw error
  } finally {
    pause.end()
    await one.copied?.catch(() => undefined)
  }
  await savePause(instance, move, pause.elapsedMs())
}

/** A transaction is run again after a deadlock, but the pause has been used up. */
function requireFirst(pause: Pause): void {
  if (pause.hasBegun()) throw new SwitchTooLong('the switch was rolled back, and is tried again')
}

/** Returns the new state of placement. The writes go on in the old cell if it fails. */
async function decide(run: Run, gate: Tx, one: Try): Promise<bigint> {
  const { app, instance, move } = run
  const { pause } = one
  let isUnknown = false
  try {
    await gate.script(COPYING)
    one.copied = inGuardedCell(run, run.target, 'incoming', (tx) => copyClosed(run, gate, tx, one))
    await pause.limit(one.copied)
    await app.failpoints.hit('move.after_last_copy')
    isUnknown = true
    const within = (tx: Tx) => withinPause(tx, pause)
    const epoch = await switchPlacement(instance, move, app.clock.now(), within)
    isUnknown = false
    if (epoch === undefined) throw new RunEnded('another run of the move has begun')
    return epoch
  } catch (error) {
    pause.end()
    // The merchant then stays closed until a process that meets it has asked the instance.
    if (isUnknown && !isNotSwitched(error)) throw error
    await reopen(run, one)
    throw error
  }
}

async function reopen({ source, move }: Run, { closed }: Try): Promise<void> {
  await closed?.catch(() => undefined)
  await reopenMerchant(source, move.merchantId, move.fence)
}

/** Lets the writes wait and makes the copies equal. */
async function copyClosed(run: Run, gate: Tx, tx: Tx, one: Try): Promise<void> {
  const { app, move } = run
  const { pause } = one
  requireFirst(pause)
  await warmUp(run, { source: gate, target: tx })
  for (const side of [gate, tx]) await side.script(SWITCHING)
  const both = { source: withinPause(gate, pause), target: withinPause(tx, pause) }
  pause.begin()
  await lockWrites(both.source, move.merchantId)
  one.closed = close(run, pause)
  await one.closed
  await app.failpoints.hit('move.after_close')
  await copyLast(run, both)
}

/** By itself, so that the merchant stays closed if this process dies. */
function close({ source, move }: Run, pause: Pause): Promise<void> {
  return source.transaction(async (tx) => requireRun(await closeMerchant(withinPause(tx, pause), move)))
}

/** What comes after the switch. It is repeated if the process dies. */
async function leaveCell(run: Run): Promise<void> {
  const { app, instance, move, source, target } = run
  const { clock } = app
  await waitForEpoch({ db: instance, clock }, move.epoch ?? 0n, ACKNOWLEDGED_WITHIN_MS)
  await admitMerchant(target, move.merchantId, move.fence)
  await takeOver(run, source, 'gone')
}

/** Completes a switch whose process has died, and takes the due work of the old copy away from its jobs. */
export async function completeSwitch(run: Run): Promise<void> {
  const { move, source, tables } = run
  await leaveCell(run)
  await inGuardedCell(run, source, 'gone', async (tx) => {
    await deleteLookups(tx, move.merchantId)
    for (const table of tables) await disarm(tx, table, move.merchantId)
  })
}

async function disarm(tx: Tx, table: MovedTable, merchantId: string): Promise<void> {
  if (table.late === undefined || KEPT_LATE.includes(table.name)) return
  const parked = PARKED[table.name]
  if (parked === undefined) await deleteLate(tx, table, merchantId)
  else await parkLate(tx, table, merchantId, parked)
}
