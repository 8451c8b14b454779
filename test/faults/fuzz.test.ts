// The short form of npm run fuzz: valid, nearly valid and hostile requests, generated from the service's OpenAPI
// document.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { fuzz } from '../fuzz/fuzz.ts'
import { startTarget } from '../fuzz/target.ts'
import { sized } from '../support/scale.ts'

// A fixed seed, so that a failed run can be repeated; the long form takes a new one each time.
const SEED = 7
const REQUESTS = sized({ quick: 2_000, rest: 6_000, long: 100_000 })

const target = await startTarget({ after })

describe(`${REQUESTS} requests of every kind (F-59, F-64, F-69, F-76, F-81)`, () => {
  it('fuzzed requests get documented responses, and reach every operation', {
    timeout: 600_000,
  }, async () => {
    const { requests, kinds, defects, slow, unreached } = await fuzz(target.document, target, {
      requests: REQUESTS,
      seed: SEED,
    })
    assert.deepEqual(defects, [], 'no 5xx, no undocumented response, no record of another merchant')
    assert.deepEqual(slow.alone, [], 'no request takes more than a second when it is sent alone')
    assert.deepEqual(unreached, [], 'every operation was reached')
    assert.ok(requests >= REQUESTS)
    for (const [kind, count] of Object.entries(kinds)) assert.ok(count > REQUESTS / 10, `${count} ${kind}`)
  })

  it('fuzzed requests leave a running process, a log without errors, and a ledger that meets the invariants', () =>
    target.assertHealthy())
})
