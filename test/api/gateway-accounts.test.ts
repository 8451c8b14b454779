import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { after, afterEach, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import { createLog } from '../../src/kit/observability/log.ts'
import { CREDENTIALS as BKASH_CREDENTIALS, startFakeBkash } from '../gateways/bkash/fake.ts'
import { FAKE_SECRET_KEY, startFakePaystack } from '../gateways/paystack/fake.ts'
import type { Api } from '../support/api.ts'
import { assertApiError, assertKeys, ISO_TIME, UNKNOWN_UUID, UUID_V7 } from '../support/assertions.ts'
import { initiateBody } from '../support/builders.ts'
import { ONE_DATABASE } from '../support/cells.ts'
import { fileContext } from '../support/gateways.ts'
import { testService } from '../support/service.ts'

const OTHER_KEY = 'sk_test_ffffffffffffffffffffffffffffffffffffffff'
const PROBE = '/balance'

const paystack = await startFakePaystack(fileContext({ after }))
const bkash = await startFakeBkash(fileContext({ after }))
let logged = ''
const log = createLog(
  'debug',
  new Writable({
    write(chunk, _encoding, done) {
      logged += chunk
      done()
    },
  }),
)
const env = { GATEWAY_PAYSTACK_BASE_URL: paystack.server.url, GATEWAY_BKASH_BASE_URL: bkash.server.url }
const service = await testService({ after }, { env, log })
const { admin } = service
afterEach(() => paystack.server.clearFaults())

const pathOf = (uuid: string, gateway = 'paystack') => `/admin/v1/merchants/${uuid}/gateways/${gateway}`
const json = { 'content-type': 'application/json' }
const put = (uuid: string, credentials: unknown, query = '', gateway = 'paystack') =>
  admin.send('PUT', `${pathOf(uuid, gateway)}${query}`, {
    body: JSON.stringify({ credentials }),
    headers: json,
  })
const remove = (uuid: string) => admin.send('DELETE', pathOf(uuid))

const ACCOUNT_FIELDS = [
  'uuid',
  'gateway',
  'title',
  'status',
  'credentials',
  'limits',
  'webhookUrl',
  'createdAt',
  'updatedAt',
  'revokedAt',
]

describe("a merchant's own account at a gateway", () => {
  it('lets only operators manage a merchant’s gateway account', async () => {
    const { uuid, api } = await service.newMerchant()
    for (const caller of [service.apiWith(undefined), api])
      for (const [method, path] of [
        ['GET', '/admin/v1/gateways'],
        ['GET', `/admin/v1/merchants/${uuid}/gateways`],
        ['GET', pathOf(uuid)],
        ['PUT', pathOf(uuid)],
        ['DELETE', pathOf(uuid)],
      ] as const)
        assertApiError(await caller.send(method, path), 'invalid_admin_token')
  })

  it('stores and checks a gateway account, and never returns its credentials', async () => {
    const { uuid } = await service.newMerchant()
    const saved = await put(uuid, { secretKey: FAKE_SECRET_KEY })
    assert.equal(saved.http, 200, saved.text)
    assertKeys(saved.body.data, [...ACCOUNT_FIELDS, 'probe', 'warnings'])
    const { probe, warnings, ...account } = saved.body.data
    assert.deepEqual({ probe, warnings }, { probe: 'works', warnings: [] })
    assert.match(account.uuid, UUID_V7)
    assert.match(account.createdAt, ISO_TIME)
    assert.deepEqual(
      { ...account, uuid: '', createdAt: '', updatedAt: '' },
      {
        uuid: '',
        gateway: 'paystack',
        title: 'Paystack',
        status: 'active',
        credentials: [
          { name: 'secretKey', isSet: true, ending: FAKE_SECRET_KEY.slice(-4) },
          { name: 'collection', isSet: false, ending: null },
        ],
        limits: { countries: null, currencies: null, channels: null, amounts: null },
        webhookUrl: `${service.publicUrl}/hooks/paystack/${uuid}`,
        createdAt: '',
        updatedAt: '',
        revokedAt: null,
      },
    )
    const read = await admin.get(pathOf(uuid))
    assert.deepEqual(read.body.data, account)
    const list = await admin.get(`/admin/v1/merchants/${uuid}/gateways`)
    const listed = list.body.data.find((one: { gateway: string }) => one.gateway === 'paystack')
    assert.deepEqual(listed, {
      gateway: 'paystack',
      title: 'Paystack',
      servedBy: 'merchant',
      account,
    })
    const stored = await service.db.query(sql<{ row: string }>`select a::text as row from gateway_accounts a`)
    const everything = [saved.text, read.text, list.text, logged, JSON.stringify(stored)].join()
    assert.ok(!everything.includes(FAKE_SECRET_KEY.slice(8, -4)))
    assert.ok(logged.includes('gateway.credentials_saved'))
  })

  it('trims a pasted line break from credentials', async () => {
    const { uuid } = await service.newMerchant()
    const saved = await put(uuid, { secretKey: ` ${FAKE_SECRET_KEY}\n` })
    assert.equal(saved.body.data.probe, 'works', saved.text)
    assert.equal(saved.body.data.credentials[0].ending, FAKE_SECRET_KEY.slice(-4))
  })

  it('rejects wrong credentials with the gateway’s message, and stores nothing', async () => {
    const { uuid } = await service.newMerchant()
    const answer = await put(uuid, { secretKey: OTHER_KEY })
    assertApiError(answer, 'gateway_credentials_refused')
    assert.equal(answer.body.message, 'Paystack refused these credentials; nothing was changed.')
    assertApiError(await admin.get(pathOf(uuid)), 'gateway_account_not_found')
    assert.equal((await put(uuid, { secretKey: FAKE_SECRET_KEY })).http, 200)
    assertApiError(await put(uuid, { secretKey: OTHER_KEY }), 'gateway_credentials_refused')
    const [{ ending }] = (await admin.get(pathOf(uuid))).body.data.credentials
    assert.equal(ending, FAKE_SECRET_KEY.slice(-4), 'the previous account is unchanged')
  })

  it('saves an account with a warning when the gateway is unreachable, and unchecked on request', async () => {
    const { uuid } = await service.newMerchant()
    paystack.server.injectFault('cut_off')
    const { body } = await put(uuid, { secretKey: OTHER_KEY })
    assert.equal(body.data.probe, 'unreachable')
    assert.deepEqual(body.data.warnings, [
      'Paystack could not be reached, so the credentials were saved without being tried.',
    ])
    // Background work looks for refunds at the account meanwhile.
    const countProbes = () => paystack.server.requests.filter(({ path }) => path === PROBE).length
    const before = countProbes()
    assert.ok(before > 0)
    const unchecked = await put(uuid, { secretKey: OTHER_KEY }, '?probe=false')
    assert.deepEqual([unchecked.body.data.probe, unchecked.body.data.warnings], ['unchecked', []])
    assert.equal(countProbes(), before)
  })

  it('rejects an invalid account with one validation issue per field, without echoing the values', async () => {
    const { uuid } = await service.newMerchant()
    const bad: [unknown, string[]][] = [
      [{}, ['credentials.secretKey: required']],
      [{ secretKey: '' }, ['credentials.secretKey: required']],
      [{ secretKey: 'canary' }, ['credentials.secretKey: invalid_format']],
      [{ secretKey: 'sk_live_canary' }, ['credentials.secretKey: invalid_format']],
      [{ secretKey: FAKE_SECRET_KEY, canary: 'x' }, ['credentials.canary: not_allowed']],
      [{ secretKey: 5 }, ['credentials.secretKey: invalid_type']],
      [undefined, ['credentials: required']],
      ['canary', ['credentials: invalid_type']],
      [{ secretKey: 'x'.repeat(8_193) }, ['credentials.secretKey: too_long']],
    ]
    for (const [credentials, issues] of bad) {
      const answer = await put(uuid, credentials)
      assert.deepEqual(assertApiError(answer, 'validation_failed'), issues, answer.text)
      assert.ok(!answer.body.message.includes('canary'))
    }
    assertApiError(await admin.get(pathOf(uuid)), 'gateway_account_not_found')
  })

  it('answers 404 for an unknown merchant, gateway and account', async () => {
    const { uuid } = await service.newMerchant()
    const right = { secretKey: FAKE_SECRET_KEY }
    assertApiError(await put(UNKNOWN_UUID, right), 'merchant_not_found')
    assertApiError(await admin.get(pathOf(UNKNOWN_UUID)), 'merchant_not_found')
    assertApiError(await remove(UNKNOWN_UUID), 'merchant_not_found')
    assertApiError(await admin.get(`/admin/v1/merchants/${UNKNOWN_UUID}/gateways`), 'merchant_not_found')
    for (const gateway of ['sandbox', 'nobody', '__proto__'])
      assert.equal((await put(uuid, right, '', gateway)).http, gateway === '__proto__' ? 400 : 404)
    assertApiError(await admin.get(pathOf(uuid, 'nobody')), 'gateway_not_found')
    assertApiError(await admin.get(pathOf(uuid)), 'gateway_account_not_found')
    assertApiError(await remove(uuid), 'gateway_account_not_found')
  })

  it('keeps the account when its credentials change, and creates another one after a removal', async () => {
    const { uuid } = await service.newMerchant()
    const first = (await put(uuid, { secretKey: FAKE_SECRET_KEY })).body.data
    const changed = (await put(uuid, { secretKey: OTHER_KEY }, '?probe=false')).body.data
    assert.deepEqual([changed.uuid, changed.createdAt], [first.uuid, first.createdAt])
    assert.ok(changed.updatedAt > first.updatedAt)
    assert.equal(changed.credentials[0].ending, OTHER_KEY.slice(-4))
    const removed = await remove(uuid)
    assert.equal(removed.http, 200)
    assert.deepEqual([removed.body.data.uuid, removed.body.data.status], [first.uuid, 'revoked'])
    assert.match(removed.body.data.revokedAt, ISO_TIME)
    assertApiError(await remove(uuid), 'gateway_account_not_found')
    const next = (await put(uuid, { secretKey: FAKE_SECRET_KEY })).body.data
    assert.notEqual(next.uuid, first.uuid)
  })

  it('keeps no access token of a revoked account, also if only the check of the credentials had requested one', async () => {
    const { uuid } = await service.newMerchant()
    const selectTokens = sql<{ accountId: string; sealed: string | null }>`
      select account_id as "accountId", sealed from gateway_tokens where gateway = 'bkash'`
    const saved = await put(uuid, BKASH_CREDENTIALS, '', 'bkash')
    assert.equal(saved.body.data.probe, 'works', saved.text)
    const { uuid: accountId } = saved.body.data
    const [token] = await service.db.query(selectTokens)
    assert.ok(token?.sealed)
    assert.equal(token.accountId, accountId)
    assert.equal((await put(uuid, BKASH_CREDENTIALS, '', 'bkash')).body.data.uuid, accountId)
    assert.equal((await admin.send('DELETE', pathOf(uuid, 'bkash'))).body.data.status, 'revoked')
    assert.deepEqual(await service.db.query(selectTokens), [{ accountId, sealed: null }])
  })

  it('creates one account for parallel requests of operators', async () => {
    const { uuid } = await service.newMerchant()
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => put(uuid, { secretKey: FAKE_SECRET_KEY }, '?probe=false')),
    )
    assert.deepEqual(new Set(answers.map(({ http }) => http)), new Set([200]))
    assert.equal(new Set(answers.map(({ body }) => body.data.uuid)).size, 1)
  })

  it('does not decrypt credentials that were copied to another merchant (F-92)', ONE_DATABASE, async () => {
    const [one, other] = [await service.newMerchant(), await service.newMerchant()]
    for (const { uuid } of [one, other]) await put(uuid, { secretKey: FAKE_SECRET_KEY }, '?probe=false')
    const copy = sql<unknown>`
      update gateway_accounts
      set sealed = (select sealed from gateway_accounts where merchant_id = $1)
      where merchant_id = $2`
    await service.db.query(copy, [one.uuid, other.uuid])
    const { credentials } = (await admin.get(pathOf(other.uuid))).body.data
    assert.deepEqual(credentials, [
      { name: 'secretKey', isSet: false, ending: null },
      { name: 'collection', isSet: false, ending: null },
    ])
    const initiated = await other.api.post('/api/v1/checkout/initiate-payment', {
      amount: 500,
      currency: 'NGN',
      reference: 'copied',
      customer: { email: 'a@example.com', firstname: 'A', lastname: 'B' },
    })
    assert.equal(initiated.body.data.paymentGateway, 'sandbox', 'the account is skipped')
  })
})

describe('several accounts of a merchant at one gateway', () => {
  const KE = { secretKey: FAKE_SECRET_KEY, countries: 'KE', amounts: 'KES:10-250000' }
  const NG = { secretKey: FAKE_SECRET_KEY, countries: 'NG' }
  const initiate = async (api: Api, fields: Record<string, unknown>) =>
    (await api.post('/api/v1/checkout/initiate-payment', initiateBody(fields))).body.data

  it('have a label each, their own webhook address and their limits', async () => {
    const { uuid } = await service.newMerchant()
    const saved = await put(uuid, KE, '', 'paystack_ke')
    assert.equal(saved.http, 200, saved.text)
    const { gateway, title, credentials, limits, webhookUrl } = saved.body.data
    assert.deepEqual([gateway, title], ['paystack_ke', 'Paystack (KE)'])
    assert.equal(webhookUrl, `${service.publicUrl}/hooks/paystack_ke/${uuid}`)
    assert.deepEqual(limits, { countries: 'KE', currencies: null, channels: null, amounts: 'KES:10-250000' })
    assert.deepEqual(
      credentials.map(({ name }: { name: string }) => name),
      ['secretKey', 'collection'],
    )
    await put(uuid, NG, '', 'paystack_ng')
    const { body } = await admin.get(`/admin/v1/merchants/${uuid}/gateways`)
    const served = body.data
      .filter(({ gateway: name }: { gateway: string }) => name.startsWith('paystack'))
      .map(({ gateway: name, servedBy }: Record<string, unknown>) => [name, servedBy])
    assert.deepEqual(served, [
      ['paystack', null],
      ['paystack_ke', 'merchant'],
      ['paystack_ng', 'merchant'],
    ])
    assert.equal((await admin.send('DELETE', pathOf(uuid, 'paystack_ng'))).body.data.status, 'revoked')
    assertApiError(await admin.get(pathOf(uuid, 'paystack_ng')), 'gateway_account_not_found')
  })

  it('take the payments within their limits, also by the merchant’s rules', async () => {
    const { uuid, api } = await service.newMerchant()
    for (const [name, fields] of [
      ['paystack_ke', KE],
      ['paystack_ng', NG],
    ] as const)
      await put(uuid, fields, '?probe=false', name)
    assert.equal((await initiate(api, { currency: 'KES', amount: 100 })).paymentGateway, 'paystack_ke')
    assert.equal((await initiate(api, { currency: 'NGN', amount: 100 })).paymentGateway, 'paystack_ng')
    assert.equal((await initiate(api, { currency: 'KES', amount: 5 })).paymentGateway, 'sandbox')
    assert.equal((await initiate(api, { currency: 'GHS', amount: 100 })).paymentGateway, 'sandbox')
    const listed = await api.get('/api/v1/payments?paymentGateway=paystack_ng')
    assert.equal(listed.body.data.length, 1, listed.text)
    assert.equal((await api.get('/api/v1/payments?paymentGateway=paystak_ng')).http, 400)
  })

  it('are named in the rules of a merchant, alone or by their gateway', async () => {
    for (const [exclude, expected] of [
      ['paystack_ng', 'paystack_ke'],
      ['paystack_ke', 'sandbox'],
      ['paystack', 'sandbox'],
    ]) {
      const { uuid, api } = await service.newMerchant()
      await put(uuid, KE, '?probe=false', 'paystack_ke')
      const settings = { routing: [{ exclude: [exclude] }] }
      const change = { body: JSON.stringify({ settings }), headers: json }
      assert.equal((await admin.send('PATCH', `/admin/v1/merchants/${uuid}`, change)).http, 200)
      assert.equal((await initiate(api, { currency: 'KES', amount: 100 })).paymentGateway, expected)
    }
  })

  it('decide the country of a payment in a shared currency that names none', async () => {
    const { uuid, api } = await service.newMerchant()
    assert.equal((await initiate(api, { currency: 'USD', amount: 100 })).country, 'US')
    await put(uuid, { ...KE, amounts: '' }, '?probe=false', 'paystack_ke')
    const home = await initiate(api, { currency: 'USD', amount: 100 })
    assert.deepEqual([home.country, home.paymentGateway], ['KE', 'paystack_ke'])
    assert.equal((await initiate(api, { currency: 'USD', amount: 100, country: 'US' })).country, 'US')
    await put(uuid, NG, '?probe=false', 'paystack_ng')
    assert.equal(
      (await initiate(api, { currency: 'USD', amount: 100 })).country,
      'US',
      'two countries decide nothing',
    )
  })

  it('are asked about the country only after the setting of the merchant', async () => {
    const { uuid, api } = await service.newMerchant()
    const change = (country: string) => ({ body: JSON.stringify({ settings: { country } }), headers: json })
    const patch = (country: string) => admin.send('PATCH', `/admin/v1/merchants/${uuid}`, change(country))
    assert.equal((await patch('XX')).http, 400)
    assert.equal((await patch('NG')).body.data.settings.country, 'NG')
    await put(uuid, KE, '?probe=false', 'paystack_ke')
    assert.equal((await initiate(api, { currency: 'USD', amount: 100 })).country, 'NG')
    assert.equal((await initiate(api, { currency: 'GBP', amount: 100 })).country, 'GB')
  })

  it('are rejected with a malformed label or limit', async () => {
    const { uuid } = await service.newMerchant()
    for (const name of ['paystack_', 'paystack_k_e', 'paystack_1234567890123', 'unknown_ke'])
      assertApiError(await put(uuid, KE, '', name), 'gateway_not_found')
    const wrong = await put(uuid, { ...KE, countries: 'Kenya', amounts: 'KES' }, '', 'paystack_ke')
    assert.deepEqual(assertApiError(wrong, 'validation_failed'), [
      'credentials.countries: invalid_format',
      'credentials.amounts: invalid_format',
    ])
  })
})

describe('the gateways of the instance', () => {
  it('lists the gateways with the variables that configure them', async () => {
    const { body } = await admin.get('/admin/v1/gateways')
    const found = body.data.find(({ gateway }: { gateway: string }) => gateway === 'paystack')
    assert.deepEqual(
      found.credentials.map(({ variable }: { variable: string }) => variable),
      ['GATEWAY_PAYSTACK_SECRET_KEY', 'GATEWAY_PAYSTACK_COLLECTION'],
    )
    assert.deepEqual(
      { isConfigured: found.isConfigured, baseUrl: found.baseUrl, webhookUrl: found.webhookUrl },
      {
        isConfigured: false,
        baseUrl: paystack.server.url,
        webhookUrl: `${service.publicUrl}/hooks/paystack`,
      },
    )
  })
})
