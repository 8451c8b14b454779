// A second plain cell on the tests' own server, and a handle for what tests read and change directly in the databases of a
// service with several cells.

import { addCell } from '../../src/cells/register.ts'
import { runCommandLine } from '../../src/cli/program.ts'
import type { Config } from '../../src/config.ts'
import { areSeveral, type Cells } from '../../src/kit/cells/cells.ts'
import { listCellRows } from '../../src/kit/cells/queries.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { createVault } from '../../src/kit/crypto.ts'
import { type Db, type Statement, sql, type Tx } from '../../src/kit/db/db.ts'
import { homeOf } from '../../src/kit/db/homes.ts'
import { migrate } from '../../src/kit/db/migrate.ts'
import { systemRandom } from '../../src/kit/random.ts'
import { loadSecrets } from '../../src/secrets/secrets.ts'
import { CLUSTER_URL, takeSchema } from './cluster.ts'
import { type Cleanup, testDatabaseUrl } from './database.ts'
import { connectTestDb } from './test-db.ts'

/** How many cells each service of the tests has: with a cluster, two there beside the database of the instance. */
export const TEST_CELLS = CLUSTER_URL ? 3 : Number(process.env.COWRY_TEST_CELLS ?? 1)

/** For a test of what only one database has: the statements that it is asked, or one chain of the audit log. */
export const ONE_DATABASE = { skip: TEST_CELLS === 1 ? false : 'it is about one database' }

/** For a test that moves merchants: a cell on Citus refuses it. */
export const plainAddress = (t: Cleanup) => async (url: string) => (CLUSTER_URL ? testDatabaseUrl(t) : url)

/** Runs `cowry cells`, or another command, against the service. */
export const cellsCommand =
  (service: { url: string }, adminToken: string, command = 'cells') =>
  async (...args: string[]) => {
    let out = ''
    const take = (text: string) => {
      out += text
    }
    const env = { COWRY_URL: service.url, COWRY_ADMIN_TOKEN: adminToken }
    const code = await runCommandLine([command, ...args], { terminal: { out: take, err: take }, env })
    return { code, out }
  }

/** Adds cells to an instance that is not started yet, so that it has this many. */
export async function addTestCells(
  t: Cleanup,
  config: Config,
  count: number,
  addressOf: (url: string) => Promise<string> = async (url) => url,
): Promise<void> {
  const db = connectTestDb({ url: config.databaseUrl ?? '', poolSize: 1 })
  try {
    await migrate(db)
    // A test starts the service again over the same databases.
    if ((await listCellRows(db)).length > 0) return
    const random = systemRandom(systemClock)
    const vault = createVault((await loadSecrets(db, config, random)).encryptionKeys, random)
    for (let number = 1; number < count; number += 1) {
      const url = await addressOf(CLUSTER_URL ? await takeSchema(t, CLUSTER_URL) : await testDatabaseUrl(t))
      await addCell(
        { unscopedInstanceDb: db, vault, clock: systemClock, random },
        { name: `cell-${number}`, url, state: 'active' },
      )
    }
  } finally {
    await db.close()
  }
}

/**
 * What is in the instance is read and changed there, and what is of one merchant in its cell: by the id of a merchant among
 * the values. Anything else is done in each cell, one after the other.
 */
export function dbOverCells(db: Db, cells: Cells): Db {
  if (!areSeveral(cells)) return db
  const databasesOf = async (text: string, values: readonly unknown[] = []): Promise<Db[]> => {
    if (isOfInstance(text)) return [db]
    const cell = await findCell(db, cells, `${text} ${JSON.stringify(values, bigintText)}`)
    return cell === undefined ? cells.numbers.map((one) => cells.open(one)) : [cells.open(cell)]
  }
  return {
    ...db,
    async query<Row>(statement: Statement<Row>, values?: readonly unknown[]) {
      const results: Row[][] = []
      for (const one of await databasesOf(statement.text, values))
        results.push(await one.query(statement, values))
      return isSum(statement.text) ? addRows(results) : results.flat()
    },
    async script(text) {
      for (const one of await databasesOf(text)) await one.script(text)
    },
    transaction: (work) =>
      transactionOf(async (text, values) => (await databasesOf(text, values))[0] ?? db, work),
  }
}

/** A transaction in the database of its first statement. */
async function transactionOf<Result>(
  databaseOf: (text: string, values?: readonly unknown[]) => Promise<Db>,
  work: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  const worked = Promise.withResolvers<void>()
  let running: Promise<void> | undefined
  let opened: Promise<Tx> | undefined
  const open = (db: Db) =>
    new Promise<Tx>((resolve, reject) => {
      running = db.transaction(async (tx) => {
        resolve(tx)
        await worked.promise
      })
      running.catch(reject)
    })
  const txFor = (text: string, values?: readonly unknown[]): Promise<Tx> => {
    opened ??= databaseOf(text, values).then(open)
    return opened
  }
  const result = work({
    query: async (statement, values) => (await txFor(statement.text, values)).query(statement, values),
    script: async (text) => (await txFor(text)).script(text),
  })
  result.then(() => worked.resolve(), worked.reject)
  worked.promise.catch(() => undefined)
  const done = await result
  await running
  return done
}

const bigintText = (_name: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)

const selectMerchant = sql<{ id: string }>`select id from merchants where id = any ($1::uuid[]) limit 1`

const selectPayment = sql<{ id: string }>`select id from payments where id = any ($1::uuid[]) limit 1`

/** The cell of the first merchant that the text names, or of a payment. */
async function findCell(db: Db, cells: Cells, text: string): Promise<number | undefined> {
  const ids = text.match(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g) ?? []
  if (ids.length === 0) return undefined
  const [merchant] = await db.query(selectMerchant, [ids])
  if (merchant) return cells.of(merchant.id)
  for (const cell of cells.numbers)
    if ((await cells.open(cell).query(selectPayment, [ids])).length > 0) return cell
  return undefined
}

function isOfInstance(text: string): boolean {
  const home = homeOf(text)
  return home === 'instance' || (home === 'any' && /\bmerchants\b/.test(text))
}

const isSum = (text: string) =>
  /^\s*select\s+(coalesce\()?(count|sum)\(/.test(text) && !/\bgroup by\b/.test(text)

function addRows<Row>(results: Row[][]): Row[] {
  const rows = results.flatMap((result) => result.slice(0, 1)) as Record<string, unknown>[]
  const sum: Record<string, unknown> = {}
  for (const row of rows)
    for (const [name, value] of Object.entries(row)) {
      const before = sum[name]
      if (typeof value === 'number' && typeof before === 'number') sum[name] = before + value
      else if (typeof value === 'bigint' && typeof before === 'bigint') sum[name] = before + value
      else sum[name] ??= value
    }
  // A boundary: the sum has the columns of its rows.
  return [sum as Row]
}
