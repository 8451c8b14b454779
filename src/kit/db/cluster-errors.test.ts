// What a cluster of Citus reports while it moves a schema, or when one of its nodes has ended, raised here by PostgreSQL itself.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { testDatabase } from '../../../test/support/database.ts'
import { DbUnavailable, sql, type Tx } from './db.ts'

const db = await testDatabase({ after })
await db.script(`
create function fail(code text, reason text) returns void language plpgsql as $$
begin
  raise exception using errcode = code, message = reason;
end
$$`)

const fail = sql<unknown>`select fail($1, $2)`

async function failuresOf(code: string, reason: string): Promise<{ runs: number; error: unknown }> {
  let runs = 0
  const work = async (tx: Tx) => {
    runs += 1
    await tx.query(fail, [code, reason])
  }
  return db.transaction(work).then(
    () => assert.fail('nothing failed'),
    (error: unknown) => ({ runs, error }),
  )
}

describe('an error of a cluster', () => {
  it('is tried again if the schema was moved meanwhile, and rolled back if it happens each time', async () => {
    const { runs, error } = await failuresOf('CIINF', 'Query could not find the intermediate result file')
    assert.equal(runs, 3)
    assert.ok(error instanceof DbUnavailable && error.isRolledBack)
  })

  it('is no defect of the statement if a node has ended', async () => {
    const { runs, error } = await failuresOf(
      'XX000',
      'failure on connection marked as essential: 10.0.0.2:5432',
    )
    assert.equal(runs, 1)
    assert.ok(error instanceof DbUnavailable && !error.isRolledBack)
    const excluded = await failuresOf('XX000', 'no active placements were found for shard 102008')
    assert.ok(excluded.error instanceof DbUnavailable)
    assert.ok(!((await failuresOf('XX000', 'an internal error')).error instanceof DbUnavailable))
  })
})
