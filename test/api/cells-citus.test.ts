// Cells in a cluster of Citus, which COWRY_TEST_CELLS names. The refusals need none.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { addCell } from '../../src/cells/register.ts'
import { listCellRows } from '../../src/kit/cells/queries.ts'
import { systemClock } from '../../src/kit/clock.ts'
import { createVault } from '../../src/kit/crypto.ts'
import { sql } from '../../src/kit/db/db.ts'
import { systemRandom } from '../../src/kit/random.ts'
import { CLUSTER_URL, ON_CLUSTER } from '../support/cluster.ts'
import { testDatabase, testDatabaseUrl } from '../support/database.ts'
import { connectTestDb } from '../support/test-db.ts'

const db = await testDatabase({ after })
const random = systemRandom(systemClock)
const vault = createVault([{ id: 'k1', key: random.bytes(32) }], random)
const add = (name: string, url: string) =>
  addCell({ unscopedInstanceDb: db, vault, clock: systemClock }, { name, url, isCitus: true })

describe('a cell in a cluster of Citus', () => {
  it('is refused on a server without Citus', async () => {
    const url = await testDatabaseUrl({ after })
    await assert.rejects(add('west-1', url), /url leads to a database without Citus/)
    assert.deepEqual(await listCellRows(db), [])
  })

  it('is refused with options in the URL, where the search path belongs', async () => {
    const url = `${await testDatabaseUrl({ after })}?options=-cwork_mem%3D8MB`
    await assert.rejects(add('west-1', url), /url must have no options/)
  })

  it(
    'is a distributed schema that several share a database with, each with its own register',
    ON_CLUSTER,
    async () => {
      const names = ['added-1', 'added-2']
      const admin = connectTestDb({ url: CLUSTER_URL ?? '', poolSize: 1 })
      after(async () => {
        for (const name of names)
          await admin.script(`drop schema if exists cowry_${name.replace('-', '_')} cascade`)
        await admin.close()
      })
      for (const name of names) await add(name, CLUSTER_URL ?? '')
      const schemas = sql<{ name: string; tables: number }>`
select schema_name::text as name, (select count(*) from citus_tables t where t.colocation_id = s.colocation_id)::integer as tables
from citus_schemas s
where schema_name::text like 'cowry_added%'
order by name`
      const made = await admin.query(schemas)
      assert.deepEqual(
        made.map(({ name }) => name),
        ['cowry_added_1', 'cowry_added_2'],
      )
      assert.ok(made.every(({ tables }) => tables > 60))
      assert.deepEqual(
        (await listCellRows(db)).map(({ name }) => name),
        names,
      )
      await assert.rejects(add('added-1', CLUSTER_URL ?? ''), /name is the name of another cell/)
    },
  )
})
