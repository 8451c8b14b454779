// A newer PostgreSQL takes over under load, by the runbook; `npm run drill:upgrade` does the same with more payments.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { BOTH_VERSIONS, runUpgrade } from './upgrade/round.ts'
import { NEW, OLD } from './upgrade/runbook.ts'

const RUNBOOK = new URL('../../docs/running-in-production.md', import.meta.url)

describe('PostgreSQL 18 takes over from 15 under load', () => {
  it('is described with every statement of the runbook', async () => {
    const text = await readFile(RUNBOOK, 'utf8')
    const statements = Object.values({ ...OLD, ...NEW })
    const missing = statements.filter((statement) => !text.includes(statement.trim()))
    assert.deepEqual(missing, [])
  })

  for (const way of ['restart', 'address'] as const)
    it(`loses and doubles nothing when the service gets there by ${way}`, BOTH_VERSIONS, async () => {
      const report = await runUpgrade({ payments: 500, way, loadMs: 500, onStep: () => undefined })
      assert.ok(report.acknowledged > 0)
      assert.deepEqual([report.lost, report.violations], [0, []])
    })
})
