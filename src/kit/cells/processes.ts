// Each process announces itself in the database of the instance, with the cells that it knows. A cell is activated only when
// all of them know it: another one would write the payments of its merchants into cell 0.

import { hostname } from 'node:os'
import type { Clock } from '../clock.ts'
import type { Db } from '../db/db.ts'
import { errorFields, type Log } from '../observability/log.ts'
import type { Random } from '../random.ts'
import {
  deleteLostProcesses,
  deleteProcess,
  listLiveProcesses,
  type ProcessRow,
  readEpoch,
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

/** Announces this process until the returned function is called. */
export async function announceProcess(
  { db, clock, random, log }: Needs,
  cells: readonly number[],
): Promise<() => Promise<void>> {
  const name = `${hostname()}:${process.pid}`
  const own: ProcessRow = { id: random.uuid(), name, cells: [...cells], epoch: await readEpoch(db) }
  const stopping = new AbortController()
  await deleteLostProcesses(db, LOST_AFTER_S)
  await saveProcess(db, own)
  const repeat = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(SEEN_EVERY_MS, stopping.signal)
      if (stopping.signal.aborted) return
      await saveProcess(db, own).catch((error: unknown) =>
        log.write('process.announcement_failed', errorFields(error)),
      )
    }
  }
  const repeating = repeat()
  return async () => {
    stopping.abort()
    await repeating
    await deleteProcess(db, own.id)
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
