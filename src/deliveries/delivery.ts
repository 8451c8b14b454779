// The rows of deliveries (claimed by the worker, listed for the merchant, the result of an attempt) and of replays.

import { unpackEvent } from '../events/packed.ts'
import type { Backlog } from '../kit/observability/backlog.ts'
import type { DeadReason } from './states.ts'

/** A delivery that this process holds until its lease ends, with everything that the request needs. */
export interface ClaimedDelivery {
  merchantId: string
  eventId: string
  endpointId: string
  fence: number
  /** Failed attempts so far. */
  attemptCount: number
  resourceId: string
  url: string
  secretSealed: string
  previousSecretSealed: string | null
  previousSecretUntil: Date | null
  failingSince: Date | null
  /** The stored event as text: the same bytes at every attempt and replay. */
  body: string
}

/** With the event as it is stored. */
export interface ClaimedRow extends Omit<ClaimedDelivery, 'body'> {
  eventType: string
  resourceType: string
  version: number
  eventCreatedAt: Date
  body: string | null
  packed: Buffer | null
}

export const CLAIM_COLUMNS = `
  d.merchant_id as "merchantId", d.event_id as "eventId", d.endpoint_id as "endpointId", d.fence, d.attempt_count as "attemptCount",
  d.resource_id as "resourceId", e.url, e.secret_sealed as "secretSealed", e.previous_secret_sealed as "previousSecretSealed",
  e.previous_secret_until as "previousSecretUntil", e.failing_since as "failingSince", v.body::text as body, v.packed,
  v.type as "eventType", v.resource_type as "resourceType", v.version, v.created_at as "eventCreatedAt"`

export function toClaimedDelivery({ body, packed, ...row }: ClaimedRow): ClaimedDelivery {
  const { eventId: id, eventType: type, eventCreatedAt: createdAt } = row
  return { ...row, body: packed ? unpackEvent({ ...row, id, type, createdAt, packed }) : (body ?? '') }
}

export interface DeliveryAttemptRow {
  startedAt: Date
  url: string
  signature: string
  httpStatus: number | null
  error: string | null
  responseBody: string | null
  durationMs: number
}

export interface DeliveryRow {
  endpointId: string
  url: string
  status: 'pending' | 'delivered' | 'dead'
  reason: DeadReason | null
  /** Null also while an attempt is in progress. */
  nextAttemptAt: Date | null
  finishedAt: Date | null
  /** The latest attempts, oldest first. */
  attempts: DeliveryAttemptRow[]
}

/** The result of an attempt, under the column names. */
export interface DeliveryResult {
  merchant_id: string
  event_id: string
  endpoint_id: string
  fence: number
  status: 'delivered' | 'pending' | 'dead'
  reason: string | null
  due_at: Date | null
  started_at: Date
  ended_at: Date
  /** Whether this process also claims the next version of the resource; otherwise that version becomes due. */
  claims_next: boolean
  url: string
  signature: string
  http_status: number | null
  error: string | null
  response_body: string | null
  duration_ms: number
}

export interface ReplayRow {
  id: string
  status: 'queued' | 'done'
  events: number
  deliveries: number
  createdAt: Date
  finishedAt: Date | null
}

export interface ReplayRange {
  from: Date
  to: Date
  types: readonly string[] | null
  endpointId: string | null
  /** Skips events that the endpoint has received. */
  onlyUndelivered: boolean
}

export const REPLAY_COLUMNS = `
  id, status, events, deliveries, created_at as "createdAt", finished_at as "finishedAt"`

export interface DeliveryBacklog extends Backlog {
  /** Includes deliveries whose next attempt is not due yet. */
  pending: number
  oldestPendingAt: Date | null
  /** Enabled endpoints without a successful delivery since a failed one. */
  failingEndpoints: number
}
