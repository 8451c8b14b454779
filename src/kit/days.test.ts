import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dayIn, endOfDay, startOfDay } from './days.ts'

describe('days of a zone', () => {
  it('begin and end at midnight of the zone', () => {
    assert.equal(startOfDay('2026-03-14', 'Africa/Nairobi'), '2026-03-13T21:00:00.000Z')
    assert.equal(endOfDay('2026-03-14', 'Africa/Nairobi'), '2026-03-14T20:59:59.999Z')
    assert.equal(startOfDay('2026-03-14', 'UTC'), '2026-03-14T00:00:00.000Z')
  })

  it('are 23 and 25 hours long where the clocks change', () => {
    const hours = (day: string) =>
      (Date.parse(endOfDay(day, 'Europe/Berlin')) + 1 - Date.parse(startOfDay(day, 'Europe/Berlin'))) /
      3_600_000
    assert.deepEqual([hours('2026-03-29'), hours('2026-10-25'), hours('2026-06-01')], [23, 25, 24])
  })

  it('contain their first and last moments', () => {
    for (const zone of [
      ...['Africa/Lagos', 'Africa/Cairo', 'Asia/Dhaka', 'America/New_York', 'UTC'],
      // The clocks change at midnight, and at one o'clock back to midnight.
      'America/Havana',
    ])
      for (const day of ['2026-03-08', '2026-04-24', '2026-10-30', '2026-11-01', '2026-12-31'])
        assert.deepEqual(
          [dayIn(startOfDay(day, zone), zone), dayIn(endOfDay(day, zone), zone)],
          [day, day],
          `${day} ${zone}`,
        )
  })

  it('leave a text that is no day to the API', () => {
    const texts = ['soon', '2026-02-40', '0001-01-01', '9999-12-31', '+275760-09-13', '-000001-01-01']
    for (const text of texts)
      assert.deepEqual([startOfDay(text, 'Africa/Lagos'), endOfDay(text, 'Africa/Lagos')], [text, text])
  })
})
