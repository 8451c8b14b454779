import { money } from '../../../src/core/money.ts'
import { testConformance } from '../conformance.ts'
import { openAhadi } from './connector.ts'
import { FAKE_API_KEY, startFakeAhadi } from './fake.ts'

testConformance({
  name: 'ahadi',
  credentials: { apiKey: FAKE_API_KEY },
  otherCredentials: { apiKey: 'ahadi_ffffffffffffffffffffffffffffffff' },
  amount: money(50_000n, 'BDT'),
  choice: { channel: 'mobile_money' },
  country: 'BD',
  declines: [
    { how: 'NO_FUNDS', code: 'insufficient_funds', on: 'checkout' },
    { how: 'CANCELLED', code: 'customer_cancelled', on: 'checkout' },
    { how: 'A_REASON_FROM_TOMORROW', code: 'unknown', on: 'checkout' },
  ],
  unsignedCallbacks: true,
  start: startFakeAhadi,
  open: openAhadi,
})
