import assert from 'node:assert/strict'
import { it } from 'node:test'
import { unknownBackoffMs } from '../../outcomes/schedule.ts'
import { delayAfterMs } from './why-pending.ts'

it('estimates the next poll of an unknown outcome by the schedule of the resolver', () => {
  let elapsedMs = 0
  for (let polls = 0; polls < 200; polls += 1) {
    assert.equal(delayAfterMs(elapsedMs), unknownBackoffMs(polls), `after ${polls} polls`)
    elapsedMs += unknownBackoffMs(polls)
  }
})
