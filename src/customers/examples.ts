// Examples for the OpenAPI document.

export const CUSTOMER_EXAMPLE = {
  uuid: '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f',
  firstname: 'Amina',
  lastname: 'Odhiambo',
  email: 'amina@example.com',
  country: 'KE',
  phone: null,
  metadata: {},
  status: 'active',
  statusReason: null,
  totals: { successfulPayments: 3, lastPaymentAt: '2026-03-14T09:26:53.589Z' },
  createdAt: '2026-01-05T08:00:00.000Z',
  updatedAt: '2026-03-14T09:26:53.589Z',
}

export const CUSTOMER_BODY_EXAMPLE = {
  email: 'amina@example.com',
  firstname: 'Amina',
  lastname: 'Odhiambo',
  country: 'KE',
  phone: '+254712345678',
  metadata: { tier: 'gold' },
}

export const METHOD_EXAMPLE = {
  uuid: '0197a3c2-8f10-7a44-b1f2-7f4c54f0a9d1',
  type: 'card',
  status: 'active',
  label: 'Visa •••• 4242',
  recurringToken: 'rtk_4fV9aQ2kLm8ZxT1uYwB7cN3dR6sE0gHjPqKvXiOoUyA',
  isDefault: true,
  paymentGateway: 'sandbox',
  currencies: ['KES', 'USD'],
  card: { brand: 'Visa', last4: '4242', expiryMonth: 12, expiryYear: 2031, country: 'US' },
  mobileMoney: null,
  bankAccount: null,
  isRecurringIntent: true,
  consent: {
    agreedAt: '2026-01-05T08:00:00.000Z',
    source: 'checkout',
    form: 'notice',
    wordingVersion: '1',
    language: 'sw',
  },
  expiresAt: '2032-01-01T00:00:00.000Z',
  lastUsedAt: '2026-03-14T09:26:53.589Z',
  createdAt: '2026-01-05T08:00:00.000Z',
}
