import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { SCOPES } from '../../src/core/merchant.ts'
import type { Api } from '../support/api.ts'
import { assertErrorCode } from '../support/assertions.ts'
import { HAS_LARGER_FORM, shareOf } from '../support/scale.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })

/** The scopes of the operations in the contract; later operations are read from the document. */
const NEEDED: Record<string, string> = {
  'POST /api/v1/checkout/initiate-payment': 'checkout:write',
  'GET /api/v1/checkout/verify-payment': 'checkout:read',
  'POST /api/v1/charges/recurring': 'charges:write',
  'GET /api/v1/customers': 'customers:read',
  'GET /api/v1/customers/{uuid}': 'customers:read',
  'GET /api/v1/customers/{uuid}/payment-methods': 'customers:read',
  'GET /api/v1/wallet/balance': 'wallet:read',
}

interface Operation {
  name: string
  method: string
  path: string
  scope: string
  /** Needed too, where the records of two areas are returned. */
  alsoScope: string | undefined
}

const operations: Operation[] = await documentedOperations()

async function documentedOperations(): Promise<Operation[]> {
  const { paths } = (await service.api.get('/openapi.json')).body
  return Object.entries<Record<string, { description: string }>>(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { description }]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path: path.replaceAll(/\{\w+\}/g, '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f'),
      scope: /Needs the scope `([^`]+)`/.exec(description)?.[1] ?? 'none',
      alsoScope: /and the scope `([^`]+)`/.exec(description)?.[1],
    })),
  )
}

/** Sends an empty request: an authorized key gets a validation error, and nothing is changed. */
function sendRequest(api: Api, { method, path }: Operation) {
  const init = { body: '{}', headers: { 'content-type': 'application/json' } }
  return method === 'GET' ? api.get(path) : api.send(method, path, init)
}

/** To write an area includes to read it. */
const grants = (granted: string, needed: string) =>
  granted === needed || (needed.endsWith(':read') && granted === needed.replace(':read', ':write'))

it('needs a read scope for every operation that reads, and a write scope for every other', () => {
  for (const { name, method, scope } of operations)
    assert.match(scope, method === 'GET' ? /:read$/ : /:write$/, name)
})

it('documents the scope of every operation', () => {
  for (const [name, scope] of Object.entries(NEEDED)) {
    assert.equal(operations.find((operation) => operation.name === name)?.scope, scope, name)
  }
  for (const { name, scope } of operations)
    assert.ok(
      SCOPES.some((known) => known === scope),
      name,
    )
})

const missingFor = (granted: string, { scope, alsoScope }: Operation) =>
  [scope, alsoScope].find((needed) => needed !== undefined && !grants(granted, needed))

it(
  'F-75: allows a key only the operations of its scope, and names the missing scope otherwise',
  HAS_LARGER_FORM,
  async () => {
    for (const [index, scope] of SCOPES.entries()) {
      const { api } = await service.newMerchant([scope])
      for (const operation of operations.filter((one) => missingFor(scope, one) === undefined)) {
        const answer = await sendRequest(api, operation)
        assert.notEqual(answer.http, 403, `${scope} for ${operation.name}: ${answer.text}`)
      }
      // The quick form asks each operation with a third of the scopes that do not suffice.
      for (const operation of shareOf(operations, index)) {
        const missing = missingFor(scope, operation)
        if (missing === undefined) continue
        const answer = await sendRequest(api, operation)
        assertErrorCode(answer, 403, 'insufficient_scope')
        assert.match(answer.body.message, new RegExp(`\\b${missing}\\b`))
      }
    }
  },
)

it('allows a key with * everything, and a key without scopes everything except managing keys', async () => {
  const { uuid, api } = await service.newMerchant(['*'])
  const plain = await service.admin.post(`/admin/v1/merchants/${uuid}/keys`, {})
  assert.deepEqual(
    [...plain.body.data.scopes].sort(),
    SCOPES.filter((scope) => !scope.startsWith('keys:')).sort(),
  )
  for (const operation of operations) {
    assert.notEqual((await sendRequest(api, operation)).http, 403)
    const answer = await sendRequest(service.apiWith(plain.body.data.apiKey), operation)
    assert.equal(answer.http === 403, operation.scope.startsWith('keys:'), operation.name)
  }
})

it('lets a key with write scopes grant the read scopes of the same areas, and no others', async () => {
  const { api } = await service.newMerchant(['keys:write', 'refunds:write'])
  const reader = await api.post('/api/v1/api-keys', { name: 'Accountant', scopes: ['refunds:read'] })
  assert.equal(reader.http, 201, reader.text)
  const { http } = await service.apiWith(reader.body.data.apiKey).get('/api/v1/refunds')
  assert.equal(http, 200)
  const excess = await api.post('/api/v1/api-keys', { name: 'Accountant', scopes: ['charges:read'] })
  assertErrorCode(excess, 403, 'scope_exceeded')
})

it('F-75: checks the scope before it validates the request', async () => {
  const { api } = await service.newMerchant(['wallet:read'])
  const path = '/api/v1/checkout/initiate-payment'
  assertErrorCode(await api.postText(path, '{broken'), 403, 'insufficient_scope')
  assertErrorCode(await api.postText(path, '{}', { 'content-type': 'text/plain' }), 403, 'insufficient_scope')
  assertErrorCode(await api.get('/api/v1/customers/nonsense'), 403, 'insufficient_scope')
})
