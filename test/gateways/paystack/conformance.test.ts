import { money } from '../../../src/core/money.ts'
import { PAYSTACK } from '../../../src/gateways/paystack/index.ts'
import { type Subject, testConformance } from '../conformance.ts'
import { DECLINES } from './decline-cases.ts'
import { FAKE_SECRET_KEY, startFakePaystack } from './fake.ts'

const SUBJECT: Subject = {
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
}

testConformance(SUBJECT)
testConformance({
  ...SUBJECT,
  savesNothing: true,
  variant: 'with prompts for mobile money',
  amount: money(125_050n, 'GHS'),
  country: 'GH',
  choice: { channel: 'mobile_money', phone: '+233551234987', network: 'mtn_gh' },
})
testConformance({
  ...SUBJECT,
  savesNothing: true,
  variant: 'with a bank transfer on our page',
  choice: { channel: 'bank_transfer' },
})
