export const WALLET = {
  channel: 'mobile_money',
  accountName: 'Juba Books',
  accountNumber: null,
  bankName: null,
  phoneNumber: '+211912345678',
}

export const ACCOUNT_BODY_EXAMPLE = {
  channel: 'mobile_money',
  currency: 'SSP',
  country: 'SS',
  accountName: WALLET.accountName,
  network: 'mgurush_ss',
  phoneNumber: '0912 345 678',
}

export const ACCOUNT_EXAMPLE = {
  uuid: '0197a3c4-1f20-7a44-8b6e-2d9c51e07f35',
  ...WALLET,
  currency: 'SSP',
  country: 'SS',
  network: 'mgurush_ss',
  isActive: true,
  createdAt: '2026-03-14T09:20:00.000Z',
  updatedAt: '2026-03-14T09:20:00.000Z',
}

export const ACCOUNT_CHANGES_EXAMPLE = { isActive: false }
