// The examples in the OpenAPI document. A test validates them against the schemas.

import { kindFacts } from '../cases/case-kinds.ts'

export const CASE_EXAMPLE = {
  uuid: '0197a3c4-1c2d-7b6a-9e0f-4d5c6b7a8f90',
  kind: 'underpaid',
  meaning: kindFacts('underpaid').meaning,
  owner: 'merchant',
  state: 'open',
  paymentUuid: '0197a3c2-9a01-7d10-8a52-0d2f6d3e9b11',
  paymentReference: 'order-1042',
  paymentStatus: 'processing',
  attemptUuid: '0197a3c2-a3b4-7c55-9d01-3a1f0c5b7e22',
  refundUuid: null,
  amount: '1250.50',
  currency: 'KES',
  amountReceived: '1125.45',
  receivedCurrency: 'KES',
  refundAmount: null,
  paymentGateway: 'sandbox',
  gatewayReference: '0197a3c2-b1c2-7d3e-8f40-5a6b7c8d9e0f',
  gatewayKey: '6f1d2c3b-4a59-4e68-9d7c-0b1a2c3d4e5f',
  providerMessage: null,
  askedAt: '2026-03-14T09:27:10.004Z',
  checks: 0,
  resolutions: ['accept', 'return'],
  resolution: null,
  note: null,
  proof: null,
  resolvedBy: null,
  proposal: null,
  openedAt: '2026-03-14T09:27:31.020Z',
  resolvedAt: null,
}

export const RESOLVE_BODY_EXAMPLE = { resolution: 'accept', note: 'The customer pays the rest in the shop.' }

export const OPERATOR_CASE_EXAMPLE = {
  ...CASE_EXAMPLE,
  merchantUuid: '0197a3c1-5e20-7b14-a3d9-6c0f1e2b8d47',
  merchantName: 'Duka la Mama',
  isOwnProposal: false,
  customer: {
    uuid: '0197a3c2-3b1f-7e44-9c1d-2f6a8b0c4d1e',
    firstname: 'Jane',
    lastname: 'Otieno',
    email: 'jane@example.com',
    phone: null,
  },
}
