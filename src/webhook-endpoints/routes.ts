import { singlePage } from '../core/page.ts'
import { EventRecord } from '../events/schema.ts'
import type { IdempotentResult } from '../kit/db/idempotency.ts'
import { created, listed, ok, type Route, type RouteResponse, route } from '../kit/http/route.ts'
import { UuidParams } from '../kit/http/schema.ts'
import type { WebhookEndpointsApp } from './app.ts'
import {
  changeEndpoint,
  createEndpoint,
  deleteEndpoint,
  ENDPOINTS_PATH,
  listEndpoints,
  MAX_ENDPOINTS,
  requireEndpoint,
  rotateSecret,
  testEndpoint,
  type WithSecret,
} from './endpoints.ts'
import { CREATE_EXAMPLE, ENDPOINT_EXAMPLE, SECRET_EXAMPLE } from './examples.ts'
import {
  ChangeEndpointBody,
  CreateEndpointBody,
  EndpointRecord,
  EndpointWithSecret,
  RotateSecretBody,
  toEndpoint,
} from './schema.ts'

const COMMON = { tag: 'Webhooks', scope: 'webhooks:write' } as const
const ONE = `${ENDPOINTS_PATH}/{uuid}`

export function webhookEndpointRoutes(app: WebhookEndpointsApp): Route[] {
  return [...endpointRoutes(app), ...secretRoutes(app)]
}

const endpointRoutes = (app: WebhookEndpointsApp): Route[] => [
  route({
    ...COMMON,
    method: 'POST',
    path: ENDPOINTS_PATH,
    operationId: 'webhookEndpoints.create',
    summary: 'Create a webhook endpoint',
    description: `Every matching event is sent there from now on, signed according to Standard Webhooks. The secret is shown once; a repeat with the same Idempotency-Key shows it again, because the first response may be lost. At most ${MAX_ENDPOINTS} endpoints.`,
    body: CreateEndpointBody,
    response: { http: 201, data: EndpointWithSecret },
    errors: [
      'validation_failed',
      'webhook_url_not_allowed',
      'too_many_webhook_endpoints',
      'card_data_not_allowed',
      'idempotency_key_reused',
      'invalid_state',
    ],
    examples: { body: CREATE_EXAMPLE, data: SECRET_EXAMPLE },
    handle: async ({ merchant, body, idempotencyKey }) =>
      secretResponse('Webhook endpoint added.', await createEndpoint(app, merchant, body, idempotencyKey)),
  }),
  route({
    ...COMMON,
    scope: 'webhooks:read',
    method: 'GET',
    path: ENDPOINTS_PATH,
    operationId: 'webhookEndpoints.list',
    summary: 'List webhook endpoints',
    description: 'All of them, newest first. Secrets are not shown again.',
    response: { http: 200, data: EndpointRecord, list: true },
    errors: [],
    examples: { data: [ENDPOINT_EXAMPLE] },
    handle: async ({ merchant }) => {
      const endpoints = await listEndpoints(app, merchant)
      return listed('Webhook endpoints retrieved.', endpoints.map(toEndpoint), singlePage(endpoints.length))
    },
  }),
  route({
    ...COMMON,
    scope: 'webhooks:read',
    method: 'GET',
    path: ONE,
    operationId: 'webhookEndpoints.get',
    summary: 'Get a webhook endpoint',
    description: 'With whether it is enabled, and since when it fails. Its secret is not shown again.',
    params: UuidParams,
    response: { http: 200, data: EndpointRecord },
    errors: ['invalid_uuid', 'webhook_endpoint_not_found'],
    examples: { data: ENDPOINT_EXAMPLE },
    handle: async ({ merchant, params }) =>
      ok('Webhook endpoint retrieved.', toEndpoint(await requireEndpoint(app, merchant, params.uuid))),
  }),
  route({
    ...COMMON,
    method: 'PATCH',
    path: ONE,
    operationId: 'webhookEndpoints.update',
    summary: 'Update, enable or disable a webhook endpoint',
    description:
      'Absent fields stay unchanged. Pending deliveries of an endpoint that is disabled are dead-lettered; enable it and replay them.',
    params: UuidParams,
    body: ChangeEndpointBody,
    response: { http: 200, data: EndpointRecord },
    errors: [
      'validation_failed',
      'invalid_uuid',
      'webhook_endpoint_not_found',
      'webhook_url_not_allowed',
      'card_data_not_allowed',
    ],
    examples: { body: { enabled: false } },
    handle: async ({ merchant, params, body, expected }) => {
      const changed = await changeEndpoint(app, merchant, params.uuid, body, expected)
      return ok('Webhook endpoint changed.', toEndpoint(changed))
    },
  }),
  route({
    ...COMMON,
    method: 'DELETE',
    path: ONE,
    operationId: 'webhookEndpoints.delete',
    summary: 'Delete a webhook endpoint',
    description:
      'It is no longer called, its secret is deleted, and its pending deliveries are dead-lettered. Its deliveries can still be read with their events.',
    params: UuidParams,
    response: { http: 200, data: EndpointRecord },
    errors: ['invalid_uuid', 'webhook_endpoint_not_found'],
    handle: async ({ merchant, params }) =>
      ok('Webhook endpoint deleted.', toEndpoint(await deleteEndpoint(app, merchant, params.uuid))),
  }),
]

const secretRoutes = (app: WebhookEndpointsApp): Route[] => [
  route({
    ...COMMON,
    method: 'POST',
    path: `${ONE}/rotate-secret`,
    operationId: 'webhookEndpoints.rotateSecret',
    summary: 'Replace the secret of a webhook endpoint',
    description:
      'The new secret is shown once; a repeat with the same Idempotency-Key shows it again, because the first response may be lost. During the overlap every delivery has two signatures, so you can switch at any time within it. Until the overlap ends the secret cannot be replaced again, except with overlapHours 0, which invalidates all previous secrets at once.',
    params: UuidParams,
    body: RotateSecretBody,
    response: { http: 201, data: EndpointWithSecret },
    errors: [
      'validation_failed',
      'invalid_uuid',
      'webhook_endpoint_not_found',
      'invalid_state',
      'idempotency_key_reused',
    ],
    examples: { body: { overlapHours: 24 } },
    handle: async ({ merchant, params, body, idempotencyKey }) =>
      secretResponse(
        'Webhook secret replaced.',
        await rotateSecret(app, merchant, params.uuid, body, idempotencyKey),
      ),
  }),
  route({
    ...COMMON,
    method: 'POST',
    path: `${ONE}/test`,
    operationId: 'webhookEndpoints.test',
    summary: 'Send a test event to a webhook endpoint',
    description:
      'Writes a webhook.test event, which is delivered like every other, to this endpoint alone; its deliveries show the result.',
    params: UuidParams,
    response: { http: 201, data: EventRecord },
    errors: ['invalid_uuid', 'webhook_endpoint_not_found', 'invalid_state', 'idempotency_key_reused'],
    handle: async ({ merchant, params, idempotencyKey }) => {
      const { record, replayed } = await testEndpoint(app, merchant, params.uuid, idempotencyKey)
      return created('Test event written.', record.body, replayed)
    },
  }),
]

function secretResponse(message: string, { record, replayed }: IdempotentResult<WithSecret>): RouteResponse {
  const data = { ...toEndpoint(record.endpoint), secret: record.secret }
  return created(message, data, replayed)
}
