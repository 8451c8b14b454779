// The merchant's operations on webhook endpoints: create, change, delete, rotate the secret, send a test event.

import { assertNoCardNumbers } from '../core/card-number.ts'
import { ApiError, requireFound } from '../core/errors.ts'
import type { Merchant } from '../core/merchant.ts'
import type { EventRow } from '../events/event.ts'
import { recordEvents, requireEvent } from '../events/service.ts'
import { addMs } from '../kit/clock.ts'
import type { Tx } from '../kit/db/db.ts'
import { createIdempotently, type IdempotentResult } from '../kit/db/idempotency.ts'
import type { WebhookEndpointsApp } from './app.ts'
import type { EndpointChanges, EndpointRow } from './endpoint.ts'
import {
  deleteEndpointRow,
  findEndpoint,
  incrementVersion,
  insertEndpoint,
  listEndpointRows,
  lockEndpoints,
  replaceSecret,
  updateEndpoint,
} from './queries.ts'
import { toEndpoint } from './schema.ts'
import { newSecret, openSecret, sealSecret } from './secret.ts'

// Every event is delivered to each endpoint. A merchant that needs more can forward events from one endpoint.
export const MAX_ENDPOINTS = 20

export const ENDPOINTS_PATH = '/api/v1/webhooks/endpoints'

export interface EndpointInput {
  url: string
  description?: string
  events?: string[]
}

export interface WithSecret {
  endpoint: EndpointRow
  secret: string
}

export async function listEndpoints(app: WebhookEndpointsApp, merchant: Merchant): Promise<EndpointRow[]> {
  return listEndpointRows(app.db, merchant.id)
}

export async function requireEndpoint(app: { db: Tx }, merchant: Merchant, id: string): Promise<EndpointRow> {
  return requireFound(await findEndpoint(app.db, merchant.id, id), 'webhook_endpoint_not_found')
}

/** A retry with the same idempotency key returns the secret again while it is current, because the response may be lost. */
export async function createEndpoint(
  app: WebhookEndpointsApp,
  merchant: Merchant,
  input: EndpointInput,
  key: string | undefined,
): Promise<IdempotentResult<WithSecret>> {
  requireValidInput(app, input)
  const claim = { merchantId: merchant.id, key, operation: `POST ${ENDPOINTS_PATH}`, input }
  return createIdempotently(app, claim, {
    make: (tx, id) => addEndpoint(app, tx, merchant.id, id, input),
    find: (id) => findWithSecret(app, merchant.id, id, id),
  })
}

async function addEndpoint(
  app: WebhookEndpointsApp,
  tx: Tx,
  merchantId: string,
  id: string,
  { url, description, events = ['*'] }: EndpointInput,
): Promise<WithSecret> {
  await lockEndpoints(tx, merchantId)
  const others = await listEndpointRows(tx, merchantId)
  if (others.length >= MAX_ENDPOINTS) throw new ApiError('too_many_webhook_endpoints')
  const secret = newSecret(app.random)
  const endpoint = await insertEndpoint(tx, {
    merchantId,
    id,
    url,
    description: description || null,
    events: normalise(events),
    secretSealed: sealSecret(app.vault, { merchantId, endpointId: id }, secret),
    createdAt: app.clock.now(),
  })
  return { endpoint, secret }
}

async function findWithSecret(
  app: WebhookEndpointsApp,
  merchantId: string,
  id: string,
  requestId: string,
): Promise<WithSecret | undefined> {
  const endpoint = await findEndpoint(app.db, merchantId, id)
  if (endpoint?.secretRequestId !== requestId) return undefined
  return { endpoint, secret: openSecret(app.vault, { merchantId, endpointId: id }, endpoint.secretSealed) }
}

function normalise(events: readonly string[]): string[] {
  return events.includes('*') ? ['*'] : [...new Set(events)]
}

export async function changeEndpoint(
  app: WebhookEndpointsApp,
  merchant: Merchant,
  id: string,
  input: Partial<EndpointInput> & { enabled?: boolean },
  expected?: EndpointChanges['expected'],
): Promise<EndpointRow> {
  const { url, description, events, enabled } = input
  await requireEndpoint(app, merchant, id)
  requireValidInput(app, input)
  const changed = await updateEndpoint(app.db, merchant.id, id, app.clock.now(), {
    url,
    // In a request null means absent, so an empty text removes the description.
    description: description === undefined ? undefined : description || null,
    events: events && normalise(events),
    status: enabled === undefined ? undefined : enabled ? 'enabled' : 'disabled',
    expected,
  })
  if (!changed && expected) {
    await requireEndpoint(app, merchant, id)
    throw new ApiError('invalid_state', { message: 'The endpoint has changed meanwhile.' })
  }
  return requireFound(changed, 'webhook_endpoint_not_found')
}

function requireValidInput(app: WebhookEndpointsApp, { url, description }: Partial<EndpointInput>): void {
  assertNoCardNumbers({ description })
  const problem = url === undefined ? undefined : app.publicHttp.validateUrl(url)
  if (problem === undefined) return
  const message = `url ${problem}.`
  const details = [toIssue('url', 'webhook_url_not_allowed', message)]
  throw new ApiError('webhook_url_not_allowed', { message, details })
}

const toIssue = (field: string, code: string, message = 'must not hold a card number.') => ({
  field,
  code,
  message,
})

/** Waiting deliveries are dead-lettered; finished deliveries stay readable. */
export async function deleteEndpoint(
  app: WebhookEndpointsApp,
  merchant: Merchant,
  id: string,
): Promise<EndpointRow> {
  return requireFound(
    await deleteEndpointRow(app.db, merchant.id, id, app.clock.now()),
    'webhook_endpoint_not_found',
  )
}

const HOUR_MS = 3_600_000
export const DEFAULT_OVERLAP_HOURS = 24

export async function rotateSecret(
  app: WebhookEndpointsApp,
  merchant: Merchant,
  id: string,
  input: { overlapHours?: number },
  key: string | undefined,
): Promise<IdempotentResult<WithSecret>> {
  const { overlapHours = DEFAULT_OVERLAP_HOURS } = input
  const operation = `POST ${ENDPOINTS_PATH}/{uuid}/rotate-secret`
  const claim = { merchantId: merchant.id, key, operation, input: { id, ...input } }
  return createIdempotently(app, claim, {
    async make(tx, requestId) {
      const secret = newSecret(app.random)
      const sealed = sealSecret(app.vault, { merchantId: merchant.id, endpointId: id }, secret)
      const at = app.clock.now()
      const previousSecretUntil = addMs(at, overlapHours * HOUR_MS)
      const endpoint = await replaceSecret(tx, merchant.id, id, {
        sealed,
        requestId,
        at,
        previousSecretUntil,
      })
      return { endpoint: endpoint ?? (await rejectRotation(tx, merchant, id)), secret }
    },
    find: (requestId) => findWithSecret(app, merchant.id, id, requestId),
  })
}

/** A second rotation would end the overlap of the previous secret early. */
async function rejectRotation(tx: Tx, merchant: Merchant, id: string): Promise<never> {
  const { previousSecretUntil } = await requireEndpoint({ db: tx }, merchant, id)
  const until = previousSecretUntil?.toISOString()
  const message = `The secret before this one signs until ${until}. Wait until then, or void it at once with overlapHours 0.`
  throw new ApiError('invalid_state', { message })
}

/** Writes a test event, which is delivered like every other event, but only to this endpoint. */
export async function testEndpoint(
  app: WebhookEndpointsApp,
  merchant: Merchant,
  id: string,
  key: string | undefined,
): Promise<IdempotentResult<EventRow>> {
  const operation = `POST ${ENDPOINTS_PATH}/{uuid}/test`
  const claim = { merchantId: merchant.id, key, operation, input: { id } }
  return createIdempotently(app, claim, {
    async make(tx, eventId) {
      const endpoint = await incrementVersion(tx, merchant.id, id)
      if (!endpoint) throw new ApiError('webhook_endpoint_not_found')
      requireEnabled(endpoint)
      const resource = { type: 'webhook_endpoint', uuid: id, version: endpoint.version } as const
      const eventInput = {
        merchantId: merchant.id,
        type: 'webhook.test',
        resource,
        data: toEndpoint(endpoint),
      } as const
      const [event] = await recordEvents(app, tx, app.mode, [{ ...eventInput, id: eventId }])
      if (!event) throw new Error('recordEvents returned no event')
      return event
    },
    find: (eventId) => requireEvent(app, merchant, eventId),
  })
}

export function requireEnabled({ status }: EndpointRow): void {
  if (status === 'enabled') return
  throw new ApiError('invalid_state', { message: 'This endpoint is disabled. Enable it first.' })
}
