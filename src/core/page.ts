// What a list answers beside its rows, the same for every list.

export interface PageMeta {
  page: number
  limit: number
  /** Exact up to COUNT_CAP; beyond it totalIsCapped says that there are more. */
  total: number
  totalIsCapped: boolean
  pageCount: number
  hasNext: boolean
  hasPrevious: boolean
  nextCursor: string | null
}

export const DEFAULT_LIMIT = 20
export const MAX_LIMIT = 100

/** Counting further would make the cost of a page grow with the number of rows. */
export const COUNT_CAP = 10_000

/** A list that is short by nature and always comes as one page. */
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
