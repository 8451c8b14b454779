import { money } from '../../../src/core/money.ts'
import { PAYMOB } from '../../../src/gateways/paymob/index.ts'
import { testConformance } from '../conformance.ts'
import { CREDENTIALS, startFakePaymob, TOKEN_PATH } from './fake.ts'

const OTHER = {
  ...CREDENTIALS,
  secretKey: 'egy_sk_test_ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
  apiKey: 'ZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZg==',
  hmacSecret: 'FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF',
}

const DECLINES = [
  { how: '05', code: 'do_not_honor' },
  { how: '51', code: 'insufficient_funds' },
  { how: '54', code: 'card_expired' },
  { how: '91', code: 'provider_unavailable' },
  { how: 'AUTHENTICATION_FAILED', code: 'authentication_failed' },
  { how: 'INSUFFICIENT_FUNDS', code: 'insufficient_funds' },
  { how: 'EXPIRED_CARD', code: 'card_expired' },
  { how: 'DECLINED', code: 'do_not_honor' },
  { how: 'A_REASON_FROM_TOMORROW', code: 'unknown' },
] as const

testConformance({
  name: PAYMOB.name,
  credentials: CREDENTIALS,
  otherCredentials: OTHER,
  publicCredentials: [
    'publicKey',
    ...['cardIntegration', 'walletIntegration', 'kioskIntegration', 'motoIntegration'],
  ],
  amount: money(125_050n, 'EGP'),
  country: 'EG',
  declines: [
    ...DECLINES.map((one) => ({ ...one, on: 'checkout' }) as const),
    { how: 'Transaction was cancelled by the user', code: 'customer_cancelled', on: 'checkout' },
    { how: 'Wallet is not registered', code: 'wallet_not_found', on: 'checkout' },
    ...DECLINES.map((one) => ({ ...one, on: 'charge' }) as const),
  ],
  booleanStatuses: ['success', 'pending'],
  completesCharges: true,
  keylessRefunds: true,
  savesByCallback: true,
  unsignedCallbacks: true,
  withoutTimes: true,
  prelude: { path: TOKEN_PATH, operations: ['verify', 'refund', 'verifyRefund'] },
  start: startFakePaymob,
  open: PAYMOB.open,
})
