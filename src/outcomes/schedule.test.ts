import assert from 'node:assert/strict'
import { it } from 'node:test'
import { unknownBackoffMs } from './schedule.ts'

const HOUR_MS = 3_600_000
// The timeout of a call, and the largest factor of the jitter.
const CALL_MS = 10_000
const SPREAD = 1.2

it('polls an unknown outcome within a minute after an outage of an hour (F-38)', () => {
  let polledForMs = 0
  let polls = 0
  while (polledForMs < HOUR_MS) {
    const delayMs = unknownBackoffMs(polls)
    assert.ok(CALL_MS + SPREAD * delayMs < 60_000, `after ${polls} polls the delay is ${delayMs} ms`)
    polledForMs += delayMs
    polls += 1
  }
})

it('polls an unknown outcome once an hour in the end, without a last poll', () => {
  assert.equal(unknownBackoffMs(10_000), HOUR_MS)
})
