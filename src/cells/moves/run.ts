// One run of a move: what its steps share. A run that was replaced by another one fails with its next write.

import type { Cells } from '../../kit/cells/cells.ts'
import { addMs, type Clock } from '../../kit/clock.ts'
import { type ConnectedDb, type Db, DbUnavailable, type Tx } from '../../kit/db/db.ts'
import type { Failpoints } from '../../kit/failpoints.ts'
import type { Log } from '../../kit/observability/log.ts'
import {
  COPYING,
  deleteMovingState,
  lockMovingState,
  type MovingState,
  saveMovingState,
} from './guard-queries.ts'
import { type MoveRow, renewLease } from './move-queries.ts'
import type { MovedTable } from './tables.ts'

export interface MovesApp {
  unscopedInstanceDb: Db
  cells: Cells
  clock: Clock
  log: Log
  failpoints: Failpoints
  /** Copies the row of the merchant from the instance. */
  copyMerchant(merchantId: string, cell: number): Promise<void>
}

export interface Run {
  app: MovesApp
  move: MoveRow
  /** With connections of the run, as the cells: those of requests may all be held by writes that wait for the switch. */
  instance: Db
  source: ConnectedDb
  /** Opened when it is used: a move is cancelled also while its new cell is down. */
  readonly target: ConnectedDb
  tables: MovedTable[]
  /** Aborts when the process stops, or when another run has begun. */
  signal: AbortSignal
}

/** The run ends without having failed: another one goes on. */
export class RunEnded extends Error {}

/** The copies differ, or the engine cannot do it: a person must look at it. */
export class MoveRefused extends Error {}

export function requireRun(isRunning: boolean): void {
  if (!isRunning) throw new RunEnded('another run of the move has begun')
}

const LEASE_MS = 5_000

export const leaseEnd = (now: Date) => addMs(now, LEASE_MS)

/**
 * What an earlier run still writes in the cell fails from here on. The number of a later run is gone from the cell when its
 * move has ended, so the instance is asked afterwards, and a state that this run has added there is deleted again.
 */
export async function takeOver({ app, move, instance }: Run, db: Db, state: MovingState): Promise<void> {
  const saved = await saveMovingState(db, move, state)
  requireRun(saved !== 'refused')
  const isRunning = await renewLease(instance, move, leaseEnd(app.clock.now()))
  if (!isRunning && saved === 'new') await deleteMovingState(db, move)
  requireRun(isRunning)
}

/** A transaction that copies or deletes, in a cell where the merchant has this state. */
export function inGuardedCell<Result>(
  { move }: Run,
  db: ConnectedDb,
  state: MovingState,
  work: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  return db.transaction(
    async (tx) => {
      await tx.script(COPYING)
      requireRun(await lockMovingState(tx, move, state))
      return work(tx)
    },
    { noTimeout: true },
  )
}

/** A consistent read that writes times as the copy does. */
export function readCopying<Result>(db: ConnectedDb, work: (tx: Tx) => Promise<Result>): Promise<Result> {
  return db.transaction(
    async (tx) => {
      await tx.script(COPYING)
      return work(tx)
    },
    { noTimeout: true },
  )
}

const GUARD_RETRIES = 100
const GUARD_RETRY_MS = 100

/** A table whose writers do not end soon is tried again, because they must not wait either. */
export async function untilUnlocked(
  { app, signal }: Pick<Run, 'app' | 'signal'>,
  work: () => Promise<void>,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      const isLocked = error instanceof DbUnavailable && error.isRolledBack
      if (!isLocked || tries === GUARD_RETRIES) throw error
      if (signal.aborted) throw new RunEnded('the run was stopped')
      await app.clock.sleep(GUARD_RETRY_MS, signal)
    }
  }
}
