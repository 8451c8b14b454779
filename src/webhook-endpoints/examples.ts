// Examples for the OpenAPI document.

import { EVENT_EXAMPLE } from '../events/examples.ts'

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

export const TEST_EVENT_EXAMPLE = {
  ...EVENT_EXAMPLE,
  type: 'webhook.test',
  resource: { type: 'webhook_endpoint', uuid: ENDPOINT_EXAMPLE.uuid, version: 1 },
  data: ENDPOINT_EXAMPLE,
}
