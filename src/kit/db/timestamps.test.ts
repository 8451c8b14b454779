import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import pg from 'pg'
import { readTimestamp, TIMESTAMPTZ } from './timestamps.ts'

const readByDriver: (text: string) => Date | number = pg.types.getTypeParser(TIMESTAMPTZ, 'text')

describe('a timestamp', () => {
  it('is the one that the driver reads', () => {
    const others = [
      ...['infinity', '-infinity', '0044-03-15 00:00:00+00 BC', '10000-01-01 00:00:00+00'],
      ...['2026-01-01 00:00:00+05:30', '2026-01-01 00:00:00.1-03', '0099-01-01 10:00:00+00'],
      '9999-12-31 23:59:59.999999+00',
    ]
    for (const text of others) assert.deepEqual(readTimestamp(text), readByDriver(text), text)
  })

  it('has the milliseconds of any fraction', () => {
    const time = fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
    fc.assert(
      fc.property(time, fc.constantFrom('', '.1', '.57', '.289', '.745999', '.000001'), (date, fraction) => {
        const text = `${date.toISOString().slice(0, 19).replace('T', ' ')}${fraction}+00`
        assert.deepEqual(readTimestamp(text), readByDriver(text), text)
      }),
    )
  })
})
