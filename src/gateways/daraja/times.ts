// Times of Daraja are East Africa Time, three hours ahead of UTC all year, without a zone.

const OFFSET_MS = 3 * 3_600_000

const local = (time: Date) => new Date(time.getTime() + OFFSET_MS).toISOString()

/** YYYYMMDDHHmmss, as in the password of a prompt. */
export function toTimestamp(time: Date): string {
  return local(time).slice(0, 19).replace(/\D/g, '')
}

/** YYYY-MM-DD HH:mm:ss, as in Pull Transactions. */
export function toListTime(time: Date): string {
  return local(time).slice(0, 19).replace('T', ' ')
}

const DIGITS = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/

/** A time such as 20260501212916; null if it is none. */
export function fromTimestamp(text: string | undefined): Date | null {
  const match = DIGITS.exec(text ?? '')
  if (!match) return null
  const [, year, month, day, hour, minute, second] = match
  return valid(new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}+03:00`))
}

const HOUR_MS = 3_600_000

/**
 * The time of a listed payment. The documentation shows a Z, other sources local times: the reading within an hour of the
 * attempt is the right one.
 */
export function fromListTime(text: string, startedAt: Date): Date | null {
  const digits = text.trim().replace(' ', 'T').slice(0, 19)
  const readings = ['Z', '+03:00'].map((zone) => valid(new Date(`${digits}${zone}`)))
  return readings.find((time) => time && Math.abs(time.getTime() - startedAt.getTime()) < HOUR_MS) ?? null
}

const valid = (time: Date) => (Number.isNaN(time.getTime()) ? null : time)
