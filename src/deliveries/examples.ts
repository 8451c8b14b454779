// What the document shows beside the shapes.

const EVENT = '0197a3c3-1b02-7e0a-8c1d-5a8f3e0b6c41'

export const ENDPOINT_EXAMPLE = {
  uuid: '0197a3c2-9b3e-7d10-a5c4-2f6f0b1d7e85',
  url: 'https://shop.example.com/hooks/cowry',
  description: 'Orders',
  events: ['payment.successful', 'payment.refunded'],
  status: 'enabled',
  disabled: null,
  failingSince: null,
  previousSecretUntil: null,
  createdAt: '2026-01-05T08:00:00.000Z',
  updatedAt: '2026-01-05T08:00:00.000Z',
}

export const CREATE_EXAMPLE = {
  url: ENDPOINT_EXAMPLE.url,
  description: ENDPOINT_EXAMPLE.description,
  events: ENDPOINT_EXAMPLE.events,
}

export const SECRET_EXAMPLE = {
  ...ENDPOINT_EXAMPLE,
  secret: 'whsec_plJ3nmyCDGBKInavdOK15jsl2cHlfTeyqWSTWQBxK0A=',
}

export const ROTATED_EXAMPLE = { ...SECRET_EXAMPLE, previousSecretUntil: '2026-03-15T09:26:53.589Z' }

export const DISABLED_EXAMPLE = {
  ...ENDPOINT_EXAMPLE,
  status: 'disabled',
  disabled: {
    reason: 'disabled_by_merchant',
    message: 'You disabled the endpoint.',
    at: '2026-03-14T09:26:53.589Z',
  },
}

export const DELETED_EXAMPLE = {
  ...ENDPOINT_EXAMPLE,
  status: 'deleted',
  disabled: {
    ...DISABLED_EXAMPLE.disabled,
    reason: 'endpoint_deleted',
    message: 'You deleted the endpoint.',
  },
}

export const EVENT_EXAMPLE = {
  id: EVENT,
  type: 'payment.successful',
  apiVersion: '1.0',
  mode: 'test',
  createdAt: '2026-03-14T09:26:53.589Z',
  resource: { type: 'payment', uuid: '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f', version: 3 },
  data: {
    uuid: '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f',
    reference: 'order-1042',
    status: 'successful',
    amountPaid: '1250.50',
  },
}

export const TEST_EVENT_EXAMPLE = {
  ...EVENT_EXAMPLE,
  type: 'webhook.test',
  resource: { type: 'webhook_endpoint', uuid: ENDPOINT_EXAMPLE.uuid, version: 1 },
  data: ENDPOINT_EXAMPLE,
}

export const DELIVERY_EXAMPLE = {
  endpoint: ENDPOINT_EXAMPLE.uuid,
  url: ENDPOINT_EXAMPLE.url,
  status: 'pending',
  reason: null,
  message: null,
  nextAttemptAt: '2026-03-14T09:26:59.020Z',
  deliveredAt: null,
  attempts: [
    {
      at: '2026-03-14T09:26:53.701Z',
      request: {
        url: ENDPOINT_EXAMPLE.url,
        headers: {
          'content-type': 'application/json',
          'user-agent': 'Cowry-Webhooks/1.0',
          'webhook-id': EVENT,
          'webhook-timestamp': '1773480413',
          'webhook-signature': 'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
        },
      },
      http: 503,
      error: null,
      responseBody: 'Service Unavailable',
      durationMs: 118,
    },
  ],
}

export const REPLAY_EXAMPLE = {
  uuid: '0197a3c3-4d1a-7b22-9f60-8e1c2d3b4a59',
  status: 'done',
  events: 1,
  deliveries: 2,
  createdAt: '2026-03-14T10:00:00.000Z',
  finishedAt: '2026-03-14T10:00:00.000Z',
}

const QUEUED_EXAMPLE = { ...REPLAY_EXAMPLE, status: 'queued', events: 0, deliveries: 0, finishedAt: null }

export const RANGE_EXAMPLE = {
  body: { from: '2026-03-14T08:00:00.000Z', to: '2026-03-14T10:00:00.000Z' },
  data: QUEUED_EXAMPLE,
}

export const PROGRESS_EXAMPLE = { ...QUEUED_EXAMPLE, events: 412, deliveries: 412 }
