// The cells of the service: connected, checked and migrated like the database of the instance. A cell that cannot be opened is
// tried again until it can, and stops no other one.

import { identifyInstance, openUrl, requireOwnCell } from '../cells/register.ts'
import type { Config } from '../config.ts'
import { type Cells, ONE_CELL } from '../kit/cells/cells.ts'
import {
  admitMerchant,
  endRun,
  findPlace,
  listSuccessors,
  reopenMerchant,
} from '../kit/cells/moving-queries.ts'
import { announceProcess } from '../kit/cells/processes.ts'
import { type CellRow, findMerchantCells, listCellRows } from '../kit/cells/queries.ts'
import type { Clock } from '../kit/clock.ts'
import { createVault, type Vault } from '../kit/crypto.ts'
import { type ConnectedDb, connectDb, DbUnavailable } from '../kit/db/db.ts'
import { migrate } from '../kit/db/migrate.ts'
import { requireUsableServer } from '../kit/db/server-check.ts'
import { errorFields, type Log } from '../kit/observability/log.ts'
import type { Random } from '../kit/random.ts'
import { createTenantCache } from '../kit/tenant-cache.ts'
import { loadSecrets } from '../secrets/secrets.ts'
import { areTenantsIsolated, type DatabaseOptions } from './database.ts'
import { findDueTimes } from './due-queries.ts'
import type { Stops } from './parts.ts'

export interface CellParts {
  config: Config
  clock: Clock
  log: Log
  random: Random
  db: ConnectedDb
  stops: Stops
}

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
  const opened = await Promise.all(rows.map((row) => openCell(parts, options, { row, instanceId, vault })))
  const handles = new Map<number, () => ConnectedDb | undefined>([[0, () => db], ...opened])
  const names = new Map([[0, ONE_CELL.nameOf(0)], ...rows.map(({ number, name }) => [number, name] as const)])
  const stopped = new AbortController()
  stops.push(async () => stopped.abort())
  const merchants = createTenantCache({
    clock,
    loadMany: (merchantIds) => findMerchantCells(db, merchantIds),
    refreshUntil: stopped.signal,
  })
  let successors: Awaited<ReturnType<typeof listSuccessors>> = new Map()
  const open = (cell: number): ConnectedDb => {
    const handle = handles.get(cell)
    if (!handle) throw new DbUnavailable(new Error(`this process was started before cell ${cell} was added`))
    const opened = handle()
    if (!opened) throw new DbUnavailable(new Error(`the cell ${names.get(cell)} is not open`))
    return opened
  }
  const apply = async (merchantIds: readonly string[]): Promise<void> => {
    successors = await listSuccessors(db)
    for (const merchantId of merchantIds) merchants.invalidate(merchantId)
  }
  const known = rows.map(({ number }) => number)
  stops.push(await announceProcess(parts, known, apply))
  return {
    numbers: [...handles.keys()].toSorted((one, other) => one - other),
    nameOf: (cell) => names.get(cell) ?? String(cell),
    of: merchants.get,
    isOpen: (cell) => handles.get(cell)?.() !== undefined,
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

const RETRY_MS = 2_000

/** Tries once before the start goes on, and then in the background. */
async function openCell(
  { config, clock, log, stops }: CellParts,
  options: DatabaseOptions,
  { row, instanceId, vault }: { row: CellRow; instanceId: string; vault: Vault },
): Promise<[number, () => ConnectedDb | undefined]> {
  const { number, name } = row
  const { poolSize, preparedStatements } = config
  const onError = (error: Error) => log.write('database.connection_lost', errorFields(error))
  const { acquireTimeoutMs } = options
  const db = connectDb({ url: openUrl(vault, row), poolSize, preparedStatements, onError, acquireTimeoutMs })
  const stopping = new AbortController()
  let handle: ConnectedDb | undefined
  const tryOpen = async (): Promise<boolean> => {
    try {
      handle = await prepare(db, row, { instanceId, config, log })
      return true
    } catch (error) {
      log.write('cell.unavailable', { cell: name, ...errorFields(error) })
      return false
    }
  }
  const retry = async (): Promise<void> => {
    while (!handle && !stopping.signal.aborted) {
      await clock.sleep(RETRY_MS, stopping.signal)
      if (!stopping.signal.aborted && (await tryOpen())) log.write('cell.opened', { cell: name })
    }
  }
  const retrying = (await tryOpen()) ? undefined : retry()
  stops.push(async () => {
    stopping.abort()
    await retrying
    await db.close()
  })
  return [number, () => handle]
}

async function prepare(
  db: ConnectedDb,
  row: CellRow,
  { instanceId, config, log }: Pick<CellParts, 'config' | 'log'> & { instanceId: string },
): Promise<ConnectedDb> {
  await requireUsableServer(db, config.environment === 'production')
  const { applied } = await migrate(db)
  await requireOwnCell(db, row, instanceId)
  if (applied.length > 0) log.write('database.migrated', { count: applied.length })
  return (await areTenantsIsolated(db, log)) ? db : withoutTenants(db)
}

/** As `requestScoped` does for a database without row-level security. */
function withoutTenants(db: ConnectedDb): ConnectedDb {
  return { ...db, forMerchant: (_merchantId, audit) => (audit === undefined ? db : db.audited(audit)) }
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
