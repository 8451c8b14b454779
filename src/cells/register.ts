// The register of cells: which databases have the data of merchants. A cell is added, every process is started again, and then
// it is activated. That is refused while a running process does not know the cell.

import { errorFromIssues } from '../core/errors.ts'
import type { Cells } from '../kit/cells/cells.ts'
import { type CellRow, countMerchantsByCell, listCellRows } from '../kit/cells/queries.ts'
import type { Clock } from '../kit/clock.ts'
import type { Vault, VaultContext } from '../kit/crypto.ts'
import { type ConnectedDb, connectDb, type Db, type Tx } from '../kit/db/db.ts'
import { migrate } from '../kit/db/migrate.ts'
import { requireUsableServer } from '../kit/db/server-check.ts'
import { applyRowLevelSecurity } from '../kit/db/tenant-isolation.ts'
import type { Random } from '../kit/random.ts'
import { findObstacle, prepareSchema, urlOfSchema } from './citus.ts'
import { type HeldMove, listCleaning, listHeld } from './moves/move-queries.ts'
import { describeConnection, describeRights, NEEDS_ROLE } from './obstacles.ts'
import {
  identifyOwnCell,
  insertCell,
  isSameSchema,
  lockClaims,
  nextCellNumber,
  readContents,
  readInstanceId,
  readOwnCell,
  renumberOwnCell,
  saveInstanceId,
  saveOwnCell,
} from './queries.ts'

export interface CellsApp {
  unscopedInstanceDb: Db
  cells: Cells
  vault: Vault
  clock: Clock
  random: Random
  /** Whether the cell takes statements now. */
  probeCell(cell: number): Promise<boolean>
}

export interface CellState {
  number: number
  name: string
  state: CellRow['state']
  merchants: number
  /** Those whose move to another cell is refused. */
  refused: string[]
  /** Those whose move has failed, and is tried again. */
  delayed: string[]
  /** Those that wait until the old copy of their last move is deleted. */
  waiting: string[]
  /** Whether this process was started since the cell was added. */
  isKnown: boolean
  /** False also if this process was started before the cell was added. */
  isUp: boolean
}

const NIL_UUID = '00000000-0000-0000-0000-000000000000'

export const urlContextOf = (name: string): VaultContext => ({
  table: 'cells',
  column: 'sealed',
  rowId: name,
  merchantId: NIL_UUID,
})

/** The URL of a cell's database. */
export function openUrl(vault: Vault, { name, sealed }: Pick<CellRow, 'name' | 'sealed'>): string {
  if (sealed === '')
    throw new Error(
      `DATABASE_URL is the database of the cell ${name} of another instance: name the database of the instance.`,
    )
  return vault.open(sealed, urlContextOf(name))
}

interface NewCell {
  name: string
  url: string
  /** The URL is of the coordinator of a Citus cluster, where the cell is a distributed schema. */
  isCitus?: boolean
  state?: CellRow['state']
}

type RegisterApp = Pick<CellsApp, 'unscopedInstanceDb' | 'vault' | 'clock' | 'random'>

const OF_ANOTHER = 'is the database of another instance.'

/** Prepares the database and registers it. Repeating it after a crash is safe. */
export async function addCell(app: RegisterApp, cell: NewCell): Promise<CellRow> {
  const { name, state = 'added', isCitus = false } = cell
  await requireFreeName(app.unscopedInstanceDb, name)
  if (!namesServer(cell.url)) throw refuse('url', 'must be postgres://user:password@host:port/database.')
  if (isCitus) await requireRights(() => prepareCitus(cell))
  const url = isCitus ? urlOfSchema(cell.url, name) : cell.url
  const db = connectDb({ url, poolSize: 1 })
  try {
    return await requireRights(async () => {
      if (!isCitus) await prepare(app, db)
      return register(app, db, { name, url, state })
    })
  } finally {
    await db.close()
  }
}

/** Returns the cells of the register. */
async function requireFreeName(instanceDb: Tx, name: string): Promise<readonly CellRow[]> {
  const known = await listCellRows(instanceDb)
  const other = known.find((row) => row.name === name)
  if (other?.state === 'removed')
    throw refuse(
      'name',
      'is the name of a cell that was removed, and is not given again: choose another one.',
    )
  if (other || name === 'main') throw refuse('name', 'is the name of another cell.')
  return known
}

/** Without a host or a scheme the driver would dial this machine. */
export function namesServer(text: string): boolean {
  const url = URL.parse(text)
  if (!url || !['postgres:', 'postgresql:'].includes(url.protocol)) return false
  return Boolean(url.hostname || url.searchParams.get('host'))
}

async function prepare(app: RegisterApp, db: ConnectedDb): Promise<void> {
  const { unscopedInstanceDb, random } = app
  await requireServer(db)
  if (await isSameSchema(unscopedInstanceDb, db, random.uuid()))
    throw refuse('url', 'is the database of the instance.')
  const contents = await readContents(db)
  if (contents === 'other tables') throw refuse('url', 'is a database with tables: give an empty one.')
  if (contents === 'merchants') throw refuse('url', OF_ANOTHER)
  await migrate(db)
  await requireIsolation(app, db)
}

/** The coordinator may also have the database of the instance: the schemas differ. */
async function prepareCitus({ name, url }: NewCell): Promise<void> {
  const db = connectDb({ url, poolSize: 1 })
  try {
    await requireServer(db)
    const obstacle = await findObstacle(db, url)
    if (obstacle !== undefined) throw refuse('url', obstacle)
  } finally {
    await db.close()
  }
  await prepareSchema(url, name)
}

export async function requireServer(db: ConnectedDb, ifMissing = 'create it'): Promise<void> {
  await requireUsableServer(db, false).catch((error: unknown) => {
    throw refuse('url', `leads to no usable server: ${describeConnection(error, ifMissing)}`)
  })
}

/** Rejects with what to grant if the user lacks rights. */
export async function requireRights<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const missing = describeRights(error)
    if (missing === undefined) throw error
    throw refuse('url', missing)
  }
}

/** Where the instance isolates merchants by row-level security, a cell does, too. */
export async function requireIsolation(
  { unscopedInstanceDb }: Pick<CellsApp, 'unscopedInstanceDb'>,
  db: Db,
): Promise<void> {
  const hasGaps = async (one: Db) => (await applyRowLevelSecurity(one)).length > 0
  if ((await hasGaps(db)) && !(await hasGaps(unscopedInstanceDb))) throw refuse('url', NEEDS_ROLE)
}

async function register(
  { unscopedInstanceDb, vault, clock, random }: RegisterApp,
  db: ConnectedDb,
  { name, url, state }: Required<Omit<NewCell, 'isCitus'>>,
): Promise<CellRow> {
  // Before the transaction: a repetition after a crash must find the same id.
  const instanceId = await identifyInstance(unscopedInstanceDb, random)
  return unscopedInstanceDb.transaction(async (tx) => {
    const number = await nextCellNumber(tx)
    // Asked again, one caller at a time: another one may have added a cell of this name while the database was prepared.
    const known = await requireFreeName(tx, name)
    const cell = { number, name, state, sealed: vault.seal(url, urlContextOf(name)), createdAt: clock.now() }
    // First, because a claim stays in the database of the cell if this transaction fails.
    await insertCell(tx, cell)
    await claim(db, cell, { instanceId, known })
    return cell
  })
}

/** In one transaction: of two instances that add the same database at the same moment, the second one is refused. */
function claim(
  db: ConnectedDb,
  cell: CellRow,
  { instanceId, known }: { instanceId: string; known: readonly CellRow[] },
): Promise<void> {
  return db.transaction(async (tx) => {
    await lockClaims(tx)
    const own = await readOwnCell(tx)
    if (own?.instanceId && own.instanceId !== instanceId)
      throw refuse('url', `is the database of the cell ${own.name} of another instance.`)
    if (own && own.name !== cell.name) throw refuse('url', describeOwn(known, own.name))
    if (await readInstanceId(tx)) throw refuse('url', OF_ANOTHER)
    if (!own) return saveOwnCell(tx, cell, instanceId)
    // No cell has this name, so a process has died between the claim and the register, and nothing was written here.
    await renumberOwnCell(tx, cell.number)
  })
}

function describeOwn(known: readonly CellRow[], name: string): string {
  const isRemoved = known.some((row) => row.name === name && row.state === 'removed')
  if (!isRemoved) return `is the database of the cell ${name}.`
  return `is the database of the cell ${name}, which was removed: keep it as a backup, and give an empty one.`
}

/** The id of the instance, by which its cells know it. */
export const identifyInstance = (instanceDb: Db, random: Random) => saveInstanceId(instanceDb, random.uuid())

/** The database must know which cell it is: with the URL of another one, payments would be read and written there. */
export async function requireOwnCell(db: Db, { number, name }: CellRow, instanceId: string): Promise<void> {
  const own = await readOwnCell(db)
  if (own?.instanceId && own.instanceId !== instanceId)
    throw new Error(`the database of the cell ${name} is of another instance`)
  if (own?.number === number && own.name === name)
    return own.instanceId ? undefined : identifyOwnCell(db, instanceId)
  throw new Error(`the database of the cell ${name} says that it is ${own ? `the cell ${own.name}` : 'none'}`)
}

export async function listCells(app: CellsApp): Promise<CellState[]> {
  const { cells, unscopedInstanceDb } = app
  const rows = await listCellRows(unscopedInstanceDb)
  const counts = await countMerchantsByCell(unscopedInstanceDb)
  const held = await listHeld(unscopedInstanceDb)
  const cleaning = await listCleaning(unscopedInstanceDb)
  const main = { number: 0, name: cells.nameOf(0), state: 'active' as const }
  return Promise.all(
    [main, ...rows].map(async ({ number, name, state }) => ({
      ...{ number, name, state, merchants: counts.get(number) ?? 0 },
      ...{ ...heldOf(held.get(number)), waiting: cleaning.get(number) ?? [] },
      isKnown: cells.numbers.includes(number),
      isUp: state !== 'removed' && cells.numbers.includes(number) && (await app.probeCell(number)),
    })),
  )
}

function heldOf(moves: readonly HeldMove[] = []): Pick<CellState, 'refused' | 'delayed'> {
  const idsOf = (wanted: boolean) =>
    moves.filter(({ isRefused }) => isRefused === wanted).map(({ merchantId }) => merchantId)
  return { refused: idsOf(true), delayed: idsOf(false) }
}

export const REMOVED = 'names a cell that was removed.'

/** A cell that can be changed: not the database of the instance, and not one that was removed. */
export async function requireCell(app: CellsApp, name: string): Promise<CellState> {
  const found = (await listCells(app)).find((cell) => cell.name === name)
  if (!found) throw refuse('name', `names no cell: cowry cells list shows those that there are.`)
  if (found.number === 0)
    throw refuse('name', 'names the database of the instance, which has the register: it always stays.')
  if (found.state === 'removed') throw refuse('name', REMOVED)
  return found
}

export function refuse(field: string, message: string) {
  return errorFromIssues([{ field, code: 'not_allowed', message: `${field} ${message}` }])
}
