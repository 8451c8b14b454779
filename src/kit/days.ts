// Days of a time zone. A day is a text such as 2026-03-14; moments are ISO times in UTC.

const DAY_MS = 86_400_000

// Making a format takes longer than using it for a month of days. Names of zones differ in case too, so the number is bounded.
const FORMATS = new Map<string, Intl.DateTimeFormat>()
const MAX_FORMATS = 1_000

function formatIn(timeZone: string): Intl.DateTimeFormat {
  const known = FORMATS.get(timeZone)
  if (known) return known
  if (FORMATS.size >= MAX_FORMATS) FORMATS.clear()
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' })
  FORMATS.set(timeZone, format)
  return format
}

/** What clocks in the zone show at the moment, read as if it were UTC. */
function localTime(moment: number, zone: string): number {
  return Date.parse(`${formatIn(zone).format(moment).replace(' ', 'T')}Z`)
}

// Years that Intl writes with four digits in every zone. What is left out is no day on which money was paid.
const DAY = /^[1-8]\d{3}-\d{2}-\d{2}$/

/** Not a number for a text that is no day. */
const midnightOf = (day: string) => (DAY.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN)

/**
 * The first moment of a day such as 2026-03-14. A text that is no day stays as it is: the API refuses it. Where the clocks
 * change, midnight may exist twice or not at all: the first moment is the earliest at which they show that day.
 */
export function startOfDay(day: string, zone: string): string {
  const midnight = midnightOf(day)
  if (Number.isNaN(midnight)) return day
  const offsets = [midnight - DAY_MS, midnight + DAY_MS].map((moment) => localTime(moment, zone) - moment)
  const [first = midnight, second = first] = offsets.map((offset) => midnight - offset).sort((a, b) => a - b)
  return new Date(localTime(first, zone) >= midnight ? first : second).toISOString()
}

/** The first moment after a day. */
export function startOfNextDay(day: string, zone: string): string {
  return Number.isNaN(midnightOf(day)) ? day : startOfDay(shiftDay(day, 1), zone)
}

/** The last moment of a day. */
export function endOfDay(day: string, zone: string): string {
  if (Number.isNaN(midnightOf(day))) return day
  return new Date(Date.parse(startOfNextDay(day, zone)) - 1).toISOString()
}

/** The day of a moment, such as 2026-03-14. */
export function dayIn(iso: string, zone: string): string {
  return formatIn(zone).format(new Date(iso)).slice(0, 10)
}

/** The day so many days later. */
export function shiftDay(day: string, days: number): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10)
}
