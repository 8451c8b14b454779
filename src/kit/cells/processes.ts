// Each process announces itself in the database of the instance, with the cells that it knows. A cell is activated only when
// all of them know it: another one would write the payments of its merchants into cell 0.

import { hostname } from 'node:os'
import type { Clock } from '../clock.ts'
import type { Db } from '../db/db.ts'
import { errorFields, type Log } from '../observability/log.ts'
import type { Random } from '../random.ts'
import { listMovedSince, readPlacementState } from './moving-queries.ts'
import {
  deleteLostProcesses,
  deleteProcess,
  listLiveProcesses,
  type ProcessRow,
  type SeenProcess,
  saveProcess,
} from './process-queries.ts'

interface Needs {
  db: Db
  clock: Clock
  random: Random
  log: Log
}

const SEEN_EVERY_MS = 5_000
/** A process that was not seen for so long has ended. */
const LOST_AFTER_S = 15
const WAIT_EVERY_MS = 200
/** How often a process looks for changes of placement, and how often while a merchant is moved. */
const POLL_MS = 1_000
const MOVING_POLL_MS = 50
const ACK_POLL_MS = 10

/** Called at the start, and then with the merchants whose cell has changed. */
type ApplyMoves = (merchantIds: readonly string[]) => Promise<void>

/** Announces this process until the returned function is called. With `apply`, it also follows changes of placement. */
export async function announceProcess(
  { db, clock, random, log }: Needs,
  cells: readonly number[],
  apply?: ApplyMoves,
): Promise<() => Promise<void>> {
  const name = `${hostname()}:${process.pid}`
  let state = await readPlacementState(db)
  // After the state, so that what this process acts on is not older.
  await apply?.([])
  const own: ProcessRow = { id: random.uuid(), name, cells: [...cells], epoch: state.epoch }
  const stopping = new AbortController()
  let savedAt = 0
  const save = async (): Promise<void> => {
    await saveProcess(db, own)
    savedAt = clock.now().getTime()
  }
  await deleteLostProcesses(db, LOST_AFTER_S)
  await save()
  const follow = async (): Promise<void> => {
    state = await readPlacementState(db)
    if (!apply || state.epoch === own.epoch) return
    await apply(await listMovedSince(db, own.epoch))
    own.epoch = state.epoch
    await save()
  }
  const tick = async (): Promise<void> => {
    try {
      if (apply) await follow()
    } finally {
      // Also if a change cannot be acted on: others wait for this process instead of taking it for lost.
      if (clock.now().getTime() - savedAt >= SEEN_EVERY_MS) await save()
    }
  }
  const intervalMs = () => (apply ? (state.isMoving ? MOVING_POLL_MS : POLL_MS) : SEEN_EVERY_MS)
  const repeat = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(intervalMs(), stopping.signal)
      if (stopping.signal.aborted) return
      await tick().catch((error: unknown) => log.write('process.announcement_failed', errorFields(error)))
    }
  }
  const repeating = repeat()
  return async () => {
    stopping.abort()
    await repeating
    await deleteProcess(db, own.id)
  }
}

/** Waits until every running process acts on this state of placement, but no longer than that. */
export async function waitForEpoch(
  { db, clock }: Pick<Needs, 'db' | 'clock'>,
  epoch: bigint,
  atMostMs: number,
): Promise<boolean> {
  const until = clock.now().getTime() + atMostMs
  for (;;) {
    const live = await listLiveProcesses(db, LOST_AFTER_S)
    if (live.every((one) => one.epoch >= epoch)) return true
    if (clock.now().getTime() >= until) return false
    await clock.sleep(ACK_POLL_MS)
  }
}

/**
 * The names of the running processes that do not know the cell. One that may have died is waited for until it is seen again,
 * or known to be lost.
 */
export async function listUnaware(
  { db, clock }: Pick<Needs, 'db' | 'clock'>,
  cell: number,
): Promise<string[]> {
  const listUnfit = async () =>
    (await listLiveProcesses(db, LOST_AFTER_S)).filter(({ cells }) => !cells.includes(cell))
  const first = await listUnfit()
  const isSeenAgain = ({ id, seenAt }: SeenProcess) =>
    first.some((one) => one.id === id && one.seenAt < seenAt)
  for (let unfit = first; ; unfit = await listUnfit()) {
    if (unfit.every(isSeenAgain)) return unfit.map(({ name }) => name)
    await clock.sleep(WAIT_EVERY_MS)
  }
}
