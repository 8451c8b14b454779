import assert from 'node:assert/strict'
import { it } from 'node:test'
import { unknownBackoffMs } from './schedule.ts'

const HOUR_MS = 3_600_000
// The longest that a call waits, and how far a delay is spread.
const CALL_MS = 10_000
const SPREAD = 1.2

it('asks again within a minute of the end of an outage that lasted for an hour (F-38)', () => {
  let polledForMs = 0
  let polls = 0
  while (polledForMs < HOUR_MS) {
    const delayMs = unknownBackoffMs(polls)
    assert.ok(CALL_MS + SPREAD * delayMs < 60_000, `after ${polls} questions it waits ${delayMs} ms`)
    polledForMs += delayMs
    polls += 1
  }
})

it('asks once an hour in the end, and never stops asking', () => {
  assert.equal(unknownBackoffMs(10_000), HOUR_MS)
})
