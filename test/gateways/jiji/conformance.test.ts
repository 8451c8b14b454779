import { money } from '../../../src/core/money.ts'
import { testConformance } from '../conformance.ts'
import { openJiji } from './connector.ts'
import { FAKE_API_KEY, startFakeJiji } from './fake.ts'

testConformance({
  name: 'jiji',
  credentials: { apiKey: FAKE_API_KEY },
  otherCredentials: { apiKey: 'jiji_ffffffffffffffffffffffffffffffff' },
  amount: money(50_000n, 'UGX'),
  choice: { channel: 'mobile_money', phone: '+256772000001', network: 'mtn' },
  country: 'UG',
  declines: [
    { how: 'NOT_ENOUGH_FUNDS', code: 'insufficient_funds', on: 'checkout' },
    { how: 'APPROVAL_REJECTED', code: 'customer_cancelled', on: 'checkout' },
    { how: 'A_REASON_FROM_TOMORROW', code: 'unknown', on: 'checkout' },
  ],
  unsignedCallbacks: true,
  emptyReplies: true,
  withoutTimes: true,
  start: startFakeJiji,
  open: openJiji,
})
