import { money } from '../../core/money.ts'
import { testConformance } from '../conformance.ts'
import { SANDBOX_DECLINES, startFakeSandbox } from './fake.ts'
import { createSandboxGateway } from './index.ts'
import { SECRET, WEBHOOK_SECRET } from './test-rig.ts'

testConformance({
  name: 'sandbox',
  credentials: { secret: SECRET, webhookSecret: WEBHOOK_SECRET },
  otherCredentials: { secret: 'another-sandbox-key', webhookSecret: 'another-webhook-key' },
  amount: money(125_050n, 'KES'),
  country: 'KE',
  declines: SANDBOX_DECLINES,
  disputes: true,
  start: startFakeSandbox,
  open: ({ credentials: { secret = '', webhookSecret = '' }, baseUrl, http, clock }) =>
    createSandboxGateway({ secret, webhookSecret, baseUrl, http, clock }),
})
