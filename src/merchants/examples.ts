// Examples for the operators' OpenAPI document.

export const MERCHANT_BODY_EXAMPLE = {
  name: 'Kahawa House',
  baseCurrency: 'KES',
  settings: { country: 'KE', branding: { supportEmail: 'help@kahawa.example' } },
}

export const MERCHANT_EXAMPLE = {
  uuid: '0197a3c1-5e20-7b14-a3d9-6c0f1e2b8d47',
  name: 'Kahawa House',
  mode: 'test',
  baseCurrency: 'KES',
  status: 'active',
  settings: {
    locale: null,
    savedMethods: 'always_tell',
    country: 'KE',
    timeZone: null,
    redirectOrigins: [],
    routing: [],
    caseApprovals: [],
    refundApprovals: [],
    refundConfirmations: [],
    branding: {
      displayName: null,
      logo: null,
      supportEmail: 'help@kahawa.example',
      supportPhone: null,
      supportUrl: null,
      accentColor: null,
    },
  },
  cell: 'main',
  createdAt: '2026-01-05T08:00:00.000Z',
  updatedAt: '2026-01-05T08:00:00.000Z',
}
