// The request log for the developers of the merchant, in the dashboard alone.

import { Type } from 'typebox'
import { LONGEST_REQUEST_ID } from '../core/text/formats.ts'
import type { Signer } from '../kit/crypto.ts'
import type { Db } from '../kit/db/db.ts'
import { type ListQuery, paginate } from '../kit/db/pagination.ts'
import { listed, type PersonRoute, personRoute } from '../kit/http/route.ts'
import { PAGE_QUERY } from '../kit/http/schema.ts'
import { listRequestRows, type RequestFilter } from './queries.ts'
import type { RequestRecord, RequestRow } from './request.ts'

const exactly = (maxLength: number) => Type.Optional(Type.String({ minLength: 1, maxLength }))

const RequestsQuery = Type.Object({
  ...PAGE_QUERY,
  outcome: Type.Optional(Type.Literal('failed')),
  keyId: exactly(40),
  route: exactly(200),
  requestId: exactly(LONGEST_REQUEST_ID),
  reference: exactly(100),
})

export function requestLogRoutes(app: { db: Db; cursors: Signer }): PersonRoute[] {
  return [
    personRoute({
      method: 'GET',
      path: '/app/developers/requests',
      scope: 'keys:read',
      operationId: 'requests.list',
      query: RequestsQuery,
      handle: async ({ merchant, query }) => {
        const { outcome, keyId, route, requestId, reference, ...list } = query
        const filter: RequestFilter = {
          failed: outcome === 'failed',
          keyId: keyId ?? null,
          route: route ?? null,
          requestId: requestId ?? null,
          reference: reference ?? null,
        }
        const { rows, meta } = await listRequests(app, merchant.id, filter, list)
        return listed('Requests retrieved.', rows.map(toRequestRecord), meta)
      },
    }),
  ]
}

function listRequests(
  { db, cursors }: { db: Db; cursors: Signer },
  merchantId: string,
  filter: RequestFilter,
  query: ListQuery,
) {
  const scope = `requests:${merchantId}:${JSON.stringify(filter)}`
  return paginate(cursors, scope, query, (window) => listRequestRows(db, merchantId, filter, window))
}

function toRequestRecord({ merchantId: _merchant, createdAt, ...row }: RequestRow): RequestRecord {
  return { ...row, createdAt: createdAt.toISOString() }
}
