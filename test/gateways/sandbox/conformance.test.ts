import { money } from '../../../src/core/money.ts'
import { createSandboxGateway } from '../../../src/gateways/sandbox/index.ts'
import { testConformance } from '../conformance.ts'
import { SANDBOX_DECLINES, startFakeSandbox } from './fake.ts'
import { SECRET, WEBHOOK_SECRET } from './rig.ts'

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
