import { money } from '../../../src/core/money.ts'
import { WAVE } from '../../../src/gateways/wave/index.ts'
import { testConformance } from '../conformance.ts'
import { FAKE_API_KEY, FAKE_WEBHOOK_SECRET, startFakeWave } from './fake.ts'

testConformance({
  name: WAVE.name,
  credentials: { apiKey: FAKE_API_KEY, webhookSecret: FAKE_WEBHOOK_SECRET },
  otherCredentials: {
    apiKey: 'wave_sn_test_0000000000000000',
    webhookSecret: 'wave_sn_WHS_0000000000000000',
  },
  amount: money(12_500n, 'XOF'),
  choice: { channel: 'mobile_money' },
  country: 'SN',
  declines: [
    { how: 'insufficient-funds', code: 'insufficient_funds', on: 'checkout' },
    { how: 'blocked-account', code: 'do_not_honor', on: 'checkout' },
    { how: 'cross-border-payment-not-allowed', code: 'do_not_honor', on: 'checkout' },
    { how: 'customer-age-restricted', code: 'do_not_honor', on: 'checkout' },
    { how: 'kyb-limits-exceeded', code: 'limit_exceeded', on: 'checkout' },
    { how: 'payer-mobile-mismatch', code: 'authentication_failed', on: 'checkout' },
    { how: 'payment-failure', code: 'provider_unavailable', on: 'checkout' },
    { how: 'cancelled', code: 'customer_cancelled', on: 'checkout' },
    { how: 'expired', code: 'customer_timeout', on: 'checkout' },
    { how: 'a-reason-from-tomorrow', code: 'unknown', on: 'checkout' },
  ],
  emptyReplies: ['refund', 'cancel'],
  immediateRefunds: true,
  start: startFakeWave,
  open: WAVE.open,
})
