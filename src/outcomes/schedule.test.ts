import assert from 'node:assert/strict'
import { it } from 'node:test'
import { resubmittedBackoffMs, unknownBackoffMs } from './schedule.ts'

const HOUR_MS = 3_600_000
// The timeout of a call, and the largest factor of the jitter.
const CALL_MS = 10_000
const SPREAD = 1.2

it('knows an outcome within a minute after an outage of an hour, also of a call that is submitted again (F-38)', () => {
  let polledForMs = 0
  let polls = 0
  while (polledForMs < HOUR_MS) {
    const delayMs = unknownBackoffMs(polls)
    const untilKnownMs = SPREAD * delayMs + CALL_MS + SPREAD * resubmittedBackoffMs(polls)
    assert.ok(untilKnownMs < 60_000, `after ${polls} polls the delay is ${delayMs} ms`)
    polledForMs += delayMs
    polls += 1
  }
})

it('polls an unknown outcome once an hour in the end, without a last poll', () => {
  assert.equal(unknownBackoffMs(10_000), HOUR_MS)
  assert.equal(resubmittedBackoffMs(10_000), HOUR_MS)
})
