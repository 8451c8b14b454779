// Days of the merchant's zone: the API takes moments, people choose days.

const DAY_MS = 86_400_000

/** What clocks in the zone show at the moment, read as if it were UTC. */
function localTime(moment: number, zone: string): number {
  const text = new Date(moment).toLocaleString('sv-SE', { timeZone: zone })
  return Date.parse(`${text.replace(' ', 'T')}Z`)
}

// Years that Intl writes with four digits in every zone. What is left out is no day on which money was paid.
const DAY = /^[1-8]\d{3}-\d{2}-\d{2}$/

/** Midnight in UTC; not a number for a text that is no day. */
const midnightOf = (day: string) => (DAY.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN)

/** The first moment of a day such as 2026-03-14. A text that is no day stays as it is: the API refuses it. */
export function startOfDay(day: string, zone: string): string {
  const midnight = midnightOf(day)
  if (Number.isNaN(midnight)) return day
  const guess = midnight - (localTime(midnight, zone) - midnight)
  // Between the two moments the zone may have changed its offset.
  return new Date(guess - (localTime(guess, zone) - midnight)).toISOString()
}

/** The first moment after a day. */
export function startOfNextDay(day: string, zone: string): string {
  const midnight = midnightOf(day)
  if (Number.isNaN(midnight)) return day
  return startOfDay(new Date(midnight + DAY_MS).toISOString().slice(0, 10), zone)
}

/** The last moment of a day. */
export function endOfDay(day: string, zone: string): string {
  if (Number.isNaN(midnightOf(day))) return day
  return new Date(Date.parse(startOfNextDay(day, zone)) - 1).toISOString()
}

/** The day of a moment, such as 2026-03-14. */
export function dayIn(iso: string, zone: string): string {
  return new Date(iso).toLocaleDateString('sv-SE', { timeZone: zone })
}
