// The connections of a process to its cells. A cell whose URL is changed is opened again, and one that is removed is closed.

import { openUrl, requireOwnCell } from '../cells/register.ts'
import type { Config } from '../config.ts'
import type { CellRow } from '../kit/cells/queries.ts'
import type { Clock } from '../kit/clock.ts'
import type { Vault } from '../kit/crypto.ts'
import { type ConnectedDb, connectDb, DbUnavailable } from '../kit/db/db.ts'
import { migrate } from '../kit/db/migrate.ts'
import { requireUsableServer } from '../kit/db/server-check.ts'
import { errorFields, type Log } from '../kit/observability/log.ts'
import type { Random } from '../kit/random.ts'
import { areTenantsIsolated, type DatabaseOptions } from './database.ts'
import type { Stops } from './parts.ts'

export interface CellParts {
  config: Config
  clock: Clock
  log: Log
  random: Random
  db: ConnectedDb
  stops: Stops
}

interface Keys {
  instanceId: string
  vault: Vault
}

interface OpenCell {
  url: string
  handle(): ConnectedDb | undefined
  /** Resolves after the first try. */
  tried: Promise<unknown>
  close(): Promise<void>
}

interface OpenCells {
  /** In ascending order, with cell 0; changed in place. */
  numbers: number[]
  add(row: CellRow): Promise<void>
  isOpen(cell: number): boolean
  open(cell: number): ConnectedDb
  /** Acts on what was changed in the register. A cell that was added since the start stays unknown. */
  follow(rows: readonly CellRow[]): Promise<void>
}

export function createOpenCells(parts: CellParts, options: DatabaseOptions, keys: Keys): OpenCells {
  const { db, stops } = parts
  const numbers = [0]
  const cells = new Map<number, OpenCell>()
  stops.push(async () => {
    await Promise.all([...cells.values()].map((cell) => cell.close()))
  })
  const handleOf = (cell: number) => (cell === 0 ? db : cells.get(cell)?.handle())
  const connect = (row: CellRow): Promise<unknown> => {
    const opened = openCell(parts, options, { ...keys, row })
    cells.set(row.number, opened)
    return opened.tried
  }
  const remove = (cell: number): void => {
    cells.delete(cell)
    numbers.splice(numbers.indexOf(cell), 1)
  }
  const follow = async (row: CellRow): Promise<void> => {
    const known = cells.get(row.number)
    if (!known || (row.state !== 'removed' && openUrl(keys.vault, row) === known.url)) return
    if (row.state === 'removed') remove(row.number)
    else await connect(row)
    // In the background: it waits for the statements that run.
    void known.close()
  }
  return {
    numbers,
    add: async (row) => {
      numbers.push(row.number)
      numbers.sort((one, other) => one - other)
      await connect(row)
    },
    isOpen: (cell) => handleOf(cell) !== undefined,
    open: (cell) => {
      const handle = handleOf(cell)
      if (handle) return handle
      const why = numbers.includes(cell) ? 'is not open' : 'was added after the start, or was removed'
      throw new DbUnavailable(new Error(`the cell with the number ${cell} ${why}`))
    },
    follow: async (rows) => {
      await Promise.all(rows.map(follow))
    },
  }
}

const RETRY_MS = 2_000

/** Tries at once, and then in the background. */
function openCell(
  { config, clock, log }: CellParts,
  { acquireTimeoutMs }: DatabaseOptions,
  { row, instanceId, vault }: Keys & { row: CellRow },
): OpenCell {
  const { poolSize, preparedStatements } = config
  const onError = (error: Error) => log.write('database.connection_lost', errorFields(error))
  const url = openUrl(vault, row)
  const db = connectDb({ url, poolSize, preparedStatements, onError, acquireTimeoutMs })
  const stopping = new AbortController()
  let handle: ConnectedDb | undefined
  const tryOpen = async (): Promise<boolean> => {
    try {
      handle = await prepare(db, row, { instanceId, config, log })
      return true
    } catch (error) {
      log.write('cell.unavailable', { cell: row.name, ...errorFields(error) })
      return false
    }
  }
  const retry = async (): Promise<void> => {
    while (!handle && !stopping.signal.aborted) {
      await clock.sleep(RETRY_MS, stopping.signal)
      if (!stopping.signal.aborted && (await tryOpen())) log.write('cell.opened', { cell: row.name })
    }
  }
  const tried = tryOpen()
  const opening = tried.then((isOpen) => (isOpen ? undefined : retry()))
  const close = async () => {
    stopping.abort()
    await opening
    await db.close()
  }
  return { url, handle: () => handle, tried, close }
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
