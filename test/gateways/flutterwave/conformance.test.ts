import { money } from '../../../src/core/money.ts'
import { FLUTTERWAVE } from '../../../src/gateways/flutterwave/index.ts'
import { type Subject, testConformance } from '../conformance.ts'
import { FLUTTERWAVE_DECLINES, SECRET_KEY, startFakeFlutterwave, WEBHOOK_HASH } from './fake.ts'

const SUBJECT: Subject = {
  name: FLUTTERWAVE.name,
  credentials: { secretKey: SECRET_KEY, webhookHash: WEBHOOK_HASH },
  otherCredentials: {
    secretKey: 'FLWSECK_TEST-0d9e8c7b6a5f4e3d2c1b0a9f8e7d6c5b-X',
    webhookHash: 'a-hash-of-another-account',
  },
  amount: money(125_050n, 'NGN'),
  country: 'NG',
  declines: FLUTTERWAVE_DECLINES,
  unsignedBody: 'Flutterwave sends a shared word, not a signature over the body',
  disputes: true,
  start: startFakeFlutterwave,
  open: FLUTTERWAVE.open,
}

testConformance(SUBJECT)
testConformance({
  ...SUBJECT,
  savesNothing: true,
  variant: 'with prompts for mobile money',
  amount: money(125_050n, 'KES'),
  country: 'KE',
  choice: { channel: 'mobile_money', phone: '+254712345678', network: 'mpesa_ke' },
})
testConformance({
  ...SUBJECT,
  savesNothing: true,
  variant: 'with mobile money that is confirmed on another page',
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
