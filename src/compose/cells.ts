// The cells of the service: connected, checked and migrated like the database of the instance. A cell that cannot be opened is
// tried again until it can, and stops no other one.

import { identifyInstance } from '../cells/register.ts'
import { type Cells, ONE_CELL } from '../kit/cells/cells.ts'
import {
  admitMerchant,
  endRun,
  findPlace,
  listSuccessors,
  reopenMerchant,
} from '../kit/cells/moving-queries.ts'
import { announceProcess } from '../kit/cells/processes.ts'
import { findMerchantCells, listCellRows } from '../kit/cells/queries.ts'
import { createVault } from '../kit/crypto.ts'
import { createTenantCache } from '../kit/tenant-cache.ts'
import { loadSecrets } from '../secrets/secrets.ts'
import type { DatabaseOptions } from './database.ts'
import { findDueTimes } from './due-queries.ts'
import { type CellParts, createOpenCells } from './open-cells.ts'

/** The cells of the register, and the database of the instance as cell 0. */
export async function openCells(parts: CellParts, options: DatabaseOptions): Promise<Cells> {
  const { config, db, random, clock, stops } = parts
  const instanceId = await identifyInstance(db, random)
  const rows = await listCellRows(db)
  if (rows.length === 0) {
    stops.push(await announceProcess(parts, []))
    return { ...ONE_CELL, open: () => db }
  }
  const vault = createVault((await loadSecrets(db, config, random)).encryptionKeys, random)
  const opened = createOpenCells(parts, options, { instanceId, vault })
  const used = rows.filter(({ state }) => state !== 'removed')
  await Promise.all(used.map(opened.add))
  const names = new Map([[0, ONE_CELL.nameOf(0)], ...rows.map(({ number, name }) => [number, name] as const)])
  const stopped = new AbortController()
  stops.push(async () => stopped.abort())
  const merchants = createTenantCache({
    clock,
    loadMany: (merchantIds) => findMerchantCells(db, merchantIds),
    refreshUntil: stopped.signal,
  })
  let successors: Awaited<ReturnType<typeof listSuccessors>> = new Map()
  const { numbers, open } = opened
  const apply = async (merchantIds: readonly string[]): Promise<void> => {
    successors = await listSuccessors(db)
    for (const merchantId of merchantIds) merchants.invalidate(merchantId)
    await opened.follow(await listCellRows(db))
  }
  const known = used.map(({ number }) => number)
  stops.push(await announceProcess(parts, known, apply))
  return {
    numbers,
    isRouted: true,
    nameOf: (cell) => names.get(cell) ?? String(cell),
    of: merchants.get,
    isOpen: opened.isOpen,
    open,
    follow: async (merchantId, refusedBy, refusals) => {
      merchants.invalidate(merchantId)
      return follow({ db, clock, open }, merchantId, { refusedBy, refusals })
    },
    successorsOf: (cell) => successors.get(cell) ?? [],
  }
}

// The switch itself takes less: after so many refusals its run has died.
const WAIT_MS = 25
const REFUSALS_OF_SWITCH = 30

/** Finds the merchant. If a run has died while it switched, its switch is completed here, or taken back. */
async function follow(
  { db, clock, open }: Pick<Cells, 'open'> & Pick<CellParts, 'db' | 'clock'>,
  merchantId: string,
  { refusedBy, refusals }: { refusedBy: number; refusals: number },
): Promise<number> {
  const { cell, fence, isBeingCopied } = await findPlace(db, merchantId)
  if (cell !== refusedBy) return cell
  await clock.sleep(WAIT_MS)
  if (refusals < REFUSALS_OF_SWITCH || fence === null) return cell
  if (await admitMerchant(open(cell), merchantId, fence)) return cell
  if (isBeingCopied && (await endRun(db, merchantId, fence)))
    await reopenMerchant(open(cell), merchantId, fence)
  return cell
}

/** Whether the cell takes statements now. Its tables are read, because a server that answers may still refuse them. */
export async function probeCell(cells: Cells, cell: number, now: Date): Promise<boolean> {
  try {
    await findDueTimes(cells.open(cell), now)
    return true
  } catch {
    return false
  }
}
