// The examples in the OpenAPI document. A test validates them against the schemas.

import { METHOD_EXAMPLE } from '../customers/examples.ts'

const CUSTOMER = { email: 'amina@example.com', firstname: 'Amina', lastname: 'Odhiambo' }
const CUSTOMER_UUID = '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f'
const METADATA = { orderId: 'A-1042' }

export const INITIATE_BODY_EXAMPLE = {
  amount: 1250.5,
  reference: 'order-1042',
  customer: { ...CUSTOMER, country: 'KE', phone: '0712 345 678' },
  description: 'Two bags of coffee',
  metadata: METADATA,
  currency: 'KES',
  country: 'KE',
  redirectUrl: 'https://shop.example/thanks',
  isRecurring: true,
  offerSavedMethods: true,
}

export const INITIATED_EXAMPLE = {
  uuid: '0197a3c2-9a01-7d10-8a52-0d2f6d3e9b11',
  reference: 'order-1042',
  status: 'pending',
  sourceAmount: '1250.50',
  sourceCurrency: 'KES',
  country: 'KE',
  paymentGateway: 'sandbox',
  checkoutUrl: 'https://pay.example/pay/0Zk4c2WQ9sT1mXb7LrYv5Ua8HeJd3NfGpKoCxIiMwEq',
  accessCode: '0Zk4c2WQ9sT1mXb7LrYv5Ua8HeJd3NfGpKoCxIiMwEq',
  isRecurring: true,
  offerSavedMethods: true,
  description: 'Two bags of coffee',
  metadata: METADATA,
  redirectUrl: 'https://shop.example/thanks',
  customer: { uuid: CUSTOMER_UUID, ...CUSTOMER, phone: '+254712345678' },
  expiresAt: '2026-03-14T10:26:53.589Z',
  createdAt: '2026-03-14T09:26:53.589Z',
}

const REFERENCES = {
  gatewayReference: '0197a3c2-a9f0-7b6c-8e14-52d7c0b3f6a8',
  receiptNumber: 'SGL31KQ0ZP',
  gatewayKey: '5f0c1b2d-3e4f-4a5b-8c6d-7e8f90a1b2c3',
}

const RESULT = {
  statusReason: null,
  amountPaid: '1250.50',
  amountReceived: '1250.50',
  fee: '28.76',
  netAmount: '1221.74',
  paidAt: '2026-03-14T09:27:31.020Z',
  receiptCode: '2WNM-9JV6-5HV2',
  ...REFERENCES,
  failure: null,
}

export const PAYMENT_EXAMPLE = {
  ...INITIATED_EXAMPLE,
  status: 'successful',
  channel: 'card',
  ...RESULT,
  attempts: [
    {
      uuid: '0197a3c2-a3b4-7c55-9d01-3a1f0c5b7e22',
      paymentGateway: 'sandbox',
      channel: 'card',
      status: 'succeeded',
      failureCode: null,
      ...REFERENCES,
      startedAt: '2026-03-14T09:27:10.004Z',
      endedAt: '2026-03-14T09:27:31.020Z',
      refundedAmount: '0.00',
    },
  ],
  refundedAmount: '0.00',
  paymentMethod: METHOD_EXAMPLE,
  paymentLink: null,
}

export const CHARGE_BODY_EXAMPLE = {
  reference: 'subscription-7-march',
  customer: CUSTOMER,
  metadata: METADATA,
  currency: 'KES',
  amount: 1250.5,
  recurringToken: METHOD_EXAMPLE.recurringToken,
  description: 'Coffee subscription, March',
}

export const CHARGE_EXAMPLE = {
  uuid: '0197a3c3-0b7e-7f3a-8c1d-5e9a7b2c4d60',
  reference: 'subscription-7-march',
  status: 'successful',
  sourceAmount: '1250.50',
  sourceCurrency: 'KES',
  paymentGateway: 'sandbox',
  channel: 'saved',
  customer: { uuid: CUSTOMER_UUID, ...CUSTOMER },
  createdAt: '2026-03-14T09:30:00.000Z',
  ...RESULT,
  refundedAmount: '0.00',
  description: 'Coffee subscription, March',
  metadata: METADATA,
  paymentMethod: { uuid: METHOD_EXAMPLE.uuid, type: 'card', label: METHOD_EXAMPLE.label },
  recovery: null,
}
