// A payer of Wave in a real browser.

import { after } from 'node:test'
import { startFakeWave } from '../gateways/wave/fake.ts'
import { fileContext } from '../support/gateways.ts'
import { addressOf, newMerchantAt, PROVIDERS } from '../support/providers.ts'
import { startRig } from './payers.ts'
import { testRedirects } from './redirects.ts'

const fake = await startFakeWave(fileContext({ after }))
const rig = await startRig({ after }, { env: addressOf('wave', fake) })
const { api } = await newMerchantAt(rig.service, 'wave')

const FAILURES = [
  ...['insufficient-funds', 'blocked-account', 'kyb-limits-exceeded', 'payment-failure'],
  ...['cancelled', 'expired'],
]

testRedirects({
  title: 'Wave',
  origin: 'https://pay.wave.com',
  rig,
  api,
  changes: PROVIDERS.wave.paymentTerms,
  backUrlOf: ({ pathname }) => fake.findSession(pathname.replace('/c/', ''))?.success_url ?? '',
  executions: (key) => fake.executions(key),
  paid: { title: 'has paid', act: (key) => fake.finish(key, { kind: 'pays' }), status: 'successful' },
  failures: FAILURES.map((how) => ({
    title: `fails with ${how}`,
    act: (key) => fake.finish(key, { kind: 'declines', how }),
    status: 'pending',
  })),
  left: { title: 'left without a payment', act: () => undefined, status: 'processing' },
})
