import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fakeShell } from '../../../test/support/fake-shell.ts'
import type { MeasuredRequest } from '../metrics.ts'

/** A shell whose event loop is as late as the test says. */
function lateShell() {
  const state = { delayMs: 0 }
  const loopDelay = { read: () => state.delayMs, stop: () => undefined }
  const measured: MeasuredRequest[] = []
  const measure = (one: MeasuredRequest) => void measured.push(one)
  return { ...fakeShell({ maxLoopDelayMs: 200, loopDelay, measure }), state, measured }
}

const KEY = { 'x-api-key': 'right' }

describe('load shedding', () => {
  it('answers requests of merchants with 503 while the event loop is late, and serves them again afterwards', async () => {
    const { post, seen, state } = lateShell()
    state.delayMs = 201
    const refused = await post('/api/v1/things', { name: 'A' }, KEY)
    assert.equal(refused.http, 503)
    assert.equal(refused.headers['retry-after'], '1')
    assert.match(String(refused.headers['x-request-id']), /^[0-9a-f-]{36}$/)
    assert.equal(JSON.parse(refused.body).error.code, 'temporarily_unavailable')
    assert.equal(seen.input, undefined)
    state.delayMs = 200
    assert.equal((await post('/api/v1/things', { name: 'A' }, KEY)).http, 201)
  })

  it('goes on with probes, operators and pages', async () => {
    const { shell, get, state } = lateShell()
    state.delayMs = 10_000
    assert.equal((await get('/healthz')).http, 200)
    assert.notEqual((await get('/admin/v1/unknown')).http, 503)
    assert.notEqual((await get('/pay/unknown')).http, 503)
    await shell.stop()
  })

  it('writes one line for many refused requests', async () => {
    const { get, lines, measured, state } = lateShell()
    state.delayMs = 321.4
    assert.equal((await get('/%61pi/v1/things', KEY)).http, 503)
    for (let sent = 1; sent < 5; sent += 1) assert.equal((await get('/api/v1/things', KEY)).http, 503)
    assert.deepEqual(
      lines.map(({ key, count, durationMs }) => ({ key, count, durationMs })),
      [{ key: 'http.load_shed', count: 1, durationMs: 321 }],
    )
    assert.deepEqual(
      measured.map(({ http, durationMs }) => [http, durationMs]),
      Array.from({ length: 5 }, () => [503, null]),
    )
  })
})
