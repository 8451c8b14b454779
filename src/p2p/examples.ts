// Examples for the OpenAPI document.

import { WALLET } from '../p2p-accounts/examples.ts'
import { PAYMENT_EXAMPLE } from '../payments/examples.ts'

export const P2P_BODY_EXAMPLE = {
  amount: 5000,
  reference: 'order-1043',
  customer: { email: 'deng@example.com', firstname: 'Deng', lastname: 'Garang' },
  description: 'Two school books',
  metadata: { orderId: 'A-1043' },
  currency: 'SSP',
  country: 'SS',
  channel: 'mobile_money',
  expiresInMinutes: 1440,
}

const ATTEMPT = {
  ...PAYMENT_EXAMPLE.attempts[0],
  uuid: '0197a3c4-2b71-7e10-8f21-9d4c6b3a5e07',
  paymentGateway: 'p2p',
  channel: 'direct_mobile_money',
  failureCode: null,
  startedAt: '2026-03-14T09:26:53.595Z',
  status: 'awaiting_customer',
  endedAt: null,
}

export const P2P_EXAMPLE = {
  ...PAYMENT_EXAMPLE,
  uuid: '0197a3c4-2b6d-7d02-9c1a-77e0d5b1a9c4',
  reference: 'order-1043',
  sourceAmount: '5000.00',
  sourceCurrency: 'SSP',
  country: 'SS',
  paymentGateway: 'p2p',
  isRecurring: false,
  description: 'Two school books',
  metadata: { orderId: 'A-1043' },
  redirectUrl: null,
  customer: {
    uuid: '0197a3c4-2b6d-7c31-8a55-3b0e9f6a2d18',
    firstname: 'Deng',
    lastname: 'Garang',
    email: 'deng@example.com',
  },
  paymentMethod: null,
  expiresAt: '2026-03-15T09:26:53.589Z',
  instructions: { ...WALLET, network: 'm-Gurush', narration: 'K7F3CQX4' },
  amountExpected: '5000.00',
  amountExcess: '0.00',
  rejectionReason: null,
  status: 'processing',
  statusReason: 'awaiting_customer',
  amountPaid: null,
  fee: null,
  netAmount: null,
  paidAt: null,
  receiptCode: null,
  attempts: [ATTEMPT],
  transferStatus: 'awaiting_payment',
  amountReceived: null,
  amountMissing: '5000.00',
}

export const REJECT_BODY_EXAMPLE = { reason: 'Nothing arrived with this narration.' }
