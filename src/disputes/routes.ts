import type { Signer } from '../kit/crypto.ts'
import type { Db } from '../kit/db/db.ts'
import { type ListQuery, paginate } from '../kit/db/pagination.ts'
import { listed, type Route, route } from '../kit/http/route.ts'
import { findReferences } from '../payments/find.ts'
import { listDisputeRows, NO_DEADLINE } from './list-queries.ts'
import { DISPUTE_EXAMPLE, DisputeRecord, DisputesQuery, toDispute } from './schema.ts'

interface Needs {
  db: Db
  cursors: Signer
}

export function disputeRoutes(app: Needs): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/v1/disputes',
      tag: 'Charges',
      scope: 'checkout:read',
      alsoScope: 'charges:read',
      operationId: 'disputes.list',
      summary: 'List disputes',
      description:
        'Chargebacks of payments and charges, the nearest deadline first, and those without a deadline last. Respond at the provider: the service only reads disputes.',
      query: DisputesQuery,
      response: { http: 200, data: DisputeRecord, list: true },
      errors: ['validation_failed', 'invalid_uuid'],
      examples: { data: [DISPUTE_EXAMPLE] },
      handle: async ({ merchant, query }) => {
        const { rows, meta } = await listByDeadline(app, merchant.id, query)
        const references = await findReferences(app.db, merchant.id, [
          ...new Set(rows.map(({ paymentId }) => paymentId)),
        ])
        const records = rows.map((row) => toDispute(row, references.get(row.paymentId) ?? ''))
        return listed('Disputes retrieved.', records, meta)
      },
    }),
  ]
}

function listByDeadline(
  app: Needs,
  merchantId: string,
  query: ListQuery & { status?: string; payment?: string },
) {
  const filter = { status: query.status ?? null, paymentId: query.payment ?? null }
  const scope = `disputes:${merchantId}:${JSON.stringify(filter)}`
  return paginate(app.cursors, scope, { ...query, sort: 'createdAt:asc' }, async (window) => {
    const { rows, counted } = await listDisputeRows(app.db, merchantId, filter, window)
    return { rows: rows.map((row) => ({ ...row, createdAt: row.respondBy ?? NO_DEADLINE })), counted }
  })
}
