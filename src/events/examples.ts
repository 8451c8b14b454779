// Examples for the OpenAPI document.

/** Without its data: the OpenAPI document adds that of a payment. */
export const EVENT_EXAMPLE = {
  id: '0197a3c3-1b02-7e0a-8c1d-5a8f3e0b6c41',
  type: 'payment.successful',
  apiVersion: '1.0',
  mode: 'test',
  createdAt: '2026-03-14T09:26:53.589Z',
  resource: { type: 'payment', uuid: '0197a3c2-9a01-7d10-8a52-0d2f6d3e9b11', version: 3 },
}
