// Examples for the OpenAPI document.

import { EVENT_EXAMPLE } from '../events/examples.ts'
import { ENDPOINT_EXAMPLE } from '../webhook-endpoints/examples.ts'

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
          'webhook-id': EVENT_EXAMPLE.id,
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

export const RANGE_EXAMPLE = { from: '2026-03-14T08:00:00.000Z', to: '2026-03-14T10:00:00.000Z' }
