import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createLoopDelay } from './loop-delay.ts'

describe('the delay of the event loop', () => {
  it('is the average of how late timers are', (t) => {
    const { turn, delay } = fakeLoop(t)
    assert.equal(delay.read(), 0)
    assert.equal(turn(400), 100, 'one pause counts little')
    assert.equal(turn(400), 175)
    assert.ok(turn(400) > 200, 'a loop that is late in every turn counts')
    for (let turns = 0; turns < 5; turns += 1) turn(0)
    assert.ok(delay.read() < 100, 'it falls when the loop is in time')
    assert.ok(turn(60_000) > 500, 'a blocked loop counts')
    for (let turns = 0; turns < 5; turns += 1) turn(0)
    assert.ok(delay.read() < 200, 'but not for long')
  })

  it('is measured only while it is read', (t) => {
    const { turn, delay, samples } = fakeLoop(t)
    delay.read()
    turn(400)
    for (let ticks = 0; ticks <= 40; ticks += 1) t.mock.timers.tick(50)
    const before = samples()
    t.mock.timers.tick(1_000)
    assert.equal(samples(), before)
    assert.equal(delay.read(), 0)
    t.mock.timers.tick(50)
    assert.ok(samples() > before)
    delay.stop()
  })
})

/** A loop whose timers fire as late as the test says. */
function fakeLoop(t: { mock: { timers: typeof import('node:test').mock.timers } }) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let nowMs = 1_000
  let asked = 0
  const delay = createLoopDelay(() => {
    asked += 1
    return nowMs
  })
  const turn = (lateMs: number) => {
    nowMs += 50 + lateMs
    t.mock.timers.tick(50)
    return delay.read()
  }
  return { delay, turn, samples: () => asked }
}
