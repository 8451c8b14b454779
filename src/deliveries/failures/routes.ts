// Why webhooks failed, for the developers of the merchant: failed deliveries, the health of an endpoint, and the
// outcome of a replay. In the dashboard
// alone; the API has the deliveries of each event.

import { Type } from 'typebox'
import { requireFound } from '../../core/errors.ts'
import { uuidV7 } from '../../core/ids.ts'
import type { Merchant } from '../../core/merchant.ts'
import { addMs, type Clock } from '../../kit/clock.ts'
import type { Signer } from '../../kit/crypto.ts'
import type { Db } from '../../kit/db/db.ts'
import { type ListQuery, paginate } from '../../kit/db/pagination.ts'
import { listed, ok, type PersonRoute, personRoute } from '../../kit/http/route.ts'
import { Enum, PAGE_QUERY, UuidInput, UuidParams } from '../../kit/http/schema.ts'
import { requireEndpoint } from '../../webhook-endpoints/endpoints.ts'
import { DEAD_REASONS } from '../states.ts'
import type { EndpointHealth, FailedDelivery, LastAttempt, ReplayOutcome } from './failure.ts'
import { findHealth, type HealthRow, LATEST_DELIVERIES } from './health-queries.ts'
import {
  FAILED_STATUSES,
  type FailedFilter,
  type FailedRow,
  type FailureDetails,
  listFailedRows,
  readFailureDetails,
} from './queries.ts'
import { COUNTED_EVENTS, findReplayOutcome, type ReplayOutcomeRow } from './replay-outcome-queries.ts'

const HEALTH_PERIOD_MS = 24 * 3_600_000

const FailedQuery = Type.Object({
  page: PAGE_QUERY.page,
  limit: PAGE_QUERY.limit,
  cursor: PAGE_QUERY.cursor,
  endpoint: Type.Optional(UuidInput),
  status: Type.Optional(Enum(FAILED_STATUSES)),
})

export function deliveryFailureRoutes(app: { db: Db; clock: Clock; cursors: Signer }): PersonRoute[] {
  return [
    personRoute({
      method: 'GET',
      path: '/app/developers/deliveries',
      scope: 'webhooks:read',
      operationId: 'deliveries.listFailed',
      query: FailedQuery,
      handle: async ({ merchant, query: { endpoint = null, status = null, ...list } }) => {
        const { rows, meta } = await listFailed(app, merchant, { endpoint, status }, list)
        const details = await readFailureDetails(app.db, merchant.id, rows)
        return listed(
          'Failed deliveries.',
          rows.flatMap((row) => toFailed(row, details)),
          meta,
        )
      },
    }),
    personRoute({
      method: 'GET',
      path: '/app/developers/endpoints/{uuid}/health',
      scope: 'webhooks:read',
      operationId: 'webhookEndpoints.health',
      params: UuidParams,
      handle: async ({ merchant, params: { uuid } }) => {
        await requireEndpoint(app, merchant, uuid)
        const firstId = uuidV7(addMs(app.clock.now(), -HEALTH_PERIOD_MS), new Uint8Array(10))
        return ok('Health.', toHealth(await findHealth(app.db, merchant.id, uuid, firstId)))
      },
    }),
    personRoute({
      method: 'GET',
      path: '/app/developers/replays/{uuid}',
      scope: 'webhooks:read',
      operationId: 'events.replayOutcome',
      params: UuidParams,
      handle: async ({ merchant, params: { uuid } }) =>
        ok('Outcome.', toOutcome(await findReplayOutcome(app.db, merchant.id, uuid))),
    }),
  ]
}

function listFailed(
  { db, cursors }: { db: Db; cursors: Signer },
  merchant: Merchant,
  filter: FailedFilter,
  query: ListQuery,
) {
  const scope = `failed-deliveries:${merchant.id}:${JSON.stringify(filter)}`
  return paginate(cursors, scope, query, (window) => listFailedRows(db, merchant.id, filter, window))
}

/** Nothing for a delivery whose event or endpoint was purged since the list was read. */
function toFailed(row: FailedRow, all: readonly FailureDetails[]): FailedDelivery | [] {
  const details = all.find((one) => one.eventId === row.eventId && one.endpointId === row.endpointId)
  if (!details) return []
  return {
    event: row.eventId,
    type: details.type,
    endpoint: row.endpointId,
    url: details.url,
    status: row.status,
    message: row.reason && DEAD_REASONS[row.reason],
    attempts: row.attemptCount,
    lastAttempt: toLastAttempt(details),
    nextAttemptAt: row.nextAttemptAt?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
  }
}

function toHealth(row: HealthRow | undefined): EndpointHealth {
  if (!row) throw new Error('the counts of deliveries are one row')
  const { delivered, failing, dead, read } = row
  return { delivered, failing, dead, isCapped: read === LATEST_DELIVERIES, lastAttempt: toLastAttempt(row) }
}

function toOutcome(row: ReplayOutcomeRow | undefined): ReplayOutcome {
  const { from, to, read, ...counts } = requireFound(row, 'replay_not_found')
  return {
    ...{ from: from.toISOString(), to: to.toISOString() },
    ...{ ...counts, isCapped: read === COUNTED_EVENTS },
  }
}

function toLastAttempt({
  lastAttemptAt,
  httpStatus,
  error,
  durationMs,
}: Pick<FailureDetails, 'lastAttemptAt' | 'httpStatus' | 'error' | 'durationMs'>): LastAttempt | null {
  return (
    lastAttemptAt && { at: lastAttemptAt.toISOString(), http: httpStatus, error, durationMs: durationMs ?? 0 }
  )
}
