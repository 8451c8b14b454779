// A payer of bKash in a real browser: confirmed on the page of bKash, and executed when the payer is back.

import { after } from 'node:test'
import { CREDENTIALS, startFakeBkash } from '../gateways/bkash/fake.ts'
import { fileContext } from '../support/gateways.ts'
import { startRig } from './payers.ts'
import { testRedirects } from './redirects.ts'

const fake = await startFakeBkash(fileContext({ after }))
const rig = await startRig(
  { after },
  {
    env: {
      GATEWAY_BKASH_APP_KEY: CREDENTIALS.appKey,
      GATEWAY_BKASH_APP_SECRET: CREDENTIALS.appSecret,
      GATEWAY_BKASH_USERNAME: CREDENTIALS.username,
      GATEWAY_BKASH_PASSWORD: CREDENTIALS.password,
      GATEWAY_BKASH_BASE_URL: fake.server.url,
    },
  },
)
const { api } = await rig.service.newMerchant()

const confirm = (key: string) => fake.confirm?.(key)

/** Insufficient balance, wrong PIN, a locked wallet, no wallet, the merchant's account. */
const EXECUTION_ERRORS = ['2023', '2014', '2037', '2057', '2039']

testRedirects({
  title: 'bKash',
  origin: 'https://sandbox.payment.bkash.com',
  rig,
  api,
  changes: { amount: 1_250.5, currency: 'BDT', country: 'BD' },
  backUrlOf: (url) => fake.returnUrl(url.searchParams.get('paymentId') ?? '', 'success'),
  executions: (key) => fake.executions(key),
  paid: { title: 'has paid', act: confirm, status: 'successful' },
  failures: EXECUTION_ERRORS.map((code) => ({
    title: `fails with ${code}`,
    act(key) {
      fake.failExecution(key, code)
      return confirm(key)
    },
    status: 'pending',
  })),
  left: { title: 'left without a payment', act: () => undefined, status: 'processing' },
})
