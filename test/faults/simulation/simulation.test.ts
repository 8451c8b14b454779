// The money path in simulated time: a seed determines each schedule with all kinds of faults, and mutants prove that
// defects would be detected. (F-01 to F-11, F-14, F-15, F-22, F-23, F-27 to F-32, F-34, F-35, F-38, F-39, F-41 to F-44,
// F-47, F-48, F-51, F-52)

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FORM, sized } from '../../support/scale.ts'
import { MUTANTS } from './mutants.ts'
import { runSchedule } from './schedule.ts'
import { REGRESSION_SEEDS } from './seeds.ts'

const SCHEDULES = sized({ quick: 40, rest: 1_000, long: 10_000 })
const COMPLETED_SCHEDULES = sized({ quick: 20, rest: 400, long: 5_000 })
const PARTS = 5

async function assertNoViolations(seed: number, completes = false): Promise<void> {
  const { violations } = await runSchedule(seed, { completes })
  assert.deepEqual(
    violations,
    [],
    completes ? `seed ${seed}` : `npm run simulate -- --seed ${seed} --schedules 1 --verbose`,
  )
}

describe('the money path in simulated time', () => {
  for (let part = 0; part < PARTS; part += 1) {
    const first = (part * SCHEDULES) / PARTS + 1
    const last = ((part + 1) * SCHEDULES) / PARTS
    it(`the invariants hold and all work completes in the schedules ${first} to ${last}`, async () => {
      for (let seed = first; seed <= last; seed += 1) await assertNoViolations(seed)
    })
  }

  it(`the invariants hold in ${COMPLETED_SCHEDULES} schedules in which payments must be completed`, async () => {
    for (let seed = 1; seed <= COMPLETED_SCHEDULES; seed += 1) await assertNoViolations(seed, true)
  })

  it('the invariants hold in the schedules that failed once', async () => {
    for (const { seed } of REGRESSION_SEEDS) await assertNoViolations(seed)
  })

  it('a seed repeats the same schedule', async () => {
    const recordSchedule = async (seed: number) => {
      const lines: string[] = []
      const { hash } = await runSchedule(seed, { onEvent: (atMs, label) => lines.push(`${atMs} ${label}`) })
      return { hash, lines }
    }
    for (const seed of [1, 2, 3, 89, 9_007_199_254]) {
      const first = await recordSchedule(seed)
      assert.ok(first.lines.length > 20, 'something happens')
      assert.deepEqual(await recordSchedule(seed), first)
      assert.equal((await runSchedule(seed)).hash, first.hash)
    }
  })
})

describe('mutants of the simulation', () => {
  // The rarest needs an interleaving that one schedule in a thousand has.
  const MAX_SCHEDULES = 6_000

  it('there are at least twenty mutants', () => {
    assert.ok(MUTANTS.length >= 20)
    assert.equal(new Set(MUTANTS.map(({ name }) => name)).size, MUTANTS.length)
  })

  // Only the larger form searches for a mutant without a known seed.
  const played = MUTANTS.filter(({ detectedBySeed }) => FORM !== 'quick' || detectedBySeed !== undefined)

  for (const { name, mutation, detectedBySeed } of played) {
    it(`the simulation detects the mutant: ${name}`, async (t) => {
      const notice = async (seed: number) => (await runSchedule(seed, { mutation })).violations[0]
      let violation = detectedBySeed === undefined ? undefined : await notice(detectedBySeed)
      for (let seed = 1; violation === undefined && seed <= MAX_SCHEDULES; seed += 1) {
        violation = await notice(seed)
      }
      assert.ok(violation, `not in ${MAX_SCHEDULES} schedules`)
      t.diagnostic(violation.split('\n')[0] ?? '')
    })
  }
})
