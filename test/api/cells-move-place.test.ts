// A move begins and ends where the merchant is, whatever a process remembers of it.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { describeTables } from '../../src/cells/moves/copy-queries.ts'
import { addGuard, listUnrecorded, saveMovingState } from '../../src/cells/moves/guard-queries.ts'
import { claimMove, findMove, insertMove, switchPlacement } from '../../src/cells/moves/move-queries.ts'
import { admitMerchant, findPlace } from '../../src/kit/cells/moving-queries.ts'
import { movedMerchantOf } from '../../src/kit/db/db.ts'
import { claimKey } from '../../src/kit/db/idempotency.ts'
import { testDatabase } from '../support/database.ts'

const db = await testDatabase({ after })
const MERCHANT = '018f0000-0000-7000-8000-000000000001'
const NOW = new Date('2026-11-01T00:00:00Z')
await db.script(`
insert into merchants (id, name, mode, created_at, updated_at) values ('${MERCHANT}', 'Moved', 'test', now(), now());
insert into cells (number, name, sealed, state, created_at)
select n, 'cell-' || n, 'x', 'active', now() from generate_series(1, 2) n;
insert into merchant_cells (merchant_id, cell) values ('${MERCHANT}', 1)`)

const insertTo = (toCell: number) => insertMove(db, { merchantId: MERCHANT, toCell, keepSeconds: 60 }, NOW)

describe('a move', () => {
  it('is not made to the cell where the merchant is', async () => {
    assert.equal(await insertTo(1), undefined)
    assert.equal(await findMove(db, MERCHANT), undefined)
  })

  it('begins in the cell where the merchant is', async () => {
    assert.equal((await insertTo(2))?.fromCell, 1)
  })

  it('is not completed from a cell where the merchant is not', async () => {
    const move = await claimMove(db, NOW, NOW)
    assert.ok(move)
    await db.script(`update merchant_cells set cell = 2`)
    assert.equal(await switchPlacement(db, move, NOW), undefined)
    assert.equal((await findMove(db, MERCHANT))?.step, 'copy')
    await db.script(`update merchant_cells set cell = 1`)
    assert.notEqual(await switchPlacement(db, move, NOW), undefined)
    assert.equal((await findPlace(db, MERCHANT)).cell, 2)
  })
})

describe('a merchant that arrives in a cell', () => {
  it('is not admitted there by a run before the one that brings it', async () => {
    const bringing = { merchantId: MERCHANT, fence: 9 }
    await saveMovingState(db, bringing, 'incoming')
    assert.equal(await admitMerchant(db, MERCHANT, 8), false)
    assert.equal(await saveMovingState(db, bringing, 'incoming'), 'changed')
    assert.equal(await admitMerchant(db, MERCHANT, 9), true)
    assert.equal(await admitMerchant(db, MERCHANT, 9), false)
  })
})

describe('the guard of a merchant that works in another cell', () => {
  const operation = 'POST /api/v1/api-keys'
  const write = `insert into archive_boundaries (merchant_id, archived_before) values ('${MERCHANT}', now())`

  for (const state of ['closing', 'gone', 'incoming'] as const)
    it(`refuses its records while it is ${state}, but no idempotency key of the instance`, async () => {
      for (const table of await describeTables(db))
        if (['idempotency_keys', 'archive_boundaries'].includes(table.name))
          await db.transaction((tx) => addGuard(tx, table, MERCHANT))
      await saveMovingState(db, { merchantId: MERCHANT, fence: 1 }, state)
      const claim = { merchantId: MERCHANT, key: state, operation, input: {} }
      assert.equal(await claimKey(db, claim, MERCHANT, NOW), undefined)
      await assert.rejects(db.script(write), (error) => movedMerchantOf(error) === MERCHANT)
    })

  it('records the keys of changed rows while it works here', async () => {
    await saveMovingState(db, { merchantId: MERCHANT, fence: 1 }, 'outgoing')
    await claimKey(db, { merchantId: MERCHANT, key: 'changed', operation, input: {} }, MERCHANT, NOW)
    const [changed, other] = ['changed', 'other'].map((key) => JSON.stringify({ key, merchant_id: MERCHANT }))
    assert.ok(changed && other)
    const keys = [changed, other]
    assert.deepEqual(await listUnrecorded(db, MERCHANT, 'idempotency_keys', keys), [other])
    assert.deepEqual(await listUnrecorded(db, MERCHANT, 'payments', keys), keys)
  })
})
