// Where merchants are, if there are several cells. The instance has the row of every merchant, and a cell needs a copy of those
// that it holds: the rows of payments refer to it. A new merchant is copied first and then created, so that a merchant that
// exists always has its copy. A change marks the copy as due in its own statement; it is made at once, and repeated by a job
// if the process dies or the cell does not answer.

import { errorFromIssues } from '../core/errors.ts'
import { areSeveral, type Cells, ONE_CELL } from '../kit/cells/cells.ts'
import {
  countMerchantsByCell,
  type DueCopy,
  findDueCopy,
  findMerchantCells,
  finishCopy,
  listCellRows,
  listDueCopies,
} from '../kit/cells/queries.ts'
import type { Clock } from '../kit/clock.ts'
import type { Db } from '../kit/db/db.ts'
import type { Job } from '../kit/jobs.ts'
import { errorFields, type Log } from '../kit/observability/log.ts'
import type { MerchantRow } from './merchant.ts'
import { findMerchant, saveMerchantCopy } from './queries.ts'

export interface Placement {
  /** The cell for a new merchant: the one with this name, or the active one with the fewest merchants of those that answer. */
  choose(name?: string): Promise<number>
  copy(row: MerchantRow, cell: number): Promise<void>
  /** The names of the cells of these merchants, in their order. */
  cellNamesOf(merchantIds: readonly string[]): Promise<string[]>
  /** Copies the row of a merchant that is to be moved there. */
  copyMerchant(merchantId: string, cell: number): Promise<void>
  /** Copies the changed row of the merchant. An error is logged: a job repeats it. */
  copyChange(merchantId: string): Promise<void>
  jobs: Job[]
}

interface Needs {
  unscopedInstanceDb: Db
  cells: Cells
  clock: Clock
  log: Log
  /** Whether the cell takes statements now. */
  probeCell(cell: number): Promise<boolean>
}

const RETRY_BATCH = 100

/** Null where there is one cell. */
export function createPlacement(app: Needs): Placement | null {
  const { unscopedInstanceDb: db, cells, clock, log } = app
  if (!areSeveral(cells)) return null
  const copy: Placement['copy'] = async (row, cell) => {
    if (cell !== 0) await saveMerchantCopy(cells.open(cell), row)
  }
  const copyDue = async (due: DueCopy): Promise<boolean> => {
    const { merchantId, cell } = due
    try {
      const row = await findMerchant(db, merchantId)
      if (row) await copy(row, cell)
      await finishCopy(db, due)
      return true
    } catch (error) {
      log.write('cell.copy_failed', { merchantId, cell: cells.nameOf(cell), ...errorFields(error) })
      return false
    }
  }
  const copyAllDue = async (): Promise<number> => {
    const due = await listDueCopies(db, clock.now(), RETRY_BATCH)
    const done = await Promise.all(due.map(copyDue))
    return done.every(Boolean) ? due.length : 0
  }
  return {
    choose: (name) => chooseCell(app, name),
    copy,
    cellNamesOf: async (merchantIds) => (await findMerchantCells(db, merchantIds)).map(cells.nameOf),
    copyMerchant: async (merchantId, cell) => {
      const row = await findMerchant(db, merchantId)
      if (row) await copy(row, cell)
    },
    copyChange: async (merchantId) => {
      const due = await findDueCopy(db, merchantId)
      if (due) await copyDue(due)
    },
    jobs: [{ name: 'copy-merchants', intervalMs: 2_000, run: copyAllDue }],
  }
}

/** The cell for a new merchant. Where there is one cell, no other one can be named. */
export async function placeMerchant(
  placement: Pick<Placement, 'choose'> | null | undefined,
  name?: string,
): Promise<number> {
  if (placement) return placement.choose(name)
  return requireNamed(ONE_CELL, ONE_CELL.numbers, name ?? ONE_CELL.nameOf(0))
}

// A cell that is not active may be unknown to other processes, which would write the merchant's payments into cell 0.
async function chooseCell(app: Needs, name?: string): Promise<number> {
  const { unscopedInstanceDb, cells } = app
  const states = new Map((await listCellRows(unscopedInstanceDb)).map((row) => [row.number, row.state]))
  const active = cells.numbers.filter((cell) => (states.get(cell) ?? 'active') === 'active')
  if (name !== undefined) return requireNamed(cells, active, name)
  const counts = await countMerchantsByCell(unscopedInstanceDb)
  const byCount = active.toSorted((one, other) => (counts.get(one) ?? 0) - (counts.get(other) ?? 0))
  for (const cell of byCount) if (await app.probeCell(cell)) return cell
  return 0
}

function requireNamed({ nameOf }: Pick<Cells, 'nameOf'>, active: readonly number[], name: string): number {
  const found = active.find((cell) => nameOf(cell) === name)
  if (found !== undefined) return found
  const message = `cell must be an active one: ${active.map(nameOf).join(', ')}.`
  throw errorFromIssues([{ field: 'cell', code: 'not_allowed', message }])
}
