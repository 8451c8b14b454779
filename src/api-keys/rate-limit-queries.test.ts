import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { testDatabase } from '../../test/support/database.ts'
import { addMs } from '../kit/clock.ts'
import { spendTokens } from './rate-limit-queries.ts'

const db = await testDatabase({ after })

const HOUR_MS = 3_600_000

it('a rate limit bucket that a process with a fast clock updated refills at once (F-53)', async () => {
  const now = new Date()
  const spend = async (at: Date, spent: number) => {
    const [bucket] = await spendTokens(db, at, [{ owner: 'key', spent, perSecond: 10, burst: 20 }])
    return bucket?.tokens
  }
  assert.equal(await spend(now, 20), 0)
  assert.equal(await spend(addMs(now, HOUR_MS), 20), 0, 'the clock that is wrong')
  assert.equal(await spend(addMs(now, 1_000), 0), 0, 'set back: the bucket is from here on')
  assert.equal(await spend(addMs(now, 2_000), 0), 10)
  assert.equal(await spend(addMs(now, 3_000), 0), 20)
})
