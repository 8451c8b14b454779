// A second plain cell on the tests' own server, and a handle for what tests read and change directly in the databases of a
// service with several cells.

import { addCell } from '../../src/cells/register.ts'
import type { Config } from '../../src/config.ts'
import { areSeveral, type Cells } from '../../src/kit/cells/cells.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { createVault } from '../../src/kit/crypto.ts'
import type { Db, Statement } from '../../src/kit/db/db.ts'
import { homeOf } from '../../src/kit/db/homes.ts'
import { migrate } from '../../src/kit/db/migrate.ts'
import { systemRandom } from '../../src/kit/random.ts'
import { loadSecrets } from '../../src/secrets/secrets.ts'
import { type Cleanup, testDatabaseUrl } from './database.ts'
import { connectTestDb } from './test-db.ts'

/** How many cells each service of the tests has. */
export const TEST_CELLS = Number(process.env.COWRY_TEST_CELLS ?? 1)

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
    const random = systemRandom(systemClock)
    const vault = createVault((await loadSecrets(db, config, random)).encryptionKeys, random)
    for (let number = 1; number < count; number += 1) {
      const url = await addressOf(await testDatabaseUrl(t))
      await addCell(
        { unscopedInstanceDb: db, vault, clock: systemClock },
        { name: `cell-${number}`, url, state: 'active' },
      )
    }
  } finally {
    await db.close()
  }
}

/** What is in the instance is read there; what is in cells is read in each of them, one after the other. */
export function dbOverCells(db: Db, cells: Cells): Db {
  if (!areSeveral(cells)) return db
  const databasesOf = (text: string): Db[] =>
    isOfInstance(text) ? [db] : cells.numbers.map((cell) => cells.open(cell))
  return {
    ...db,
    async query<Row>(statement: Statement<Row>, values?: readonly unknown[]) {
      const results: Row[][] = []
      for (const one of databasesOf(statement.text)) results.push(await one.query(statement, values))
      return isSum(statement.text) ? addRows(results) : results.flat()
    },
    async script(text) {
      for (const one of databasesOf(text)) await one.script(text)
    },
  }
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
