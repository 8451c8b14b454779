import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { assertApiError, ISO_TIME, UNKNOWN_UUID, UUID_V7 } from '../support/assertions.ts'
import { TEST_CELLS } from '../support/cells.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const { admin } = service
const demo = await service.newMerchant()

const patch = (uuid: string, body: unknown) =>
  admin.send('PATCH', `/admin/v1/merchants/${uuid}`, {
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  })

async function create(body: object) {
  const answer = await admin.post('/admin/v1/merchants', body)
  assert.equal(answer.http, 201, answer.text)
  return answer.body.data
}

const OPERATIONS = [
  ['GET', '/admin/v1/merchants'],
  ['POST', '/admin/v1/merchants'],
  ['GET', `/admin/v1/merchants/${demo.uuid}`],
  ['PATCH', `/admin/v1/merchants/${demo.uuid}`],
  ['POST', `/admin/v1/merchants/${demo.uuid}/suspend`],
  ['POST', `/admin/v1/merchants/${demo.uuid}/activate`],
  ['GET', `/admin/v1/merchants/${demo.uuid}/keys`],
  ['POST', `/admin/v1/merchants/${demo.uuid}/keys`],
  ['POST', '/admin/v1/keys/000000000000/rotate'],
  ['POST', '/admin/v1/keys/000000000000/revoke'],
  ['GET', '/admin/v1/invariants'],
] as const

describe('a new merchant where there is one cell', () => {
  it('is placed in main, and refused with the name of another cell', async (t) => {
    const single = await testService(t, { cells: 1 })
    const refused = await single.admin.post('/admin/v1/merchants', { name: 'Placed', cell: 'nope' })
    assertApiError(refused, 'validation_failed')
    assert.deepEqual(
      refused.body.error.details.map(({ field }: { field: string }) => field),
      ['cell'],
    )
    assert.match(refused.text, /cell must be an active one: main\./)
    for (const cell of ['main', undefined])
      assert.equal((await single.admin.post('/admin/v1/merchants', { name: 'Placed', cell })).http, 201)
  })
})

describe('authentication of the operators’ API', () => {
  it('requires the operator’s token for every operation', async () => {
    for (const [method, path] of OPERATIONS)
      assertApiError(await service.apiWith(undefined).send(method, path), 'invalid_admin_token')
    assert.equal((await admin.get(`/admin/v1/merchants/${demo.uuid}`)).body.data.status, 'active')
  })

  it('rejects a merchant’s key on operator routes, in either header', async () => {
    for (const [method, path] of OPERATIONS)
      assertApiError(await demo.api.send(method, path), 'invalid_admin_token')
    const bearer = { authorization: `Bearer ${demo.key}` }
    assertApiError(await service.apiWith(undefined).get('/admin/v1/merchants', bearer), 'invalid_admin_token')
  })

  it('rejects the operator’s token on merchant routes', async () => {
    assertApiError(await admin.get('/api/v1/wallet/balance'), 'missing_api_key')
  })

  it('excludes operator routes from the merchants’ document', async () => {
    const { body } = await service.api.get('/openapi.json')
    assert.deepEqual(
      Object.keys(body.paths).filter((path) => !path.startsWith('/api/v1/')),
      [],
    )
  })
})

const NO_SETTINGS = {
  locale: null,
  timeZone: null,
  savedMethods: 'always_tell',
  country: null,
  caseApprovals: [],
  refundApprovals: [],
  refundConfirmations: [],
  redirectOrigins: [],
  routing: [],
  branding: {
    displayName: null,
    logo: null,
    supportEmail: null,
    supportPhone: null,
    supportUrl: null,
    accentColor: null,
  },
}

describe('merchants managed by operators', () => {
  it('creates a merchant from a name alone', async () => {
    const merchant = await create({ name: 'Corner Shop' })
    const { uuid, cell, createdAt } = merchant
    assert.equal(cell === undefined, TEST_CELLS === 1)
    assert.deepEqual(merchant, {
      uuid,
      name: 'Corner Shop',
      mode: 'test',
      baseCurrency: 'USD',
      status: 'active',
      settings: NO_SETTINGS,
      ...(cell !== undefined && { cell }),
      createdAt,
      updatedAt: createdAt,
    })
    assert.match(uuid, UUID_V7)
    assert.match(createdAt, ISO_TIME)
    assert.deepEqual((await admin.get(`/admin/v1/merchants/${uuid}`)).body, {
      status: 'success',
      message: 'Merchant.',
      data: merchant,
    })
  })

  it('rejects a merchant with a bad name, currency or settings, all issues at once', async () => {
    const bad = [
      [{}, ['name: required']],
      [{ name: '' }, ['name: too_short']],
      [{ name: '   ' }, ['name: invalid_format']],
      [{ name: 'x'.repeat(101) }, ['name: too_long']],
      [{ name: 'a\u0000b' }, ['name: invalid_characters']],
      [{ name: 'Shop', baseCurrency: 'usd' }, ['baseCurrency: invalid_currency']],
      [{ name: 1, baseCurrency: 'JPY', settings: [] }, ['baseCurrency', 'name', 'settings']],
    ] as const
    for (const [body, issues] of bad) {
      const answer = await admin.post('/admin/v1/merchants', body)
      assert.equal(answer.http, 400, answer.text)
      const found = assertApiError(answer, answer.body.error.code).sort()
      for (const [index, issue] of issues.entries()) assert.ok(found[index]?.startsWith(issue), answer.text)
      assert.equal(found.length, issues.length)
    }
  })

  it('changes only the fields of a merchant that a patch names', async () => {
    const merchant = await create({ name: 'Before', baseCurrency: 'KES', settings: { locale: 'sw' } })
    const renamed = await patch(merchant.uuid, { name: 'After' })
    assert.equal(renamed.http, 200, renamed.text)
    assert.deepEqual({ ...renamed.body.data, updatedAt: '' }, { ...merchant, name: 'After', updatedAt: '' })
    assertApiError(await patch(merchant.uuid, { status: 'suspended' }), 'unknown_field')
    const moved = await patch(merchant.uuid, { baseCurrency: 'GHS', settings: { locale: 'fr' } })
    assert.deepEqual(
      { ...moved.body.data, updatedAt: '' },
      {
        ...merchant,
        name: 'After',
        baseCurrency: 'GHS',
        settings: { ...NO_SETTINGS, locale: 'fr' },
        updatedAt: '',
      },
    )
    const same = await patch(merchant.uuid, {})
    assert.deepEqual({ ...same.body.data, updatedAt: '' }, { ...moved.body.data, updatedAt: '' })
    assertApiError(await patch(merchant.uuid, { baseCurrency: 'XXX' }), 'invalid_currency')
    assertApiError(await patch(merchant.uuid, { name: '' }), 'validation_failed')
  })

  it('suspends and activates a merchant idempotently', async () => {
    const { uuid } = await create({ name: 'Paused' })
    for (const [verb, status] of [
      ['suspend', 'suspended'],
      ['suspend', 'suspended'],
      ['activate', 'active'],
      ['activate', 'active'],
    ]) {
      const answer = await admin.send('POST', `/admin/v1/merchants/${uuid}/${verb}`)
      assert.equal(`${answer.http} ${answer.body.data.status}`, `200 ${status}`)
    }
  })

  it('answers 404 for an unknown merchant, and 400 for a malformed uuid', async () => {
    const paths = OPERATIONS.map(([method, path]) => [method, path] as const).filter(([, path]) =>
      path.includes(demo.uuid),
    )
    for (const [method, path] of paths) {
      const takesBody = method === 'PATCH' || path.endsWith('/keys')
      const init = takesBody &&
        method !== 'GET' && { body: '{}', headers: { 'content-type': 'application/json' } }
      const ask = (uuid: string) => admin.send(method, path.replace(demo.uuid, uuid), init || {})
      assertApiError(await ask(UNKNOWN_UUID), 'merchant_not_found')
      assertApiError(await ask('nonsense'), 'invalid_uuid')
    }
  })

  it('lists merchants newest first, by pages', async () => {
    const made = [
      await create({ name: 'One' }),
      await create({ name: 'Two' }),
      await create({ name: 'Three' }),
    ]
    const { body } = await admin.get('/admin/v1/merchants?limit=2')
    assert.deepEqual(body.data, [made[2], made[1]])
    assert.deepEqual(
      [body.meta.page, body.meta.limit, body.meta.hasNext, body.meta.hasPrevious],
      [1, 2, true, false],
    )
    const next = (await admin.get('/admin/v1/merchants?limit=2&page=2')).body
    assert.deepEqual(next.data[0], made[0])
    assert.equal(next.meta.hasPrevious, true)
    for (const query of ['limit=0', 'limit=101', 'page=0', 'page=abc', 'limit=2&limit=2'])
      assertApiError(await admin.get(`/admin/v1/merchants?${query}`), 'validation_failed')
  })
})

describe('the invariants for operators', () => {
  it('counts the violations of each invariant by its name', async () => {
    const { http, body } = await admin.get('/admin/v1/invariants')
    assert.equal(http, 200)
    assert.ok(body.data.length >= 9)
    for (const { name, violations } of body.data) {
      assert.match(name, /^invariant_[gilpq]\d\d_\w+$/)
      assert.equal(violations, 0, name)
    }
  })
})
