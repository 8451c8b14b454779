// The approval rate and the collections a week ago, for the dashboard alone.

import { Type } from 'typebox'
import { uuidV7 } from '../core/ids.ts'
import { singlePage } from '../core/page.ts'
import { addMs, type Clock } from '../kit/clock.ts'
import type { Db } from '../kit/db/db.ts'
import { listed, ok, type PersonRoute, personRoute } from '../kit/http/route.ts'
import { selectApprovals } from './approval-queries.ts'
import { reportWeekAgo } from './collections.ts'

const PERIOD_MS = 7 * 24 * 3_600_000
const LATEST_ATTEMPTS = 1_000

export function reportPersonRoutes(app: { db: Db; clock: Clock }): PersonRoute[] {
  return [
    // What the gateways decided on the latest attempts. An attempt that the payer left or that is still open counts as neither
    // approved nor declined.
    personRoute({
      method: 'GET',
      path: '/app/approval-rates',
      scope: 'reports:read',
      operationId: 'reports.approvalRates',
      handle: async ({ merchant }) => {
        const earliest = uuidV7(addMs(app.clock.now(), -PERIOD_MS), new Uint8Array(10))
        const rows = await app.db.query(selectApprovals, [merchant.id, earliest, LATEST_ATTEMPTS])
        return listed('Approvals.', rows, singlePage(rows.length))
      },
    }),
    personRoute({
      method: 'GET',
      path: '/app/collections-week-ago',
      scope: 'reports:read',
      operationId: 'reports.weekAgo',
      query: Type.Object({ timeZone: Type.String() }),
      handle: async ({ merchant, query }) =>
        ok('Collections a week ago.', await reportWeekAgo(app, merchant, query.timeZone)),
    }),
  ]
}
