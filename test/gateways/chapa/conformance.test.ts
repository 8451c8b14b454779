import { money } from '../../../src/core/money.ts'
import { CHAPA } from '../../../src/gateways/chapa/index.ts'
import { testConformance } from '../conformance.ts'
import { FAKE_SECRET_KEY, FAKE_WEBHOOK_SECRET, startFakeChapa } from './fake.ts'

testConformance({
  name: CHAPA.name,
  credentials: { secretKey: FAKE_SECRET_KEY, webhookSecret: FAKE_WEBHOOK_SECRET },
  otherCredentials: {
    secretKey: 'CHASECK_TEST-00000000000000000000000000000000',
    webhookSecret: 'another secret hash',
  },
  amount: money(125_050n, 'ETB'),
  choice: { channel: 'mobile_money' },
  country: 'ET',
  declines: [
    { how: 'failed', code: 'do_not_honor', on: 'checkout' },
    { how: 'failed/cancelled', code: 'do_not_honor', on: 'checkout' },
    { how: 'cancelled', code: 'customer_cancelled', on: 'checkout' },
  ],
  unfindableRefunds: true,
  start: startFakeChapa,
  open: CHAPA.open,
})
