// Examples for the operators' OpenAPI document.

export const ACCOUNT_BODY_EXAMPLE = { credentials: { secretKey: 'sk_test_0123456789abcdef' } }

export const ACCOUNT_EXAMPLE = {
  uuid: '0197a3c1-8a3f-7d52-9b60-2e4c7f1a0d93',
  gateway: 'paystack',
  title: 'Paystack',
  status: 'active',
  credentials: [
    { name: 'secretKey', isSet: true, ending: 'cdef' },
    { name: 'collection', isSet: false, ending: null },
  ],
  limits: { countries: null, currencies: null, channels: null, amounts: null },
  webhookUrl: 'https://pay.example/hooks/paystack/0197a3c1-5e20-7b14-a3d9-6c0f1e2b8d47',
  createdAt: '2026-01-05T08:00:00.000Z',
  updatedAt: '2026-01-05T08:00:00.000Z',
  revokedAt: null,
}

export const SAVED_ACCOUNT_EXAMPLE = { ...ACCOUNT_EXAMPLE, probe: 'works', warnings: [] }

export const MERCHANT_GATEWAY_EXAMPLE = {
  gateway: 'paystack',
  title: 'Paystack',
  servedBy: 'merchant',
  account: ACCOUNT_EXAMPLE,
}

export const INSTANCE_GATEWAY_EXAMPLE = {
  gateway: 'paystack',
  title: 'Paystack',
  isConfigured: true,
  baseUrl: 'https://api.paystack.co',
  webhookUrl: 'https://pay.example/hooks/paystack',
  credentials: [
    {
      name: 'secretKey',
      variable: 'GATEWAY_PAYSTACK_SECRET_KEY',
      isRequired: true,
      meaning: 'The secret key of the Paystack account.',
    },
  ],
  limits: [
    {
      name: 'countries',
      variable: 'GATEWAY_PAYSTACK_COUNTRIES',
      isRequired: false,
      meaning: 'Only payments of these countries use this account, such as KE,UG.',
    },
  ],
}

export const CHECK_EXAMPLE = {
  gateway: null,
  name: 'configured',
  result: 'ok',
  detail: 'only the sandbox',
}
