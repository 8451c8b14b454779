// Pagination of the operators' lists: by page number only, without cursors.

import { type Static, Type } from 'typebox'
import { COUNT_CAP, DEFAULT_LIMIT, type PageMeta } from '../core/page.ts'
import { PAGE_QUERY } from '../kit/http/schema.ts'

export const ListQuery = Type.Object({
  page: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: COUNT_CAP,
      default: 1,
      description: 'The number of the page, from 1.',
    }),
  ),
  limit: PAGE_QUERY.limit,
})

export type ListWindow = Static<typeof ListQuery>

export interface Listed<Item> {
  items: Item[]
  meta: PageMeta
}

export function readWindow({ page = 1, limit = DEFAULT_LIMIT }: ListWindow) {
  return { page, limit, offset: (page - 1) * limit }
}

export function pageMeta(page: number, limit: number, counted: number): PageMeta {
  const total = Math.min(counted, COUNT_CAP)
  return {
    page,
    limit,
    total,
    totalIsCapped: counted > COUNT_CAP,
    pageCount: Math.ceil(total / limit),
    hasNext: page * limit < counted,
    hasPrevious: page > 1,
    nextCursor: null,
  }
}
