import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { runCommandLine } from '../../src/cli/program.ts'
import { ConfigError } from '../../src/config.ts'
import { startFakePaystack } from '../gateways/paystack/fake.ts'
import { assertApiError } from '../support/assertions.ts'
import { initiateBody } from '../support/builders.ts'
import { fileContext } from '../support/gateways.ts'
import { ADMIN_TOKEN, ONE_PROCESS, testService } from '../support/service.ts'

const LIVE_KEY = 'sk_live_0a1b2c3d4e5f60718293a4b5c6d7e8f901234567'

const paystack = await startFakePaystack(fileContext({ after }))
const secret = () => randomBytes(32).toString('base64')
const env = {
  COWRY_ENV: 'production',
  COWRY_PUBLIC_URL: 'https://pay.example.com',
  COWRY_ADMIN_TOKEN: ADMIN_TOKEN,
  COWRY_ENCRYPTION_KEYS: `k1:${secret()}`,
  COWRY_KEY_PEPPER: secret(),
  GATEWAY_PAYSTACK_BASE_URL: paystack.server.url,
}

describe('a gateway in production', () => {
  it('accepts only live keys of gateways in production', ONE_PROCESS, async (t) => {
    const start = testService(
      { after: t.after.bind(t) },
      { env: { ...env, GATEWAY_PAYSTACK_SECRET_KEY: 'sk_test_1' } },
    )
    await assert.rejects(start, (error) => error instanceof ConfigError && /sk_live_/.test(error.message))
  })

  it('is checked by cowry doctor, which fails if the provider refuses the key', ONE_PROCESS, async (t) => {
    const service = await testService(
      { after: t.after.bind(t) },
      { env: { ...env, GATEWAY_PAYSTACK_SECRET_KEY: LIVE_KEY } },
    )
    let out = ''
    const take = (text: string) => {
      out += text
    }
    const clientEnv = { COWRY_URL: service.url, COWRY_ADMIN_TOKEN: ADMIN_TOKEN }
    const code = await runCommandLine(['doctor'], { terminal: { out: take, err: take }, env: clientEnv })
    assert.equal(code, 1, out)
    assert.match(out, /^gateways configured +ok +Paystack$/m)
    assert.match(out, /^gateway paystack credentials +FAILED +Paystack refuses the credentials/m)
    assert.match(out, /^gateway paystack webhook URL +by hand +Enter the webhook URL/m)
    assert.match(out, /^1 of \d+ checks failed\. Look at 2 more by hand\.$/m)
  })

  it('has no sandbox fallback in production', async (t) => {
    const service = await testService(
      { after: t.after.bind(t) },
      { env: { ...env, GATEWAY_PAYSTACK_SECRET_KEY: LIVE_KEY } },
    )
    const { api } = await service.newMerchant()
    const initiate = (changes: object) =>
      api.post('/api/v1/checkout/initiate-payment', initiateBody({ ...changes }))
    const made = await initiate({ currency: 'NGN' })
    assert.equal(made.body.data.paymentGateway, 'paystack', made.text)
    assertApiError(await initiate({ currency: 'EUR' }), 'no_route_available')
  })
})
