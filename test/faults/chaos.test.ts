// Processes, networks and PostgreSQL of a whole deployment fail under load and recover (F-07, F-10, F-14, F-15, I6, I7,
// I10 to I12, I22). COWRY_CHAOS_SEED repeats the faults of a seed; `npm run chaos` runs longer.

import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { it } from 'node:test'
import { sized } from '../support/scale.ts'
import { chaos } from './chaos/chaos.ts'
import { tableOf } from './chaos/table.ts'

const KILLS = sized({ quick: 5, rest: 10, long: 200 })

it('loses nothing acknowledged and executes nothing twice while processes, networks and PostgreSQL die (F-07, F-10, F-14, F-15)', async (t) => {
  const seed = Number(process.env.COWRY_CHAOS_SEED ?? randomInt(1, 2 ** 32))
  t.diagnostic(`COWRY_CHAOS_SEED=${seed}`)
  const report = await chaos(t, { seed, kills: KILLS, seconds: KILLS, maxSeconds: 4 * KILLS })
  assert.equal(report.folder, null, tableOf(report))
  // A machine that runs other tests starts processes slowly, so fewer of them can be killed in this time.
  assert.ok(report.faults.kills >= KILLS / 4, tableOf(report))
  // Prove that the run had load and that faults affected it.
  assert.ok(report.acknowledged > 2 * KILLS && report.records.refunds > 0, tableOf(report))
  const unanswered = Object.keys(report.answers).filter((name) => !/^\d+$/.test(name))
  assert.ok(unanswered.length > 0, tableOf(report))
})
