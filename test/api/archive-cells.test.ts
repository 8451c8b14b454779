// cowry archive where the merchants are in several cells: each has its own archives.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { ENTRY_POINTS } from '../../src/entry-points.ts'
import { payWith } from '../support/builders.ts'
import { frozenClock } from '../support/fake-clock.ts'
import { assertInvariants } from '../support/invariants.ts'
import { testService } from '../support/service.ts'

const clock = frozenClock(new Date(Date.now() - 110 * 86_400_000))
const service = await testService({ after }, { isOwn: true, cells: 2, clock })
const dir = await mkdtemp(join(tmpdir(), 'cowry-archive-'))
after(() => rm(dir, { recursive: true, force: true }))

const env = { DATABASE_URL: service.databaseUrl, COWRY_DATA_DIR: service.dataDir }
const now = new Date()
const before = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 2, 1))
const archive = (cell?: string) => {
  const options = { dir, before, cell, exportOnly: false, compact: true, onProgress: () => undefined }
  return ENTRY_POINTS.archive(env, options)
}

describe('cowry archive run with several cells', () => {
  it('archives the merchants of each, once their balances are folded', async () => {
    const merchants = []
    // One after the other: each is placed in the cell with the fewest merchants.
    for (let count = 0; count < 4; count += 1) merchants.push(await service.newMerchant())
    for (const { api } of merchants) {
      await payWith(api, 'card_success')
      // Reading the statement folds.
      assert.equal((await api.get('/api/v1/wallet/transactions')).body.data.length, 1)
    }
    const months = await archive()
    const events = months.flatMap(({ cell, dropped }) =>
      dropped.filter(({ table, rows }) => table === 'events' && rows > 0).map(() => cell),
    )
    assert.equal(new Set(events).size, 2, JSON.stringify(months))
    await assertInvariants(service)
    const files = await ENTRY_POINTS.listArchives(env)
    assert.deepEqual(new Set(files.map(({ state }) => state)), new Set(['dropped']))
    for (const { api } of merchants) {
      const { body } = await api.get('/api/v1/wallet/transactions')
      assert.deepEqual(body.data, [])
      assert.ok(new Date(body.meta.archivedBefore) <= before)
    }
  })

  it('refuses a cell that does not exist', async () => {
    await assert.rejects(archive('nowhere'), /There is no cell nowhere/)
  })
})
