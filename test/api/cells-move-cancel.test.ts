// An operator cancels a move before the switch: the merchant works on where it is, and nothing of the copy is left.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { describeTables } from '../../src/cells/moves/copy-queries.ts'
import { runMove } from '../../src/cells/moves/move.ts'
import {
  cancelMoveOf,
  claimMove,
  findMove,
  insertMove,
  isCopying,
  type MoveRow,
} from '../../src/cells/moves/move-queries.ts'
import { RunEnded } from '../../src/cells/moves/run.ts'
import { MOVED_TABLES } from '../../src/cells/moves/tables.ts'
import { systemClock } from '../../src/kit/clock.ts'
import type { Statement } from '../../src/kit/db/db.ts'
import { NO_FAILPOINTS } from '../../src/kit/failpoints.ts'
import { createLog } from '../../src/kit/observability/log.ts'
import { payWith } from '../support/builders.ts'
import { dataOf } from '../support/cases.ts'
import { cellsCommand, plainAddress } from '../support/cells.ts'
import { NO_POOLER } from '../support/database.ts'
import { assertInvariants } from '../support/invariants.ts'
import { eventually } from '../support/process.ts'
import { ADMIN_TOKEN, testService } from '../support/service.ts'

const service = await testService(
  { after },
  { cells: 2, cellAddress: plainAddress({ after }), isOwn: true, env: { COWRY_POOL_SIZE: '8' } },
)
const { admin, cells } = service
const shops = [await service.newMerchant(), await service.newMerchant()]
const cellsOf = await Promise.all(shops.map(({ uuid }) => cells.of(uuid)))
const shop = shops[cellsOf.indexOf(0)]
const neverMoved = shops[cellsOf.indexOf(1)]
assert.ok(shop && neverMoved)
const target = cells.open(1)

// A move takes some seconds, and a minute beside other runs on the same processors.
const WITHIN_MS = 120_000

const cowry = cellsCommand(service, ADMIN_TOKEN)

const readMove = async () => dataOf(await admin.get(`/admin/v1/merchants/${shop.uuid}/move`))

/** The statement has the name of a table, so it is not one of the service's. */
async function countIn(cell: number, table: string, where: string): Promise<number> {
  const text = `select count(*)::integer as count from ${table} where ${where}`
  const [row] = await cells.open(cell).query({ name: '', text } as Statement<{ count: number }>, [])
  return row?.count ?? -1
}

const isOfShop = `merchant_id = '${shop.uuid}'`

/** A trigger that also fires for the copy: the switch fails, and the move stays before it. */
const BLOCK = `
create function block_switch() returns trigger language plpgsql as $$
begin
  raise exception 'the switch is blocked';
end
$$;
create trigger block_switch before insert on webhook_endpoints for each row execute function block_switch();
alter table webhook_endpoints enable always trigger block_switch`

const UNBLOCK = 'drop trigger block_switch on webhook_endpoints; drop function block_switch'

const insertTo = (toCell: number, at = new Date()) =>
  insertMove(cells.open(0), { merchantId: shop.uuid, toCell, keepSeconds: 1 }, at)

/** The job of the service does not claim it. */
const LATER = new Date('2100-01-01T00:00:00Z')

const isDone = () => eventually(readMove, ({ step }) => step === 'done', WITHIN_MS)

async function assertNoGuards(numbers = cells.numbers): Promise<void> {
  for (const cell of numbers) {
    assert.equal(await countIn(cell, 'pg_trigger', `tgname like 'moving_%'`), 0)
    for (const table of ['moving_merchants', 'move_changes'])
      assert.equal(await countIn(cell, table, isOfShop), 0, table)
  }
}

async function nameOfDatabase(cell: number): Promise<string> {
  const text = 'select current_database() as name'
  const [row] = await cells.open(cell).query({ name: '', text } as Statement<{ name: string }>, [])
  return row?.name ?? ''
}

/** As the job does, with a row of the move that it has read before. */
async function runOld(move: MoveRow): Promise<Date | undefined> {
  const [instance, source, target] = [cells.open(0), cells.open(move.fromCell), cells.open(move.toCell)]
  const app = {
    unscopedInstanceDb: instance,
    cells,
    clock: systemClock,
    log: createLog('silent'),
    failpoints: NO_FAILPOINTS,
    copyMerchant: async () => undefined,
  }
  const { signal } = new AbortController()
  return runMove({ app, move, instance, source, target, tables: await describeTables(source), signal })
}

describe('a move that is cancelled before the switch', () => {
  it('leaves the merchant where it is, and nothing in the other cell', async () => {
    await payWith(shop.api, 'card_success')
    dataOf(await shop.api.post('/api/v1/webhooks/endpoints', { url: 'https://example.com/hook' }))
    await target.script(BLOCK)
    await insertTo(1)
    await eventually(readMove, ({ problem }) => problem === 'the switch is blocked', WITHIN_MS)
    assert.ok((await countIn(1, 'payments', isOfShop)) > 0)

    const { code, out } = await cowry('move', shop.uuid, '--cancel', '--json')
    assert.equal(code, 0, out)
    const { step, isCancelled, switchedAt } = JSON.parse(out).data
    assert.deepEqual({ step, isCancelled, switchedAt }, { step: 'done', isCancelled: true, switchedAt: null })

    assert.equal(await cells.of(shop.uuid), 0)
    for (const table of MOVED_TABLES) assert.equal(await countIn(1, table, isOfShop), 0, table)
    await assertNoGuards()
    assert.equal((await payWith(shop.api, 'card_success')).status, 'successful')
    await assertInvariants(service)
  })

  it('is answered as before when it is cancelled again', async () => {
    const again = dataOf(await admin.post(`/admin/v1/merchants/${shop.uuid}/move/cancel`, {}))
    assert.deepEqual(again, await readMove())
    assert.equal(again.step, 'done')
  })

  it('is not gone on with by a run that was slow before its first write', async () => {
    await insertTo(1, LATER)
    const old = await claimMove(cells.open(0), LATER, LATER)
    assert.ok(old)
    await cancelMoveOf(cells.open(0), shop.uuid, new Date())
    await isDone()
    await assert.rejects(runOld(old), RunEnded)
    await assertNoGuards()
    for (const table of MOVED_TABLES) assert.equal(await countIn(1, table, isOfShop), 0, table)
  })

  it('is not begun again until it has ended', async () => {
    await insertTo(1, LATER)
    await cells.open(0).script(`update merchant_moves set is_cancelled = true, leased_until = 'infinity'`)
    const { code, out } = await cowry('move', shop.uuid, '--to', 'cell-1')
    assert.notEqual(code, 0)
    assert.match(out, /is being cancelled\. Ask again when that has ended\./)
    await cells.open(0).script(`update merchant_moves set leased_until = now()`)
    await isDone()
  })

  it('ends the command that waits for the move', async () => {
    const moving = cowry('move', shop.uuid, '--to', 'cell-1')
    await eventually(readMove, ({ problem }) => problem === 'the switch is blocked', WITHIN_MS)
    assert.equal((await cowry('move', shop.uuid, '--cancel')).code, 0)
    const { code, out } = await moving
    assert.notEqual(code, 0)
    assert.match(out, /The merchant works in the old cell: the move was cancelled\./)
  })

  it(
    'records no changes any more while the new cell is down, keeps no drain waiting, and ends later',
    NO_POOLER,
    async () => {
      await insertTo(1)
      await eventually(readMove, ({ problem }) => problem === 'the switch is blocked', WITHIN_MS)
      const name = await nameOfDatabase(1)
      await cells.open(0).script(`alter database "${name}" allow_connections false;
select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`)
      try {
        await admin.post(`/admin/v1/merchants/${shop.uuid}/move/cancel`, {})
        await eventually(readMove, ({ problem }) => problem !== null, WITHIN_MS)
        assert.equal((await readMove()).step, 'copy')
        await assertNoGuards([0])
        assert.equal(await isCopying(cells.open(0)), false)
        assert.equal((await payWith(shop.api, 'card_success')).status, 'successful')
        assert.equal(await countIn(0, 'move_changes', isOfShop), 0)
      } finally {
        await cells.open(0).script(`alter database "${name}" allow_connections true`)
      }
      await cells.open(0).script(`update merchant_moves set leased_until = now()`)
      await isDone()
      await assertNoGuards()
      for (const table of MOVED_TABLES) assert.equal(await countIn(1, table, isOfShop), 0, table)
    },
  )

  it('is refused for a merchant of a cell that is drained', async () => {
    await insertTo(1, LATER)
    const instance = cells.open(0)
    await instance.script(`update merchant_moves set from_cell = 1, leased_until = 'infinity';
update cells set state = 'draining'`)
    const { code, out } = await cowry('move', shop.uuid, '--cancel')
    assert.notEqual(code, 0)
    assert.match(out, /which is being drained\. Activate cell-1 first\./)
    await instance.script(`update cells set state = 'active'; delete from merchant_moves`)
  })
})

describe('a move that cannot be cancelled', () => {
  it('is one that has switched, and the sentence says what to do', async () => {
    await target.script(UNBLOCK)
    assert.equal((await cowry('move', shop.uuid, '--to', 'cell-1')).code, 0)
    const { code, out } = await cowry('move', shop.uuid, '--cancel')
    assert.notEqual(code, 0)
    assert.match(
      out,
      /works in cell-1 since \S+: a move is not cancelled after the switch\. Move it to main instead\./,
    )
    // A process learns of the switch within a moment.
    await eventually(
      () => cells.of(shop.uuid),
      (cell) => cell === 1,
      WITHIN_MS,
    )
    assert.equal((await payWith(shop.api, 'card_success')).status, 'successful')
  })

  it('is one that was never begun', async () => {
    const { code, out } = await cowry('move', neverMoved.uuid, '--cancel')
    assert.notEqual(code, 0)
    assert.match(out, /was never moved/)
  })

  it('is not asked for together with another one', async () => {
    const both = await cowry('move', shop.uuid, '--cancel', '--to', 'main')
    assert.match(both.out, /cannot be used with option '--to <cell>'/)
    const none = await cowry('move', shop.uuid)
    assert.match(none.out, /give --to <cell> or --cancel/)
    assert.ok(both.code !== 0 && none.code !== 0)
  })
})

describe('a run that was slow after the switch', () => {
  it('deletes nothing of a merchant that was moved back meanwhile', async () => {
    // The run that switched may write its lease meanwhile, so it is due again until it is done.
    await eventually(
      async () => {
        await cells.open(0).script(`update merchant_moves set keep_seconds = 0, leased_until = now()`)
        return readMove()
      },
      ({ step }) => step === 'done',
      WITHIN_MS,
    )
    await insertTo(0)
    await isDone()
    const back = await findMove(cells.open(0), shop.uuid)
    assert.ok(back)
    await insertTo(1)
    await isDone()
    const before = await countIn(1, 'payments', isOfShop)
    assert.ok(before > 0)
    await assert.rejects(runOld({ ...back, step: 'clean' }), RunEnded)
    assert.equal(await countIn(1, 'payments', isOfShop), before)
    await assertNoGuards()
    await assertInvariants(service)
  })
})
