// Pagination: the metadata that every list response carries beside its rows.

export interface PageMeta {
  page: number
  limit: number
  /** Exact up to COUNT_CAP. If there are more rows, totalIsCapped is true. */
  total: number
  totalIsCapped: boolean
  pageCount: number
  hasNext: boolean
  hasPrevious: boolean
  nextCursor: string | null
  /** Rows before this time are in an archive of the operator. Absent where none of the list are. */
  archivedBefore?: string
  /** Of operators' lists: the cells that do not answer, whose rows are missing. Absent if all do. */
  unavailableCells?: string[]
}

export const DEFAULT_LIMIT = 20
export const MAX_LIMIT = 100

/** Without a cap, the cost of a page would grow with the number of rows. */
export const COUNT_CAP = 10_000

/** For short lists that are never paginated. */
export function singlePage(count: number): PageMeta {
  return {
    page: 1,
    limit: Math.max(count, 1),
    total: count,
    totalIsCapped: false,
    pageCount: count === 0 ? 0 : 1,
    hasNext: false,
    hasPrevious: false,
    nextCursor: null,
  }
}
