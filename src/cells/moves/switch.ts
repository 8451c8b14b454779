// The switch: the writes of the merchant wait, the last changes and the rows with due work are copied and compared, and the
// merchant is in the new cell. It is ended and repeated later if it would take too long.

import { admitMerchant, reopenMerchant } from '../../kit/cells/moving-queries.ts'
import { waitForEpoch } from '../../kit/cells/processes.ts'
import type { Clock } from '../../kit/clock.ts'
import { DbUnavailable, type Tx } from '../../kit/db/db.ts'
import { catchUp, groupChanges } from './copy.ts'
import {
  deleteKeyed,
  deleteLate,
  deleteLookups,
  digestKeyed,
  digestLate,
  insertLookups,
  insertRows,
  type KeyedRows,
  parkLate,
  readKeyed,
  readLate,
  readLookups,
} from './copy-queries.ts'
import { listChanges, lockWrites, SWITCHING, saveMovingState } from './guard-queries.ts'
import { savePause, switchPlacement } from './move-queries.ts'
import { inGuardedCell, MoveRefused, type Run, requireRun } from './run.ts'
import { KEPT_LATE, type MovedTable, PARKED } from './tables.ts'

/** Writes wait for a second at most; what follows the copy takes the rest. */
const COPY_WITHIN_MS = 600
const ACKNOWLEDGED_WITHIN_MS = 300
const MOST_CHANGES = 100_000

/** Nothing was switched, and the writes go on. */
class SwitchTooLong extends Error {}

const MOST_TRIES = 10
const TRY_AGAIN_MS = 500

/** Copies what has changed and switches, again if writes would have waited too long. */
export async function switchSoon(run: Run): Promise<void> {
  const { app, signal } = run
  for (let tries = 1; ; tries += 1) {
    await catchUp(run)
    try {
      return await switchCells(run)
    } catch (error) {
      const isLate = error instanceof SwitchTooLong || (error instanceof DbUnavailable && error.isRolledBack)
      if (!isLate || tries === MOST_TRIES) throw error
      await app.clock.sleep(TRY_AGAIN_MS, signal)
    }
  }
}

async function switchCells(run: Run): Promise<void> {
  const { app, move, source } = run
  const pause = createPause(app.clock)
  let isSwitched = false
  // It is run again after a deadlock: then the switch may have been made.
  await source.transaction(
    async (gate) => {
      if (isSwitched) return
      await gate.script(SWITCHING)
      await copyClosed(run, gate, pause)
      // If its outcome stays unknown, the merchant stays closed until a process that meets it has asked the instance.
      const epoch = await switchPlacement(app.unscopedInstanceDb, move, app.clock.now())
      requireRun(epoch !== undefined)
      isSwitched = true
      move.epoch = epoch ?? null
      await app.failpoints.hit('move.after_switch')
      await leaveCell(run)
    },
    { noTimeout: true },
  )
  await savePause(app.unscopedInstanceDb, move, pause.elapsedMs())
}

interface Pause {
  begin(): void
  elapsedMs(): number
  /** Throws if the writes would wait too long. */
  check(): void
}

function createPause(clock: Clock): Pause {
  let beganAt: number | undefined
  const elapsedMs = () => (beganAt === undefined ? 0 : clock.now().getTime() - beganAt)
  return {
    begin: () => {
      beganAt = clock.now().getTime()
    },
    elapsedMs,
    check: () => {
      if (elapsedMs() > COPY_WITHIN_MS)
        throw new SwitchTooLong(`the last rows took ${elapsedMs()} ms; the limit is ${COPY_WITHIN_MS}`)
    },
  }
}

/** Lets the writes wait and makes the copies equal. The writes go on if that fails. */
async function copyClosed(run: Run, gate: Tx, pause: Pause): Promise<void> {
  const { app, move, source, target } = run
  const copy = async (tx: Tx): Promise<void> => {
    const both = { source: gate, target: tx }
    await warmUp(run, both)
    pause.begin()
    await lockWrites(gate, move.merchantId)
    requireRun(await saveMovingState(source, move, 'closing'))
    await app.failpoints.hit('move.after_close')
    await copyLast(run, both, pause)
  }
  try {
    await inGuardedCell(run, target, 'incoming', copy, SWITCHING)
    await app.failpoints.hit('move.after_last_copy')
  } catch (error) {
    await reopenMerchant(source, move.merchantId, move.fence)
    throw error
  }
}

/** What comes after the switch. It is repeated if the process dies. */
async function leaveCell({ app, move, source, target }: Run): Promise<void> {
  const { unscopedInstanceDb: db, clock } = app
  await waitForEpoch({ db, clock }, move.epoch ?? 0n, ACKNOWLEDGED_WITHIN_MS)
  await admitMerchant(target, move.merchantId)
  await saveMovingState(source, move, 'gone')
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

interface Both {
  source: Tx
  target: Tx
}

const lateTables = ({ tables }: Run) => tables.filter((table) => table.late !== undefined)

/** The same reads as during the pause: these connections then know the tables, and the rows are in memory. */
async function warmUp(run: Run, { source, target }: Both): Promise<void> {
  const { merchantId } = run.move
  await readLate(source, lateTables(run), merchantId)
  for (const db of [source, target]) await digestLate(db, lateTables(run), merchantId)
}

/** Reads under the lock, so nothing changes any more. */
async function copyLast(run: Run, both: Both, pause: Pause): Promise<void> {
  const { source, target } = both
  const { merchantId } = run.move
  const changes = await listChanges(source, merchantId, MOST_CHANGES)
  if (changes.length === MOST_CHANGES) throw new SwitchTooLong('too many changes since the copy')
  await copyChanged(groupChanges(run.tables, changes), both, pause)
  const late = lateTables(run)
  const rows = await readLate(source, late, merchantId)
  pause.check()
  await insertRows(target, rows)
  pause.check()
  await requireEqual(both, (db) => digestLate(db, late, merchantId))
  await insertLookups(target, await readLookups(source, merchantId))
  pause.check()
}

async function copyChanged(
  changed: readonly KeyedRows[],
  { source, target }: Both,
  pause: Pause,
): Promise<void> {
  if (changed.length === 0) return
  await deleteKeyed(target, changed)
  await insertRows(target, await readKeyed(source, changed))
  pause.check()
  await requireEqual({ source, target }, (db) => digestKeyed(db, changed))
  pause.check()
}

/** Each digest begins with the name of its table. */
async function requireEqual({ source, target }: Both, digest: (db: Tx) => Promise<string[]>): Promise<void> {
  const [one, other] = await Promise.all([digest(source), digest(target)])
  const differing = one.filter((digest, index) => digest !== other[index])
  if (differing.length === 0) return
  throw new MoveRefused(`the copies differ after the last changes: ${differing.join(', ')}`)
}
