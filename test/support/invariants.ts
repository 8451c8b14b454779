// The invariants of a database. Apart from service.ts: a file that starts the service as processes need not load it.

import assert from 'node:assert/strict'
import { areSeveral, type Cells } from '../../src/kit/cells/cells.ts'
import type { Db } from '../../src/kit/db/db.ts'
import { checkInvariants } from '../../src/kit/db/invariants.ts'

/** In every cell, where there are several. */
export async function assertInvariants({ db, cells }: { db: Db; cells?: Cells }): Promise<void> {
  for (const one of cells && areSeveral(cells) ? cells.numbers.map(cells.open) : [db]) await assertOne(one)
}

async function assertOne(db: Db): Promise<void> {
  const reports = await checkInvariants(db)
  assert.ok(reports.length >= 9, 'the invariants stand as views')
  assert.deepEqual(
    reports.filter(({ violations }) => violations !== 0),
    [],
    'no invariant is violated',
  )
}
