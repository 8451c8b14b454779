import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fakeShell } from '../../../test/support/fake-shell.ts'
import { createLoopDelay } from '../../kit/observability/loop-delay.ts'

/** A shell whose event loop is as late as the test says. */
function lateShell() {
  const state = { delayMs: 0 }
  const loopDelay = { read: () => state.delayMs, stop: () => undefined }
  return { ...fakeShell({ maxLoopDelayMs: 200, loopDelay }), state }
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
    const { get, lines, state } = lateShell()
    state.delayMs = 321.4
    for (let sent = 0; sent < 5; sent += 1) assert.equal((await get('/api/v1/things', KEY)).http, 503)
    assert.deepEqual(
      lines.map(({ key, count, durationMs }) => ({ key, count, durationMs })),
      [{ key: 'http.load_shed', count: 1, durationMs: 321 }],
    )
  })
})

describe('the delay of the event loop', () => {
  it('is the average of how late timers are, and is measured only while it is read', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    let nowMs = 1_000
    const delay = createLoopDelay(() => nowMs)
    /** Timers fire this late. */
    const turn = (lateMs: number) => {
      nowMs += 50 + lateMs
      t.mock.timers.tick(50)
      return delay.read()
    }
    assert.equal(delay.read(), 0)
    assert.equal(turn(400), 100, 'one pause counts little')
    assert.equal(turn(400), 175)
    assert.ok(turn(400) > 200, 'a loop that is late in every turn counts')
    for (let turns = 0; turns < 5; turns += 1) turn(0)
    assert.ok(delay.read() < 100, 'it falls when the loop is in time')
    turn(10_000)
    assert.ok(delay.read() > 2_000, 'a blocked loop counts, although nothing read it meanwhile')
    for (let samples = 0; samples <= 40; samples += 1) t.mock.timers.tick(50)
    assert.equal(delay.read(), 0)
    delay.stop()
  })
})
