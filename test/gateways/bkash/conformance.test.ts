import { money } from '../../../src/core/money.ts'
import { BKASH } from '../../../src/gateways/bkash/index.ts'
import { testConformance } from '../conformance.ts'
import { CREDENTIALS, startFakeBkash, TOKEN_PATH } from './fake.ts'

testConformance({
  name: BKASH.name,
  credentials: CREDENTIALS,
  otherCredentials: {
    ...CREDENTIALS,
    appKey: 'ffffffffffffffffffffffffff',
    password: 'sandboxTokenizedUser08@12345',
  },
  amount: money(125_050n, 'BDT'),
  choice: { channel: 'mobile_money' },
  country: 'BD',
  // A payer who cancels leaves the payment open; the reasons for a decline come with the execution.
  declines: [{ how: 'Failed', code: 'unknown', on: 'checkout' }],
  keylessRefunds: true,
  withoutWebhooks: true,
  prelude: { path: TOKEN_PATH },
  start: startFakeBkash,
  open: BKASH.open,
})
