// Work that should have been done already, as whoever operates the service wants to see it. Counted only so far: beyond
// that it does not matter how much it is.

export interface Backlog {
  /** The job that does it. */
  name: string
  due: number
  oldestDueAt: Date | null
}

/** For statements, behind a limit. */
export const BACKLOG_LIMIT = '10000'
