import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { runCommandLine } from '../../src/cli/program.ts'
import { assertApiError, UNKNOWN_UUID } from '../support/assertions.ts'
import { initiateBody } from '../support/builders.ts'
import { hiddenFields, signInAs, signInAsOperator } from '../support/dashboard.ts'
import { operationsOf } from '../support/openapi.ts'
import { ADMIN_TOKEN, testService } from '../support/service.ts'
import { totpCode } from '../support/totp-code.ts'

const secret = () => randomBytes(32).toString('base64')

const staging = await testService({ after })
const production = await testService(
  { after },
  {
    env: {
      COWRY_ENV: 'production',
      COWRY_PUBLIC_URL: 'https://pay.example.com',
      COWRY_ENCRYPTION_KEYS: `k1:${secret()}`,
      COWRY_KEY_PEPPER: secret(),
    },
  },
)

describe('operators in production', () => {
  it('see only their account until they have set up an authenticator app', async () => {
    const operator = await signInAsOperator(production)
    assert.ok(operator.cookies.has('__Host-cowry_ops_session'))
    const setUp = '/ops/account?needs=totp'
    for (const path of ['/ops', '/ops/merchants', '/ops/people', `/ops/merchants/${UNKNOWN_UUID}`])
      assert.equal((await operator.get(path)).headers.get('location'), setUp, path)
    const form = hiddenFields((await operator.get(setUp)).text, '/ops/account/totp')
    const forced = await operator.post('/ops/merchants/new', { ...form, name: 'X', baseCurrency: 'KES' })
    assert.equal(forced.headers.get('location'), setUp)
    const started = await operator.post('/ops/account/totp', form)
    const [, totp = ''] = /<code class="mono">([A-Z2-7]+)<\/code>/.exec(started.text) ?? []
    const action = '/ops/account/totp/confirm'
    const code = totpCode(totp, Date.now())
    assert.equal((await operator.post(action, { ...hiddenFields(started.text, action), code })).http, 200)
    assert.equal((await operator.get('/ops/merchants')).http, 200)
  })
})

const PATH = '/api/v1/wallet/balance'

describe('API keys in production', () => {
  it('have no scope beyond the role of the developer who creates or replaces them', async () => {
    const { uuid, api } = await production.newMerchant()
    const developer = await signInAs(production, uuid, 'developer')
    const page = '/app/developers/keys'
    const { text } = await developer.get(`${page}/new?preset=read`)
    assert.match(text, /name="scope:webhooks:write">/)
    assert.match(text, /name="scope:checkout:read" checked>/)
    assert.match(
      text,
      /name="scope:wallet:read" disabled> <span><code>wallet:read<\/code> \(not in your role\)/,
    )
    assert.match(text, /ask an owner or an admin to create it/)
    assert.doesNotMatch(text, /preset=pay/)
    const forced = { name: 'More', 'scope:refunds:write': 'on' }
    const refused = await developer.submit(`${page}/new`, `${page}/new`, forced)
    assert.equal(refused.http, 422)
    assert.doesNotMatch(refused.text, /cowry_live_/)
    const [{ keyId }] = (await api.get('/api/v1/api-keys')).body.data
    for (const path of [`${page}/${keyId}`, `${page}/${keyId}/rotate`])
      assert.match((await developer.get(path)).text, /Your role cannot replace this key/)
    assert.doesNotMatch((await developer.get(`${page}/${keyId}`)).text, /\/rotate"/)
    const admin = await signInAs(production, uuid, 'admin')
    const replaced = await admin.submit(`${page}/${keyId}/rotate`, `${page}/${keyId}/rotate`)
    assert.match(replaced.text, /cowry_live_/)
  })

  it('issues and accepts only live keys in production', async () => {
    const { uuid, key, api } = await production.newMerchant()
    assert.match(key, /^cowry_live_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}$/)
    assert.equal((await api.get(PATH)).http, 200)
    assert.equal((await production.admin.get(`/admin/v1/merchants/${uuid}`)).body.data.mode, 'live')
  })

  it('F-75: rejects a test key in production and a live key in staging with a message about the environment', async () => {
    const { key: live } = await production.newMerchant()
    const test = await production.apiWith(staging.demoKey ?? '').get(PATH)
    assertApiError(test, 'mode_mismatch')
    assert.match(test.body.message, /test key.*production/)
    assertApiError(await staging.apiWith(live).get(PATH), 'mode_mismatch')
  })

  it('F-75: rejects a test key for every operation in production', async () => {
    const operations = operationsOf(production.openApi())
    assert.ok(operations.length > 50)
    for (const { method, path } of operations) {
      const filled = path.replaceAll(/\{\w+\}/g, UNKNOWN_UUID)
      assertApiError(await production.apiWith(staging.demoKey ?? '').send(method, filled), 'mode_mismatch')
    }
  })

  it('has no demo merchant, no sandbox and no simulation of payers in production', async () => {
    assert.equal(production.demoKey, null)
    assert.equal((await production.admin.get('/admin/v1/merchants?limit=100')).body.data[0].mode, 'live')
    const { api } = await production.newMerchant()
    assertApiError(await api.post('/api/v1/sandbox/payments/x/complete', {}), 'route_not_found')
    assertApiError(await api.get('/api/v1/sandbox/executions?reference=x'), 'route_not_found')
    assertApiError(await api.get('/sandbox/v1/executions'), 'route_not_found')
    assert.equal((await api.postText('/hooks/sandbox', '{}')).http, 404)
    const { paths } = (await api.get('/openapi.json')).body
    assert.deepEqual(
      Object.keys(paths).filter((path) => path.includes('sandbox')),
      [],
    )
    const refused = await api.post('/api/v1/checkout/initiate-payment', initiateBody())
    assertApiError(refused, 'no_route_available')
  })

  it('rejects an http redirectUrl in production, which staging accepts', async () => {
    const body = initiateBody({ redirectUrl: 'http://shop.example/thanks' })
    const { api } = await production.newMerchant()
    const refused = await api.post('/api/v1/checkout/initiate-payment', body)
    assert.deepEqual(assertApiError(refused, 'validation_failed'), ['redirectUrl: invalid_format'])
    assert.equal((await staging.api.post('/api/v1/checkout/initiate-payment', body)).http, 201)
  })

  it('sends HSTS, and links to its public address in production', async () => {
    for (const path of ['/', '/healthz', '/api/v1/customers', '/docs']) {
      const secure = await production.apiWith(undefined).get(path)
      assert.equal(secure.headers.get('strict-transport-security'), 'max-age=31536000', path)
      const plain = await staging.apiWith(undefined).get(path)
      assert.equal(plain.headers.get('strict-transport-security'), null, path)
    }
    const { docUrl } = (await production.apiWith(undefined).get('/nowhere')).body.error
    assert.equal(docUrl, 'https://pay.example.com/docs/errors#route_not_found')
    assert.ok(!(await production.apiWith(undefined).get('/')).text.includes('staging'))
  })
})

describe('production without a gateway', () => {
  it('warns at the start that no gateway is configured; staging has the sandbox', async () => {
    const warnings = async ({ admin }: typeof production) => {
      const { lines } = (await admin.get('/admin/v1/logs?level=warn&limit=500')).body.data
      return lines.filter(({ key }: { key: string }) => key === 'gateway.none_configured').length
    }
    assert.equal(await warnings(production), 1)
    assert.equal(await warnings(staging), 0)
  })

  it('fails cowry doctor with what to do; staging passes with the sandbox', async () => {
    const doctor = async (url: string) => {
      const env = { COWRY_URL: url, COWRY_ADMIN_TOKEN: ADMIN_TOKEN }
      let out = ''
      const take = (text: string) => {
        out += text
      }
      const code = await runCommandLine(['doctor', '--json'], { terminal: { out: take, err: take }, env })
      const { checks } = JSON.parse(out).data
      return { code, check: checks.find(({ name }: { name: string }) => name === 'gateways configured') }
    }
    const failed = await doctor(production.url)
    assert.equal(failed.code, 1)
    assert.equal(failed.check.ok, false)
    assert.match(
      failed.check.detail,
      /^No gateway is configured.* GATEWAY_PAYSTACK_SECRET_KEY.* cowry gateways set/,
    )
    const passed = await doctor(staging.url)
    assert.equal(passed.check.ok, true)
    // Other tests save accounts of merchants in the same service.
    assert.match(passed.check.detail, /^only (the sandbox|accounts of merchants)$/)
  })
})
