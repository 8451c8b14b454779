// Examples for the OpenAPI document.

export const EVENT_EXAMPLE = {
  id: '0197a3c3-1b02-7e0a-8c1d-5a8f3e0b6c41',
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
