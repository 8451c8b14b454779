// Examples for the OpenAPI document.

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
