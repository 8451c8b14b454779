import { money } from '../../../src/core/money.ts'
import { DARAJA } from '../../../src/gateways/daraja/index.ts'
import { type Subject, testConformance } from '../conformance.ts'
import { CREDENTIALS, OTHER_CREDENTIALS, PAYOUT_CREDENTIALS, startFakeDaraja } from './fake.ts'

const SUBJECT: Subject = {
  name: DARAJA.name,
  credentials: CREDENTIALS,
  otherCredentials: OTHER_CREDENTIALS,
  amount: money(150_000n, 'KES'),
  choice: { channel: 'mobile_money', phone: '+254708374149', network: 'mpesa_ke' },
  country: 'KE',
  declines: [
    { how: '1', code: 'insufficient_funds', on: 'checkout' },
    { how: '1032', code: 'customer_cancelled', on: 'checkout' },
    { how: '1037', code: 'customer_timeout', on: 'checkout' },
    { how: '1019', code: 'customer_timeout', on: 'checkout' },
    { how: '2001', code: 'authentication_failed', on: 'checkout' },
    { how: '1001', code: 'provider_unavailable', on: 'checkout' },
    { how: '1025', code: 'provider_unavailable', on: 'checkout' },
    { how: '9999', code: 'provider_unavailable', on: 'checkout' },
    { how: '17', code: 'provider_unavailable', on: 'checkout' },
    { how: '26', code: 'provider_unavailable', on: 'checkout' },
  ],
  unsignedCallbacks: true,
  withoutTimes: true,
  keylessRecords: true,
  prelude: { path: /^\/oauth\/v1\/generate$/ },
  start: startFakeDaraja,
  open: DARAJA.open,
}

testConformance(SUBJECT)

// The same account with refunds by payout.
testConformance({
  ...SUBJECT,
  variant: 'with refunds by payout',
  credentials: PAYOUT_CREDENTIALS,
  otherCredentials: { ...OTHER_CREDENTIALS, payoutShortcode: PAYOUT_CREDENTIALS.payoutShortcode },
})
