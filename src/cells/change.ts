// What operators change in the register later: a cell is activated or removed, or its database gets another URL. Every process
// that runs acts on it within seconds.

import { listUnaware, waitForEpoch } from '../kit/cells/processes.ts'
import { saveCellState } from '../kit/cells/queries.ts'
import { connectDb, type Db } from '../kit/db/db.ts'
import { urlOfSchema } from './citus.ts'
import { findLackOfRights } from './moves/copyable.ts'
import { raiseEpoch } from './moves/move-queries.ts'
import { NEEDS_OWNER } from './obstacles.ts'
import { markRemoved, ownsTables, readContents, readOwnCell, readUse, saveUrl } from './queries.ts'
import {
  type CellState,
  type CellsApp,
  identifyInstance,
  namesServer,
  REMOVED,
  refuse,
  requireCell,
  requireIsolation,
  requireRights,
  requireServer,
  urlContextOf,
} from './register.ts'

/** New merchants are placed in the cell from now on. */
export async function activateCell(app: CellsApp, name: string): Promise<CellState> {
  const found = await requireCell(app, name)
  const unaware = await listUnaware({ db: app.unscopedInstanceDb, clock: app.clock }, found.number)
  if (unaware.length > 0)
    throw refuse(
      'name',
      `is a cell that these processes do not know yet: ${unaware.join(', ')}. Start them again.`,
    )
  if (!found.isUp)
    throw refuse(
      'name',
      'names a cell that does not take statements: check its database, and its URL with cowry cells set-url.',
    )
  const lack = await findLackOfRights(app.cells.open(found.number))
  if (lack !== undefined) throw refuse('name', `names a cell that could not be drained later: ${lack}.`)
  if (!(await saveCellState(app.unscopedInstanceDb, name, 'active'))) throw refuse('name', REMOVED)
  return { ...found, state: 'active' }
}

/** The cell, and whether every process acts on its change. */
interface Changed {
  cell: CellState
  isEverywhere: boolean
}

// A process that has ended without a word is known to be lost after 15 s.
const EVERYWHERE_WITHIN_MS = 18_000

/** The processes close their connections. Number and name are not given again. */
export async function removeCell(app: CellsApp, name: string): Promise<Changed> {
  const found = await requireCell(app, name)
  const { number } = found
  const epoch = await app.unscopedInstanceDb.transaction(async (tx) => {
    // Read here: another operator may have activated the cell meanwhile.
    const { state, hasMerchants, hasMoves } = await readUse(tx, number)
    if (state === 'active') throw refuse('name', `names an active cell: use cowry cells drain ${name} first.`)
    if (hasMerchants)
      throw refuse('name', `names a cell with merchants: use cowry cells drain ${name} first.`)
    if (hasMoves)
      throw refuse(
        'name',
        'names a cell with moves that have not ended: the old copies are deleted some minutes after the switch. Ask again then.',
      )
    await markRemoved(tx, number)
    return raiseEpoch(tx)
  })
  return {
    cell: { ...found, state: 'removed', isKnown: false, isUp: false },
    isEverywhere: await isEverywhere(app, epoch),
  }
}

interface NewUrl {
  url: string
  isCitus?: boolean
}

/** The database must be the same cell, and its user must have the rights that a cell needs. */
export async function setCellUrl(app: CellsApp, name: string, given: NewUrl): Promise<Changed> {
  const { unscopedInstanceDb, vault } = app
  if (name === app.cells.nameOf(0))
    throw refuse(
      'name',
      'names the database of the instance: set its URL in DATABASE_URL, and start every process again.',
    )
  const found = await requireCell(app, name)
  if (!namesServer(given.url)) throw refuse('url', 'must be postgres://user:password@host:port/database.')
  const url = given.isCitus ? urlOfSchema(given.url, name) : given.url
  await requireSameCell(app, found, url)
  const sealed = vault.seal(url, urlContextOf(name))
  const epoch = await unscopedInstanceDb.transaction(async (tx) => {
    if (!(await saveUrl(tx, found.number, sealed))) throw refuse('name', REMOVED)
    return raiseEpoch(tx)
  })
  const everywhere = await isEverywhere(app, epoch)
  return { cell: { ...found, isUp: await app.probeCell(found.number) }, isEverywhere: everywhere }
}

async function requireSameCell(app: CellsApp, cell: CellState, url: string): Promise<void> {
  const instanceId = await identifyInstance(app.unscopedInstanceDb, app.random)
  const db = connectDb({ url, poolSize: 1 })
  try {
    await requireServer(db, 'check the name, and whether the database of the cell was copied there')
    await requireRights(async () => {
      const other = await findDifference(db, cell, instanceId)
      if (other !== undefined)
        throw refuse(
          'url',
          `leads to ${other}: give the database of the cell ${cell.name}, after it was moved there.`,
        )
      if (!(await ownsTables(db))) throw refuse('url', NEEDS_OWNER)
      await requireIsolation(app, db)
    })
  } finally {
    await db.close()
  }
}

/** What the database is, if it is not the cell. */
async function findDifference(
  db: Db,
  { number, name }: CellState,
  instanceId: string,
): Promise<string | undefined> {
  if ((await readContents(db)) !== 'a cell') return 'a database that is no cell'
  const own = await readOwnCell(db)
  if (own?.instanceId !== instanceId) return 'a cell of another instance'
  return own.number === number && own.name === name ? undefined : `the cell ${own.name}`
}

/** This process acts on it, too, before the answer. */
const isEverywhere = ({ unscopedInstanceDb: db, clock }: CellsApp, epoch: bigint) =>
  waitForEpoch({ db, clock }, epoch, EVERYWHERE_WITHIN_MS)
