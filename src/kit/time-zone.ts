// Times in the time zone of a merchant, as ISO 8601 with the offset: exact, and the first ten characters are the local day.

const QUARTER_HOUR_MS = 900_000

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
