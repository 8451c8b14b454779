import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createLocalTime, dayIn, endOfDay, isTimeZone, minuteIn, momentOf, startOfDay } from './time-zone.ts'

describe('a local time', () => {
  it('has the offset of the time zone at that time', () => {
    const times: [string, string, string][] = [
      ['UTC', '2026-03-14T09:26:53.589Z', '2026-03-14T09:26:53.589Z'],
      ['Africa/Nairobi', '2026-03-14T22:26:53.589Z', '2026-03-15T01:26:53.589+03:00'],
      ['Asia/Kathmandu', '2026-03-14T20:00:00.000Z', '2026-03-15T01:45:00.000+05:45'],
      ['America/St_Johns', '2026-01-01T00:00:00.000Z', '2025-12-31T20:30:00.000-03:30'],
      ['Europe/London', '2026-03-29T00:59:59.999Z', '2026-03-29T00:59:59.999Z'],
      ['Europe/London', '2026-03-29T01:00:00.000Z', '2026-03-29T02:00:00.000+01:00'],
    ]
    for (const [zone, given, wanted] of times) {
      assert.equal(createLocalTime(zone)(given), wanted)
      assert.equal(new Date(wanted).toISOString(), given)
    }
  })

  it('accepts names of time zones only', () => {
    for (const name of ['UTC', 'Africa/Lagos', 'Europe/Paris']) assert.ok(isTimeZone(name), name)
    for (const name of ['', '+03:00', 'Mars/Olympus', "UTC'; drop table payments"])
      assert.ok(!isTimeZone(name), name)
  })
})

describe('days of a zone', () => {
  it('begin and end at midnight of the zone', () => {
    assert.equal(startOfDay('2026-03-14', 'Africa/Nairobi'), '2026-03-13T21:00:00.000Z')
    assert.equal(endOfDay('2026-03-14', 'Africa/Nairobi'), '2026-03-14T20:59:59.999Z')
    assert.equal(startOfDay('2026-03-14', 'UTC'), '2026-03-14T00:00:00.000Z')
    assert.equal(startOfDay('2026-02-30', 'UTC'), '2026-02-30', 'no day of the calendar: the API refuses it')
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

describe('minutes of a time zone', () => {
  it('are the moments at which its clocks show them', () => {
    assert.equal(momentOf('2026-03-14T09:30', 'Africa/Nairobi'), '2026-03-14T06:30:00.000Z')
    for (const zone of ['Africa/Lagos', 'Asia/Kathmandu', 'America/New_York', 'UTC'])
      for (const minute of ['2026-03-07T23:59', '2026-03-08T03:01', '2026-11-01T12:00'])
        assert.equal(minuteIn(momentOf(minute, zone), zone), minute, zone)
  })

  it('leave a text that is no minute to the API', () => {
    for (const text of ['', 'never', '2026-03-14', '2026-03-14T25:00', '9999-12-31T00:00'])
      assert.equal(momentOf(text, 'Africa/Lagos'), text)
  })
})
