import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createLocalTime, isTimeZone } from './time-zone.ts'

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
