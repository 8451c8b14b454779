// Examples for the OpenAPI document.

const URL = 'https://pay.example/l/7Gk2WmQ9sT1xXb4'

export const CREATE_LINK_EXAMPLE = {
  title: 'Ticket for the coffee tasting',
  description: 'Saturday at ten, at the roastery',
  amount: 1250.5,
  currency: 'KES',
  usage: 'multi',
  maxPayments: 40,
  redirectUrl: 'https://shop.example/thanks',
  metadata: { event: 'tasting-7' },
  expiresAt: '2026-04-01T09:00:00.000Z',
}

export const CHANGE_LINK_EXAMPLE = { maxPayments: 60, expiresAt: null }

export const LINK_EXAMPLE = {
  uuid: '0197a3c4-2f10-7b61-9e0a-4c8d1f2a6b73',
  slug: '7Gk2WmQ9sT1xXb4',
  url: URL,
  // Shortened: the whole picture has 4 KB.
  qr: '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 37 37">…</svg>',
  title: 'Ticket for the coffee tasting',
  description: 'Saturday at ten, at the roastery',
  amount: '1250.50',
  minAmount: null,
  maxAmount: null,
  currency: 'KES',
  country: 'KE',
  usage: 'multi',
  maxPayments: 40,
  paymentsCount: 12,
  amountCollected: '15006.00',
  status: 'active',
  redirectUrl: 'https://shop.example/thanks',
  metadata: { event: 'tasting-7' },
  expiresAt: '2026-04-01T09:00:00.000Z',
  createdAt: '2026-03-14T09:26:53.589Z',
}

const { qr: _, ...withoutQr } = LINK_EXAMPLE

/** In a list. */
export const STORED_LINK_EXAMPLE = withoutQr
