import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { testDatabase } from '../../../test/support/database.ts'
import { eventually } from '../../../test/support/process.ts'
import { addMs, systemClock } from '../clock.ts'
import { systemRandom } from '../random.ts'
import { listLiveProcesses } from './process-queries.ts'
import { announceProcess } from './processes.ts'

const db = await testDatabase({ after })

const WITHIN_MS = 10_000
const STEP_MS = 6_000

describe('a process that cannot act on a change of placement', () => {
  it('is still seen, with the state before the change', async (t) => {
    let elapsedMs = 0
    const clock = {
      ...systemClock,
      now: () => addMs(new Date(0), elapsedMs),
      sleep: async () => {
        elapsedMs += STEP_MS
        await new Promise((resolve) => setTimeout(resolve, 1))
      },
    }
    let applied = 0
    const apply = async () => {
      applied += 1
      if (applied > 1) throw new Error('the URL of a cell cannot be opened')
    }
    const log = { write: () => undefined }
    const end = await announceProcess({ db, clock, random: systemRandom(systemClock), log }, [1], apply)
    t.after(end)
    const read = async () => (await listLiveProcesses(db, 60))[0]
    const before = await read()
    assert.ok(before)
    await db.script('insert into placement (epoch) values (7) on conflict (is_only) do update set epoch = 7')
    await eventually(
      async () => applied,
      (count) => count > 3,
      WITHIN_MS,
    )
    const failingAt = (await read())?.seenAt ?? before.seenAt
    const seen = await eventually(read, (one) => one !== undefined && one.seenAt > failingAt, WITHIN_MS)
    assert.equal(seen?.epoch, before.epoch)
  })
})
