// Times and days of a time zone. A time is written as ISO 8601 with the offset: exact, and the first ten characters are the
// local day. A day is a text such as 2026-03-14; moments are ISO times in UTC.

const QUARTER_HOUR_MS = 900_000
const DAY_MS = 86_400_000

/** An IANA name, such as Africa/Nairobi. Plain offsets are no names. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

/** Writes ISO times in UTC as local ISO times. Offsets change at quarter hours only, so each is looked up once. */
export function createLocalTime(timeZone: string): (isoTime: string) => string {
  const format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset', year: 'numeric' })
  const offsets = new Map<number, string>()
  const offsetAt = (ms: number): string => {
    const quarter = Math.floor(ms / QUARTER_HOUR_MS)
    const known = offsets.get(quarter)
    if (known !== undefined) return known
    const name = format.formatToParts(ms).find(({ type }) => type === 'timeZoneName')?.value ?? ''
    const offset = name.replace(/^GMT(?:\+00:00)?/, '')
    // Exports read the rows in order of time, so old quarters are not needed again.
    if (offsets.size > 1_000) offsets.clear()
    offsets.set(quarter, offset)
    return offset
  }
  return (isoTime) => {
    const ms = Date.parse(isoTime)
    const offset = offsetAt(ms)
    if (offset === '') return isoTime
    return new Date(ms + offsetMs(offset)).toISOString().replace('Z', offset)
  }
}

function offsetMs(offset: string): number {
  const [, sign = '+', hours = '0', minutes = '0', seconds = '0'] =
    /^([+-])(\d{2}):(\d{2})(?::(\d{2}))?$/.exec(offset) ?? []
  const total = (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1_000
  return sign === '-' ? -total : total
}

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

/** Not a number for a text that is no day, such as 2026-02-30. */
function midnightOf(day: string): number {
  const midnight = DAY.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN
  return !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(day) ? midnight : Number.NaN
}

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

const MINUTE = /^[1-8]\d{3}-\d{2}-\d{2}T\d{2}:\d{2}$/

/** What clocks in the zone show at a moment, such as 2026-03-14T09:30. */
export function minuteIn(iso: string, zone: string): string {
  return formatIn(zone).format(new Date(iso)).slice(0, 16).replace(' ', 'T')
}

/** The moment at which clocks in the zone show such a time. Another text stays as it is: the API refuses it. */
export function momentOf(minute: string, zone: string): string {
  const shown = MINUTE.test(minute) ? Date.parse(`${minute}Z`) : Number.NaN
  if (Number.isNaN(shown)) return minute
  const near = 2 * shown - localTime(shown, zone)
  return new Date(shown + near - localTime(near, zone)).toISOString()
}
