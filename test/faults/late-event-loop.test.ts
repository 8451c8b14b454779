// F-86: while the event loop is late, load is shed.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createLog } from '../../src/kit/observability/log.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const WITHIN_MS = 30_000
const BLOCKED_MS = 2_000
const MAX_BLOCKS = 5

describe('a service whose event loop is late (F-86)', () => {
  it('answers 503 with Retry-After until it has caught up', async (t) => {
    // With a log of its own it is a service in this process, whatever the form of the run.
    const log = createLog('silent')
    const late = await testService(t, { role: 'api', env: { COWRY_MAX_LOOP_DELAY_MS: '200' }, log })
    const path = '/api/v1/wallet/balance'
    let answer = await late.api.send('GET', path)
    for (let blocks = 0; blocks < MAX_BLOCKS && answer.http === 200; blocks += 1) {
      const sent = late.api.send('GET', path)
      blockLoop(BLOCKED_MS)
      answer = await sent
    }
    assert.equal(answer.http, 503)
    assert.equal(answer.headers.get('retry-after'), '1')
    assert.equal(answer.body.error.code, 'temporarily_unavailable')
    await eventually(
      () => late.api.send('GET', path),
      ({ http }) => http === 200,
      WITHIN_MS,
    )
  })
})

function blockLoop(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}
