import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { dayIn } from '../kit/time-zone.ts'
import { type Group, type Range, rangesOf, rangesWithin } from './ranges.ts'

const QUARTER_HOUR_MS = 900_000
const DAY_MS = 86_400_000
const UNITS = { quarter_hour: 15, hour: 60, hour_total: 60, day: 1_440, day_total: 1_440, month: 1 }

/** The quarter hours of the sums that the range reads; those of another grain would be read in part. */
function* quartersOf({ grain, fromMs, toMs }: Range): Generator<number> {
  for (const ms of [fromMs, toMs]) {
    assert.equal(ms % (UNITS[grain] * 60_000), 0, `${grain} ${ms}`)
    if (grain === 'month') assert.equal(new Date(ms).getUTCDate(), 1)
  }
  for (let ms = fromMs; ms < toMs; ms += QUARTER_HOUR_MS) yield ms
}

/** How often each quarter hour counts, by its day. A report without days has one day for all. */
function countsOf(period: { from: string; to: string; timeZone: string }, groups: ReadonlySet<Group>) {
  const { ranges, shiftDays } = rangesOf(period, groups)
  const counts = new Map<string, number>()
  for (const range of ranges)
    for (const ms of quartersOf(range)) {
      const ownDay = () => new Date(ms - shiftDays * DAY_MS).toISOString().slice(0, 10)
      const key = `${ms} ${groups.has('day') ? (range.day ?? ownDay()) : ''}`
      counts.set(key, (counts.get(key) ?? 0) + range.sign)
    }
  return new Map([...counts].filter(([, count]) => count !== 0))
}

function expectedOf(
  { from, to, timeZone }: { from: string; to: string; timeZone: string },
  hasDays: boolean,
) {
  const counts = new Map<string, number>()
  for (let ms = Date.parse(from) - DAY_MS; ms < Date.parse(to) + 3 * DAY_MS; ms += QUARTER_HOUR_MS) {
    const day = dayIn(new Date(ms).toISOString(), timeZone)
    if (day >= from && day <= to) counts.set(`${ms} ${hasDays ? day : ''}`, 1)
  }
  return counts
}

/** The quarter hours that count too often or too rarely, in readable form. */
function differing(counts: Map<string, number>, expected: Map<string, number>): string[] {
  return [...new Set([...counts.keys(), ...expected.keys()])]
    .filter((key) => counts.get(key) !== expected.get(key))
    .map((key) => `${new Date(Number.parseInt(key, 10)).toISOString()} ${key} ${counts.get(key) ?? 0}`)
}

describe('the ranges of a report', () => {
  // Offsets of whole, half and quarter hours, more than twelve hours, and clocks that change at and around midnight.
  for (const timeZone of [
    ...['UTC', 'Africa/Nairobi', 'Africa/Cairo', 'Africa/Casablanca', 'Asia/Kolkata', 'Asia/Kathmandu'],
    ...['Europe/Berlin', 'America/New_York', 'America/St_Johns', 'America/Havana', 'Pacific/Auckland'],
    ...['Pacific/Kiritimati', 'Pacific/Pago_Pago', 'Australia/Lord_Howe'],
  ])
    it(`count each quarter hour once, on its day in ${timeZone}`, () => {
      for (const [from, to] of [
        ['2026-03-05', '2026-04-27'],
        ['2026-10-20', '2026-11-05'],
        ['2026-02-01', '2026-02-28'],
        ['2026-03-29', '2026-03-29'],
      ] as const)
        for (const groups of [['day'], ['gateway']] as const) {
          const period = { from, to, timeZone }
          const hasDays = groups[0] === 'day'
          const wrong = differing(countsOf(period, new Set(groups)), expectedOf(period, hasDays))
          assert.deepEqual(wrong, [], `${from} ${to} ${groups}`)
        }
    })

  it('are whole months and days in UTC', () => {
    const ranges = (from: string, to: string) =>
      rangesOf({ from, to, timeZone: 'UTC' }, new Set(['gateway'])).ranges.map(({ grain, fromMs, toMs }) =>
        [grain, ...[fromMs, toMs].map((ms) => new Date(ms).toISOString().slice(0, 10))].join(' '),
      )
    assert.deepEqual(ranges('2026-01-15', '2026-04-02'), [
      'month 2026-02-01 2026-04-01',
      'day 2026-01-15 2026-02-01',
      'day 2026-04-01 2026-04-03',
    ])
    assert.deepEqual(ranges('2026-01-01', '2026-12-31'), ['month 2026-01-01 2027-01-01'])
    assert.deepEqual(ranges('2026-02-01', '2026-02-27'), ['day 2026-02-01 2026-02-28'])
  })

  it('are the whole hours of a part of a day and the quarter hours around them', () => {
    const [fromMs, toMs] = [Date.parse('2026-03-14T18:15:00Z'), Date.parse('2026-03-14T23:45:00Z')]
    const { ranges } = rangesWithin(fromMs, toMs, new Set(['currency']))
    assert.deepEqual(
      ranges.flatMap((range) => [...quartersOf(range)]).sort(),
      Array.from({ length: 22 }, (_, index) => fromMs + index * QUARTER_HOUR_MS),
    )
    assert.equal(ranges.filter(({ grain }) => grain === 'hour_total').length, 1)
  })

  it('read three hours of each day in Nairobi', () => {
    const { ranges } = rangesOf(
      { from: '2026-03-01', to: '2026-03-31', timeZone: 'Africa/Nairobi' },
      new Set(['day']),
    )
    assert.deepEqual(
      ranges.filter(({ grain, toMs, fromMs }) => grain !== 'hour_total' || toMs - fromMs !== 3 * 3_600_000),
      ranges.slice(0, 1),
    )
    assert.equal(ranges.length, 1 + 2 * 31)
  })
})
