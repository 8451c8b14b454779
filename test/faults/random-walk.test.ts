// A random walk over everything that merchants and payers can do, held against a model (I1 to I6, I8 to I10, I12 to I15).
// COWRY_WALK_SEED walks the way of that seed again; `npm run walk` goes further.

import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { SANDBOX_INSTRUMENTS } from '../../src/gateways/sandbox/index.ts'
import { FORM, sized } from '../support/scale.ts'
import { INSTRUMENT_NAMES } from './random-walk/instruments.ts'
import { MAX_SEED, walk } from './random-walk/walk.ts'

const OPERATIONS = sized({ quick: 400, rest: 1_600, long: 4_000 })
// Every run goes the same way, so that a red one is about what was changed; the long form and the command go new ways.
const SEED = 2_005

describe('a random walk', () => {
  it('knows every instrument of the sandbox', () => {
    assert.deepEqual(INSTRUMENT_NAMES.toSorted(), SANDBOX_INSTRUMENTS.map(({ name }) => name).toSorted())
  })

  it('leads nowhere that the model does not know, and the books are right at its end', async (t) => {
    const seed = Number(process.env.COWRY_WALK_SEED ?? (FORM === 'long' ? randomInt(1, MAX_SEED) : SEED))
    t.diagnostic(`COWRY_WALK_SEED=${seed}`)
    const report = await walk({ after }, { seed, operations: OPERATIONS })
    assert.ok(report.operations >= OPERATIONS)
    assert.ok(report.lines > 0 && report.delivered > 0 && report.precision.exact > 0, 'it came to something')
  })
})
