// Example records for the OpenAPI document.

export const REFUND_BODY_EXAMPLE = {
  paymentReference: 'order-1042',
  refundReference: 'order-1042-mug',
  amount: 250.5,
  reason: 'One of two mugs was broken',
}

export const REFUND_EXAMPLE = {
  uuid: '0197a3d0-41c2-7b1e-9a55-0c7d2e8f3b11',
  status: 'successful',
  statusReason: null,
  refundReference: 'order-1042-mug',
  paymentUuid: '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f',
  paymentReference: 'order-1042',
  amount: '250.50',
  currency: 'KES',
  reason: 'One of two mugs was broken',
  metadata: {},
  paymentGateway: 'sandbox',
  source: 'api',
  gatewayReference: '0197a3d0-4a07-7c3d-b1f6-8e2a5d90c741',
  gatewayKey: '9b1e4c7a-2d3f-4b5a-9c8d-6e7f80a1b2c3',
  isDuplicate: false,
  failure: null,
  createdAt: '2026-03-15T11:02:07.411Z',
  updatedAt: '2026-03-15T11:02:07.603Z',
}
