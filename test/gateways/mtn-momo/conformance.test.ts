import { money } from '../../../src/core/money.ts'
import { MTN_MOMO } from '../../../src/gateways/mtn-momo/index.ts'
import { testConformance } from '../conformance.ts'
import { CREDENTIALS, startFakeMomo, TOKEN_PATH } from './fake.ts'

testConformance({
  name: MTN_MOMO.name,
  credentials: CREDENTIALS,
  otherCredentials: { ...CREDENTIALS, apiKey: 'ffffffffffffffffffffffffffffffff' },
  amount: money(125_050n, 'GHS'),
  choice: { channel: 'mobile_money', phone: '+233241234567', network: 'mtn_gh' },
  country: 'GH',
  mode: 'live',
  declines: [
    { how: 'APPROVAL_REJECTED', code: 'customer_cancelled', on: 'checkout' },
    { how: 'COULD_NOT_PERFORM_TRANSACTION', code: 'customer_timeout', on: 'checkout' },
    { how: 'EXPIRED', code: 'customer_timeout', on: 'checkout' },
    { how: 'INTERNAL_PROCESSING_ERROR', code: 'unknown', on: 'checkout' },
    { how: 'INVALID_CALLBACK_URL_HOST', code: 'provider_unavailable', on: 'checkout' },
    { how: 'INVALID_CURRENCY', code: 'provider_unavailable', on: 'checkout' },
    { how: 'NOT_ALLOWED', code: 'do_not_honor', on: 'checkout' },
    { how: 'NOT_ALLOWED_TARGET_ENVIRONMENT', code: 'provider_unavailable', on: 'checkout' },
    { how: 'NOT_ENOUGH_FUNDS', code: 'insufficient_funds', on: 'checkout' },
    { how: 'PAYEE_NOT_ALLOWED_TO_RECEIVE', code: 'provider_unavailable', on: 'checkout' },
    { how: 'PAYEE_NOT_FOUND', code: 'provider_unavailable', on: 'checkout' },
    { how: 'PAYER_LIMIT_REACHED', code: 'limit_exceeded', on: 'checkout' },
    { how: 'PAYER_NOT_FOUND', code: 'wallet_not_found', on: 'checkout' },
    { how: 'PAYMENT_NOT_APPROVED', code: 'customer_cancelled', on: 'checkout' },
    { how: 'SERVICE_UNAVAILABLE', code: 'provider_unavailable', on: 'checkout' },
    { how: 'TRANSACTION_CANCELED', code: 'customer_cancelled', on: 'checkout' },
    { how: 'A_REASON_FROM_TOMORROW', code: 'unknown', on: 'checkout' },
  ],
  unsignedCallbacks: true,
  emptyReplies: true,
  withoutTimes: true,
  prelude: { path: TOKEN_PATH },
  start: (t) => startFakeMomo(t),
  open: MTN_MOMO.open,
})
