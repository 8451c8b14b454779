// The short form of npm run fuzz: requests made from the service's own document, valid, nearly valid and hostile.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { fuzz } from '../fuzz/fuzz.ts'
import { startTarget } from '../fuzz/target.ts'
import { sized } from '../support/scale.ts'

// The same in every run, so that a run that fails can be repeated; the long form takes another each time.
const SEED = 7
const REQUESTS = sized({ quick: 2_000, rest: 20_000, long: 100_000 })

const target = await startTarget({ after })

describe(`${REQUESTS} requests of every kind (F-59, F-64, F-69, F-76, F-81)`, () => {
  it('get answers that are documented, and reach every operation', { timeout: 600_000 }, async () => {
    const { requests, kinds, defects, slow, unreached } = await fuzz(target.document, target, {
      requests: REQUESTS,
      seed: SEED,
    })
    assert.deepEqual(defects, [], 'no 5xx, nothing outside the document, no record of another merchant')
    assert.deepEqual(slow.alone, [], 'nothing takes more than a second when it is asked alone')
    assert.deepEqual(unreached, [], 'every operation was reached')
    assert.ok(requests >= REQUESTS)
    for (const [kind, count] of Object.entries(kinds)) assert.ok(count > REQUESTS / 10, `${count} ${kind}`)
  })

  it('leave a process that lives, a log without mistakes, and books that are right', () =>
    target.assertHealthy())
})
