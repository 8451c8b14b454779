import { money } from '../../../src/core/money.ts'
import { PAYSTACK } from '../../../src/gateways/paystack/index.ts'
import { testConformance } from '../conformance.ts'
import { DECLINES } from './decline-cases.ts'
import { FAKE_SECRET_KEY, startFakePaystack } from './fake.ts'

testConformance({
  name: PAYSTACK.name,
  credentials: { secretKey: FAKE_SECRET_KEY },
  otherCredentials: { secretKey: 'sk_test_ffffffffffffffffffffffffffffffffffffffff' },
  amount: money(125_050n, 'NGN'),
  country: 'NG',
  declines: DECLINES.flatMap(([how, code]) => [
    { how, code, on: 'checkout' },
    { how, code, on: 'charge' },
  ]),
  disputes: true,
  start: startFakePaystack,
  open: PAYSTACK.open,
})
