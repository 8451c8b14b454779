// Runs each request in the cell of its data, where there are several: that of the caller's merchant, of the merchant in the
// path, or the one that a value in the path names.

import { findCaseCell } from '../cases/find.ts'
import {
  areSeveral,
  type Cells,
  currentCell,
  inCellForOne,
  inCellOf,
  inCellOfValue,
  iterateInCell,
} from '../kit/cells/cells.ts'
import type { Db } from '../kit/db/db.ts'
import type { OperatorRoute, PageRoute, PersonRoute, Route, RouteResponse } from '../kit/http/route.ts'
import { cellOfSlug, findLinkMerchant } from '../links/service.ts'
import { findMerchantByAccessHash } from '../payments/find.ts'
import { cellOfAccessCode, hashAccessCode } from '../payments/record.ts'

interface Needs {
  cells: Cells
  db: Db
}

export function routeByMerchant<One extends Route | PersonRoute>(
  { cells }: Pick<Needs, 'cells'>,
  routes: One[],
): One[] {
  if (!areSeveral(cells)) return routes
  return routes.map((route) => ({
    ...route,
    handle: (input: Parameters<One['handle']>[0]) =>
      inCellOf(
        cells,
        input.merchant.id,
        // A boundary: the input of a route is the one that it takes.
        async () => keepCell(await route.handle(input as never)),
        { isRead: route.method === 'GET' },
      ),
  }))
}

/** A file is written after the handler has returned. */
function keepCell(response: RouteResponse): RouteResponse {
  const { file } = response
  return file
    ? { ...response, file: { ...file, pieces: iterateInCell(currentCell(), file.pieces) } }
    : response
}

const OF_MERCHANT = '/admin/v1/merchants/{uuid}'
const OF_CASE = '/admin/v1/cases/{uuid}'

/** Other operations of operators are over the instance, or over every cell. */
export function routeOperators({ cells, db }: Needs, routes: OperatorRoute[]): OperatorRoute[] {
  if (!areSeveral(cells)) return routes
  return routes.map((route) => {
    const { path, handle } = route
    // The case is of one merchant, which may be moved meanwhile.
    const inCell = (cell: number, input: Parameters<typeof handle>[0]) =>
      inCellForOne(cell, async () => keepCell(await handle(input)))
    if (path.startsWith(OF_MERCHANT))
      return {
        ...route,
        handle: (input) =>
          inCellOf(cells, input.params.uuid ?? '', async () => keepCell(await handle(input)), {
            isRead: route.method === 'GET',
          }),
      }
    if (path.startsWith(OF_CASE))
      return {
        ...route,
        handle: async (input) => inCell(await findCaseCell({ cells, db }, input.params.uuid ?? ''), input),
      }
    return route
  })
}

/** The pages of payers: an access code or a slug names the cell in which it was made. */
export function routePages({ cells, db }: Needs, routes: PageRoute[]): PageRoute[] {
  if (!areSeveral(cells)) return routes
  return routes.map((route) => ({
    ...route,
    handle: async (request) => {
      const { accessCode, slug } = request.params
      const work = async () => route.handle(request)
      if (accessCode !== undefined)
        return inCellOfValue(
          cells,
          cellOfAccessCode(accessCode),
          () => findMerchantByAccessHash(db, hashAccessCode(accessCode)),
          work,
        )
      if (slug !== undefined)
        return inCellOfValue(cells, cellOfSlug(slug), () => findLinkMerchant(db, slug), work)
      return route.handle(request)
    },
  }))
}

/** The pages of one merchant. */
export function routePagesOf(
  { cells }: Pick<Needs, 'cells'>,
  merchantId: string | undefined,
  routes: PageRoute[],
): PageRoute[] {
  if (!areSeveral(cells) || merchantId === undefined) return routes
  return routes.map((route) => ({
    ...route,
    handle: (request) => inCellOf(cells, merchantId, async () => route.handle(request)),
  }))
}
