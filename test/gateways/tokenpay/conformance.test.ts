import { money } from '../../../src/core/money.ts'
import { testConformance } from '../conformance.ts'
import { openTokenpay, TOKEN_PATH } from './connector.ts'
import { CREDENTIALS, startFakeTokenpay } from './fake.ts'

testConformance({
  name: 'tokenpay',
  credentials: CREDENTIALS,
  otherCredentials: { appKey: 'app_ffffff', appSecret: 'secret_ffffffffffff' },
  amount: money(125_050n, 'KES'),
  declines: [
    { how: 'insufficient_funds', code: 'insufficient_funds', on: 'checkout' },
    { how: 'insufficient_funds', code: 'insufficient_funds', on: 'charge' },
    { how: 'A_REASON_FROM_TOMORROW', code: 'unknown', on: 'charge' },
  ],
  prelude: { path: new RegExp(`^${TOKEN_PATH}$`) },
  start: startFakeTokenpay,
  open: openTokenpay(),
})
