// F-18, the fault that distinguishes synchronous from asynchronous replication: the standby is disconnected, then the
// primary is killed. One short round of it, and of the control that must lose data; `npm run chaos:failover` runs every
// mode and more rounds.

import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { CONTROL, MODES } from './failover/modes.ts'
import { prepareBase } from './failover/postgres-servers.ts'
import { runRound } from './failover/round.ts'

const TIMES = { beforeMs: 1_000, afterMs: 500 }
const discriminating = MODES.find(({ fault }) => fault === 'F-18')
assert.ok(discriminating)

const base = await prepareBase({ after })

it('nothing acknowledged is lost when the standby is disconnected and the primary killed (F-18)', async () => {
  const { acknowledged, lost, violations } = await runRound(base, discriminating, TIMES)
  assert.ok(acknowledged > 0)
  assert.deepEqual({ lost, violations }, { lost: 0, violations: [] })
})

it('acknowledged records are lost without a synchronous standby, which shows that the test detects it (F-18)', async () => {
  const { lost } = await runRound(base, CONTROL, TIMES)
  assert.ok(lost > 0, 'the control lost nothing, so the other test proves nothing')
})
