// Which sums a report reads for its period. Days and months are summed in UTC. For another zone, the hours between midnight
// in UTC and midnight in the zone are moved from the day in UTC to the day in the zone. So a report is exact in every zone,
// also where clocks change, and reads a few hours of each day instead of all.

import { startOfDay } from '../kit/time-zone.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000

export const GROUPS = ['day', 'currency', 'gateway', 'channel', 'status'] as const
export type Group = (typeof GROUPS)[number]

export interface Period {
  /** The first and the last day, both inclusive, such as 2026-03-14. */
  from: string
  to: string
  timeZone: string
}

type Grain = 'quarter_hour' | 'hour' | 'hour_total' | 'day' | 'day_total' | 'month'

interface Span {
  grain: Grain
  fromMs: number
  /** Exclusive. */
  toMs: number
}

export interface Range extends Span {
  /** Whether the sums are added or subtracted. */
  sign: 1 | -1
  /** The day to which the sums belong. Null: the day in UTC of each sum, less the shift. */
  day: string | null
}

export interface Ranges {
  ranges: Range[]
  /** How many days later than the day of the report begins the day in UTC that has most of its hours. */
  shiftDays: number
}

export function rangesOf(period: Period, groups: ReadonlySet<Group>): Ranges {
  const [first, last] = [Date.parse(period.from), Date.parse(period.to)]
  const shiftMs = Math.round((startIn(period.timeZone, first) - first) / DAY_MS) * DAY_MS
  const end = last + DAY_MS
  const whole = wholeDays(first + shiftMs, end + shiftMs, groups)
  const boundaries = groups.has('day') ? daysBetween(first, end) : [first, end]
  const moved = boundaries.flatMap((midnight) => movedAt(midnight, shiftMs, period.timeZone, groups))
  return {
    ranges: [
      ...whole.map((span) => ({ ...span, sign: 1 as const, day: null })),
      ...moved
        .filter(({ day }) => day >= first && day <= last)
        .map((one) => ({ ...one, day: dayText(one.day) })),
    ],
    shiftDays: shiftMs / DAY_MS,
  }
}

/** A part of one day that begins and ends with a quarter hour, for a report without days. */
export function rangesWithin(fromMs: number, toMs: number, groups: ReadonlySet<Group>): Ranges {
  const ranges = partsOfDay(fromMs, toMs, groups).map((span) => ({ ...span, sign: 1 as const, day: null }))
  return { ranges, shiftDays: 0 }
}

const isDetailed = (groups: ReadonlySet<Group>) =>
  groups.has('gateway') || groups.has('channel') || groups.has('status')

/** Whole months are read as months, unless the report has a row for each day. */
function wholeDays(fromMs: number, toMs: number, groups: ReadonlySet<Group>): Span[] {
  if (!isDetailed(groups)) return [{ grain: 'day_total', fromMs, toMs }]
  const firstMonth = firstOfMonth(fromMs) === fromMs ? fromMs : firstOfMonth(fromMs, 1)
  const endOfMonths = firstOfMonth(toMs)
  if (groups.has('day') || firstMonth >= endOfMonths) return [{ grain: 'day', fromMs, toMs }]
  const spans: Span[] = [
    { grain: 'month', fromMs: firstMonth, toMs: endOfMonths },
    { grain: 'day', fromMs, toMs: firstMonth },
    { grain: 'day', fromMs: endOfMonths, toMs },
  ]
  return spans.filter(isNotEmpty)
}

const isNotEmpty = ({ fromMs, toMs }: Span) => fromMs < toMs

function firstOfMonth(ms: number, later = 0): number {
  return new Date(ms).setUTCMonth(new Date(ms).getUTCMonth() + later, 1)
}

const daysBetween = (first: number, end: number) =>
  Array.from({ length: (end - first) / DAY_MS + 1 }, (_, index) => first + index * DAY_MS)

/** Years after 9999 have a sign and six digits. */
const dayText = (midnight: number) => new Date(midnight).toISOString().split('T', 1)[0] ?? ''

/** The first moment in the zone of a day that is given as its midnight in UTC. */
const startIn = (timeZone: string, midnight: number) => Date.parse(startOfDay(dayText(midnight), timeZone))

/** What the day before and the day that begins here must exchange. */
function movedAt(midnight: number, shiftMs: number, timeZone: string, groups: ReadonlySet<Group>) {
  const start = startIn(timeZone, midnight)
  const counted = midnight + shiftMs
  const [gains, loses] = start < counted ? [midnight, midnight - DAY_MS] : [midnight - DAY_MS, midnight]
  return partsOfDay(Math.min(start, counted), Math.max(start, counted), groups).flatMap((span) => [
    { ...span, sign: 1 as const, day: gains },
    { ...span, sign: -1 as const, day: loses },
  ])
}

/** Whole hours, and the quarter hours before and after them. */
function partsOfDay(fromMs: number, toMs: number, groups: ReadonlySet<Group>): Span[] {
  const firstHour = Math.min(Math.ceil(fromMs / HOUR_MS) * HOUR_MS, toMs)
  const endOfHours = Math.max(Math.floor(toMs / HOUR_MS) * HOUR_MS, firstHour)
  const spans: Span[] = [
    { grain: 'quarter_hour', fromMs, toMs: firstHour },
    { grain: isDetailed(groups) ? 'hour' : 'hour_total', fromMs: firstHour, toMs: endOfHours },
    { grain: 'quarter_hour', fromMs: endOfHours, toMs },
  ]
  return spans.filter(isNotEmpty)
}
