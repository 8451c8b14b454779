// Due work that is not done, for operators. It is counted up to a cap: beyond that the number does not matter.

export interface Backlog {
  /** The job that does it. */
  name: string
  due: number
  oldestDueAt: Date | null
}

/** The cap, as text for the limit of a statement. */
export const BACKLOG_LIMIT = '10000'
