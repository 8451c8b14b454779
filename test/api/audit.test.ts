// The audit log: every write that is not a payment leaves exactly one entry, in the transaction of the write.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { OBJECT_TYPES } from '../../src/audit/entry.ts'
import { sql } from '../../src/kit/db/db.ts'
import type { Api, ApiResponse } from '../support/api.ts'
import { assertApiError, UNKNOWN_UUID } from '../support/assertions.ts'
import { payWith } from '../support/builders.ts'
import { newProposal, requireTwoPeople } from '../support/cases.ts'
import { ONE_DATABASE } from '../support/cells.ts'
import { exampleOf } from '../support/fields.ts'
import { fillPath, findItemPaths, itemTemplateOf, makeOneOfEverything } from '../support/one-of-everything.ts'
import { type Document, operationsOf } from '../support/openapi.ts'
import { BANK, p2pBody } from '../support/p2p.ts'
import { ADMIN_TOKEN, testService } from '../support/service.ts'

const service = await testService({ after }, { env: { COWRY_RATE_LIMIT: '0', COWRY_TRUST_PROXY: 'true' } })
const { admin } = service
const AUDIT = '/api/v1/audit'

async function entriesOf(api: Api, query = ''): Promise<Document[]> {
  const answer = await api.get(`${AUDIT}?limit=100${query}`)
  assert.equal(answer.http, 200, answer.text)
  return answer.body.data
}

/** The entries that a call adds for a merchant. */
async function entriesAfter(merchant: string, call: () => Promise<ApiResponse>): Promise<Document[]> {
  const read = async () => (await admin.get(`/admin/v1/audit?merchant=${merchant}&limit=100`)).body.data
  const before = new Set((await read()).map(({ uuid }: Document) => uuid))
  const answer = await call()
  assert.ok(answer.http < 300, answer.text)
  return (await read()).filter(({ uuid }: Document) => !before.has(uuid))
}

describe('the audit log of a merchant', () => {
  it('requires a key with the scope audit:read', async () => {
    const { api } = await service.newMerchant(['keys:write'])
    assertApiError(await service.apiWith(undefined).get(AUDIT), 'missing_api_key')
    assertApiError(await api.get(AUDIT), 'insufficient_scope')
    assertApiError(await service.apiWith(undefined).get('/admin/v1/audit'), 'invalid_admin_token')
    assertApiError(await api.get('/admin/v1/audit/verify'), 'invalid_admin_token')
  })

  it(
    'records the actor, the address, the request and the values before and after',
    ONE_DATABASE,
    async () => {
      const { api, uuid } = await service.newMerchant()
      const { body } = await api.post('/api/v1/webhooks/endpoints', {
        url: 'http://127.0.0.1:9/old',
        events: ['payment.successful'],
      })
      const endpoint = body.data.uuid
      const changed = await api.send('PATCH', `/api/v1/webhooks/endpoints/${endpoint}`, {
        body: JSON.stringify({ url: 'http://127.0.0.1:9/new' }),
        headers: {
          'content-type': 'application/json',
          'x-request-id': 'change-of-the-endpoint',
          'x-forwarded-for': '203.0.113.7',
        },
      })
      assert.equal(changed.http, 200, changed.text)
      const [entry, created] = await entriesOf(api, `&object=${endpoint}`)
      const [key] = (await api.get('/api/v1/api-keys')).body.data
      assert.deepEqual(entry.actor, { type: 'api_key', id: key.keyId, role: null, session: null })
      assert.equal(entry.address, '203.0.113.7')
      assert.equal(entry.requestId, 'change-of-the-endpoint')
      assert.equal(entry.operation, 'PATCH /api/v1/webhooks/endpoints/{uuid}')
      assert.deepEqual(entry.object, { type: 'webhook_endpoint', id: endpoint })
      assert.deepEqual(entry.changes, [
        {
          type: 'webhook_endpoint',
          id: endpoint,
          before: { url: 'http://127.0.0.1:9/old' },
          after: { url: 'http://127.0.0.1:9/new' },
        },
      ])
      assert.equal(created.changes[0].before, null)
      assert.equal(created.changes[0].after.secret_sealed, '[redacted]')
      assert.equal(entry.previousHash, created.hash)
      // Operators see it with the merchant, and their own changes of this merchant are in the same chain.
      const all = (await admin.get(`/admin/v1/audit?merchant=${uuid}&sort=createdAt:asc`)).body.data
      assert.deepEqual(
        all.map(({ number, actor, operation }: Document) => [number, actor.type, operation]),
        [
          [1, 'operator', 'POST /admin/v1/merchants'],
          [2, 'operator', 'POST /admin/v1/merchants/{uuid}/keys'],
          [3, 'api_key', 'POST /api/v1/webhooks/endpoints'],
          [4, 'api_key', 'PATCH /api/v1/webhooks/endpoints/{uuid}'],
        ],
      )
    },
  )

  it('shows no entry of another merchant', async () => {
    const [one, other] = [await service.newMerchant(), await service.newMerchant()]
    const key = (await one.api.post('/api/v1/api-keys', { name: 'Second', scopes: ['audit:read'] })).body.data
    assert.equal((await entriesOf(one.api, `&object=${key.keyId}`)).length, 1)
    assert.deepEqual(await entriesOf(other.api, `&object=${key.keyId}`), [])
    const text = (await other.api.get(`${AUDIT}/export`)).text
    assert.ok(!text.includes(key.keyId))
  })

  it('finds entries by each filter, and none for another value', async () => {
    const { api, uuid } = await service.newMerchant()
    // The longest that the service takes from a client.
    const requestId = 'filtered'.repeat(16)
    const headers = {
      'content-type': 'application/json',
      'x-request-id': requestId,
      'x-forwarded-for': '203.0.113.9',
    }
    const body = JSON.stringify({ name: 'Filtered', scopes: ['audit:read'] })
    const { keyId } = (await api.send('POST', '/api/v1/api-keys', { body, headers })).body.data
    const [entry] = await entriesOf(api, `&object=${keyId}`)
    const filters: Record<string, string> = {
      object: keyId,
      objectType: 'api_key',
      actor: entry.actor.id,
      operation: 'POST /api/v1/api-keys',
      requestId,
      address: '203.0.113.9',
      createdFrom: entry.createdAt,
    }
    for (const [name, value] of Object.entries(filters)) {
      const found = await entriesOf(api, `&${name}=${encodeURIComponent(value)}`)
      assert.ok(
        found.some((one) => one.uuid === entry.uuid),
        name,
      )
      const path = `/admin/v1/audit?${name}=${encodeURIComponent(value)}&createdFrom=${entry.createdAt}`
      const byOperator = (await admin.get(name === 'createdFrom' ? (path.split('&')[0] ?? '') : path)).body
        .data
      assert.ok(
        byOperator.some((one: Document) => one.uuid === entry.uuid),
        `${name} for operators`,
      )
      if (name === 'createdFrom' || name === 'objectType' || name === 'operation') continue
      assert.deepEqual(await entriesOf(api, `&${name}=nothing-else`), [], name)
    }
    assert.deepEqual(await entriesOf(api, '&objectType=refund'), [])
    assert.deepEqual(await entriesOf(api, '&operation=POST%20%2Fapi%2Fv1%2Frefunds'), [])
    assert.equal((await admin.get(`/admin/v1/audit?merchant=${uuid}&limit=1`)).body.meta.total, 3)
  })

  it('refuses a type of object or an operation that does not exist, and names the one that was meant', async () => {
    const { api } = await service.newMerchant()
    const mistakes = {
      'objectType=paymnt_link': 'payment_link',
      'operation=POST /api/v1/refund': 'POST /api/v1/refunds',
    }
    for (const [filter, meant] of Object.entries(mistakes)) {
      for (const path of [AUDIT, `${AUDIT}/export`]) {
        const answer = await api.get(`${path}?${encodeURI(filter)}`)
        assertApiError(answer, 'validation_failed')
        assert.ok(answer.body.message.endsWith(`Did you mean ${meant}?`), answer.body.message)
      }
    }
  })

  it('takes the type of every audited table as a filter', async () => {
    const types = await service.db.query(sql<{ type: string }>`
      select distinct split_part(encode(tgargs, 'escape'), '\\000', 1) as type from pg_trigger where tgname = 'audit_collect'`)
    assert.deepEqual([...new Set(types.map(({ type }) => type))].sort(), OBJECT_TYPES.toSorted())
  })

  it('exports CSV from which every hash can be calculated again', async () => {
    const { api } = await service.newMerchant()
    await api.post('/api/v1/api-keys', { name: '=HYPERLINK("x")', scopes: ['audit:read'] })
    const { text, headers } = await api.get(`${AUDIT}/export`)
    assert.match(headers.get('content-type') ?? '', /^text\/csv/)
    const lines = text.trimEnd().split('\r\n').slice(1)
    assert.equal(lines.length, 3)
    let previous = '0'.repeat(64)
    for (const line of lines) {
      const cells = line
        .slice(1, -1)
        .split('","')
        .map((cell) => cell.replaceAll('""', '"'))
      const [previousHash, hash, record] = cells.slice(-3)
      assert.equal(previousHash, previous)
      const calculated = createHash('sha256')
        .update(Buffer.from(previous, 'hex'))
        .update(record ?? '')
      assert.equal(calculated.digest('hex'), hash)
      previous = hash ?? ''
    }
  })

  it('shows no text that a person wrote freely, only that it was given', async () => {
    const { api, uuid } = await service.newMerchant()
    const TEXT = 'Jane Roe of Nyeri'
    const threshold = { settings: { caseApprovals: [{ currency: 'KES', from: 1 }] } }
    assert.equal((await sendJson(admin, 'PATCH', `/admin/v1/merchants/${uuid}`, threshold)).http, 200)
    const caseId = await newCase(api)
    const proposed = await api.post(`/api/v1/cases/${caseId}/resolve`, { resolution: 'accept', note: TEXT })
    assert.equal(proposed.body.data.state, 'awaiting_approval', proposed.text)
    const note = { resolution: 'return', note: TEXT, proof: 'bank-1' }
    assert.equal((await admin.post(`/admin/v1/cases/${caseId}/resolve`, note)).http, 200)
    const { reference } = await payWith(api, 'card_success')
    const refunded = await api.post('/api/v1/refunds', { paymentReference: reference, reason: TEXT })
    assert.equal(refunded.body.data.reason, TEXT, refunded.text)
    const [refund, resolved, proposal] = await entriesOf(api)
    assert.equal(refund.changes[0].after.reason, '[redacted]')
    assert.equal(resolved.changes[0].after.note, '[redacted]')
    const { resolution, note: shown } = proposal.changes[0].after.proposal
    assert.deepEqual([resolution, shown], ['accept', '[redacted]'])
    assert.ok(!(await admin.get(`/admin/v1/audit/export?merchant=${uuid}`)).text.includes(TEXT))
  })

  it('rolls back the entry with its change, and records a replayed request once', async () => {
    const { api, uuid } = await service.newMerchant()
    const forbidden = { name: 'Other', scopes: ['nonsense'] }
    assertApiError(await api.post('/api/v1/api-keys', forbidden), 'validation_failed')
    const headers = { 'content-type': 'application/json', 'idempotency-key': 'once' }
    const body = JSON.stringify({ name: 'Once', scopes: ['audit:read'] })
    const send = () => api.send('POST', '/api/v1/api-keys', { body, headers })
    assert.equal((await entriesAfter(uuid, send)).length, 1)
    assert.equal((await entriesAfter(uuid, send)).length, 0)
  })

  it('keeps one chain when many requests write at once', ONE_DATABASE, async () => {
    const { api, uuid } = await service.newMerchant()
    const made = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        api.post('/api/v1/customers', { email: `c${index}@example.com`, firstname: 'A', lastname: 'B' }),
      ),
    )
    for (const answer of made) assert.equal(answer.http, 201, answer.text)
    const numbers = (await entriesOf(api, '&sort=createdAt:asc')).map(({ number }) => number)
    assert.deepEqual(
      numbers.toSorted((a, b) => a - b),
      Array.from({ length: 22 }, (_, index) => index + 1),
    )
    const { body } = await admin.get(`/admin/v1/audit/verify?merchant=${uuid}`)
    assert.deepEqual([body.data.intact, body.data.chains, body.data.entries], [true, 1, 22])
  })
})

/** Operations of the merchants' API that are payments themselves, or part of one. */
const PAYMENTS = new Set([
  'POST /api/v1/checkout/initiate-payment',
  'POST /api/v1/charges/recurring',
  'POST /api/v1/p2p/payments',
  'POST /api/v1/checkout/payments/{uuid}/cancel',
])

/** Bodies where the documented example does not fit the records of the test. */
const BODIES: Record<string, (owned: { reference: string }) => object> = {
  'POST /api/v1/refunds': ({ reference }) => ({ reference }),
  'POST /api/v1/webhooks/endpoints': () => ({ url: 'http://127.0.0.1:9/audited' }),
  'PATCH /api/v1/webhooks/endpoints/{uuid}': () => ({ description: 'changed by the audit test' }),
  'POST /api/v1/customers': () => ({ email: 'audited-too@example.com', firstname: 'A', lastname: 'B' }),
  'PATCH /api/v1/customers/{uuid}': () => ({ firstname: 'Changed' }),
  'POST /api/v1/payment-links': () => ({ title: 'Audited', amount: 10, currency: 'KES' }),
  'PATCH /api/v1/payment-links/{uuid}': () => ({ title: 'Changed' }),
  'PATCH /api/v1/p2p/accounts/{uuid}': () => ({ accountName: 'Changed' }),
  'POST /api/v1/p2p/accounts': () => BANK,
  'POST /api/v1/api-keys': () => ({ name: 'Audited', scopes: ['wallet:read'] }),
  'POST /api/v1/events/replay': () => ({ from: '2026-01-01T00:00:00.000Z', to: '2026-01-01T00:00:01.000Z' }),
  'POST /api/v1/events/{uuid}/replay': () => ({}),
}

/** Deletes and closes come last, because the other operations need the records. */
const isLast = (name: string) => /^DELETE|deactivate|revoke/.test(name)

describe('writes of the merchants’ API', () => {
  it('leaves exactly one entry for each write that is not a payment', async () => {
    const { api, uuid } = await service.newMerchant()
    await requireTwoPeople(admin, uuid, 50_000)
    const owned = await makeOneOfEverything(api, 'Audited')
    // A later card, which is listed first and is not the default.
    await payWith(api, 'card_3ds', { customer: owned.customer })
    const operations = operationsOf(service.openApi())
    const paths = await findItemPaths(api, operations, owned)
    const writes = operations.filter(
      ({ name, method, path }) =>
        method !== 'GET' && !PAYMENTS.has(name) && !path.startsWith('/api/v1/sandbox/'),
    )
    assert.ok(writes.length > 20)
    const p2p = await p2pOf(api)
    const seen: [string, string[]][] = []
    for (const operation of writes.toSorted((a, b) => Number(isLast(a.name)) - Number(isLast(b.name)))) {
      const { name, method } = operation
      const path = name.includes('/p2p/payments/')
        ? await p2p(name)
        : name.endsWith('/cases/{uuid}/reject')
          ? `/api/v1/cases/${await newProposal(api, 50_000)}/reject`
          : fillPath(operation, paths.get(itemTemplateOf(operation) ?? ''))
      const body = BODIES[name]?.(owned) ?? exampleOf(operation)
      const headers = { 'content-type': 'application/json' }
      const request = body === undefined ? {} : { body: JSON.stringify(body), headers }
      const added = await entriesAfter(uuid, () => api.send(method, path, request)).catch((error: Error) => [
        { operation: error.message },
      ])
      seen.push([name, added.map((entry) => entry.operation)])
    }
    assert.deepEqual(
      seen.filter(([name, added]) => added.length !== 1 || added[0] !== name),
      [],
    )
    for (const name of PAYMENTS)
      assert.ok(
        operations.some((operation) => operation.name === name),
        name,
      )
    assert.deepEqual(
      (await entriesOf(api)).filter(({ operation }) => PAYMENTS.has(operation)),
      [],
      'payments leave no entry',
    )
  })
})

/** For each operation a P2P payment of its own, in the state that the operation needs. */
async function p2pOf(api: Api) {
  return async (name: string): Promise<string> => {
    const { body } = await api.post('/api/v1/p2p/payments', p2pBody())
    const path = `/api/v1/p2p/payments/${body.data.uuid}`
    const verb = name.split('/').at(-1) ?? ''
    if (verb === 'confirm' || verb === 'reject') {
      const marked = await api.post(`${path}/mark-paid`, {})
      assert.equal(marked.http, 200, marked.text)
    }
    return `${path}/${verb}`
  }
}

describe('writes of the operators’ API', () => {
  it('leaves one entry for each write about a merchant', async () => {
    const { api, uuid } = await service.newMerchant()
    const base = `/admin/v1/merchants/${uuid}`
    const key = (await admin.post(`${base}/keys`, { name: 'one', scopes: ['*'] })).body.data.keyId
    const caseId = await newCase(api)
    await requireTwoPeople(admin, uuid)
    const proposed = await newProposal(api)
    const calls: Record<string, () => Promise<ApiResponse>> = {
      'PATCH /admin/v1/merchants/{uuid}': () => sendJson(admin, 'PATCH', base, { name: 'Renamed' }),
      'POST /admin/v1/merchants/{uuid}/keys': () =>
        admin.post(`${base}/keys`, { name: 'two', scopes: ['*'] }),
      'POST /admin/v1/keys/{keyId}/rotate': () => admin.post(`/admin/v1/keys/${key}/rotate`, {}),
      'POST /admin/v1/keys/{keyId}/revoke': () => admin.post(`/admin/v1/keys/${key}/revoke`, {}),
      'POST /admin/v1/cases/{uuid}/resolve': () =>
        admin.post(`/admin/v1/cases/${caseId}/resolve`, { resolution: 'accept', note: 'done' }),
      'POST /admin/v1/cases/{uuid}/reject': () => admin.post(`/admin/v1/cases/${proposed}/reject`, {}),
      'POST /admin/v1/merchants/{uuid}/suspend': () => admin.post(`${base}/suspend`, {}),
      'POST /admin/v1/merchants/{uuid}/activate': () => admin.post(`${base}/activate`, {}),
    }
    for (const [name, call] of Object.entries(calls)) {
      const added = await entriesAfter(uuid, call)
      assert.deepEqual(
        added.map(({ operation }) => operation),
        [name],
      )
      assert.equal(added[0].actor.type, 'operator')
      assert.match(added[0].actor.id, /^[0-9a-f]{12}$/)
      assert.ok(!JSON.stringify(added).includes(ADMIN_TOKEN))
    }
    const [suspended] = (await admin.get(`/admin/v1/audit?merchant=${uuid}&limit=2`)).body.data.slice(1)
    assert.deepEqual(suspended.changes[0].before, { status: 'active' })
    assert.deepEqual(suspended.changes[0].after, { status: 'suspended' })
  })
})

/** The entries with this filter that a call adds to all chains. */
async function entriesAdded(filter: string, call: () => Promise<ApiResponse>): Promise<Document[]> {
  const path = `/admin/v1/audit?limit=100&${encodeURI(filter)}`
  const read = async (): Promise<Document[]> => (await admin.get(path)).body.data
  const before = new Set((await read()).map(({ uuid }) => uuid))
  const answer = await call()
  assert.ok(answer.http < 300, answer.text)
  return (await read()).filter(({ uuid }) => !before.has(uuid))
}

describe('writes of the operators’ API that begin something', () => {
  const SETTLEMENT = [
    'type,key,reference,amount,currency,fee,status',
    `payment,${UNKNOWN_UUID},none,10.00,KES,,success`,
    '',
  ].join('\r\n')
  const file = { gateway: 'sandbox', content: Buffer.from(SETTLEMENT).toString('base64') }
  const FILES = '/admin/v1/reconciliations'
  const BREAKS = '/admin/v1/reconciliation-breaks'

  it('leaves one entry for a new merchant, each change of a gateway account, a settlement file and its breaks', async () => {
    const { uuid } = await service.newMerchant()
    const account = `/admin/v1/merchants/${uuid}/gateways/paystack`
    const credentials = { secretKey: 'sk_test_0123456789abcdef' }
    const breakPath = async () => {
      const [found] = (await admin.get(`${BREAKS}?limit=1`)).body.data
      return `${BREAKS}/${found.uuid}`
    }
    const calls: [string, string, () => Promise<ApiResponse>][] = [
      ['POST /admin/v1/merchants', 'merchant', () => admin.post('/admin/v1/merchants', { name: 'New' })],
      [
        'PUT /admin/v1/merchants/{uuid}/gateways/{gateway}',
        'gateway_account',
        () => sendJson(admin, 'PUT', `${account}?probe=false`, { credentials }),
      ],
      [
        'DELETE /admin/v1/merchants/{uuid}/gateways/{gateway}',
        'gateway_account',
        () => admin.send('DELETE', account),
      ],
      [`POST ${FILES}`, 'reconciliation', () => admin.post(FILES, file)],
      [
        `POST ${BREAKS}/{uuid}/assign`,
        'reconciliation_break',
        async () => admin.post(`${await breakPath()}/assign`, { owner: 'Wanjiru' }),
      ],
      [
        `POST ${BREAKS}/{uuid}/close`,
        'reconciliation_break',
        async () => admin.post(`${await breakPath()}/close`, { note: 'Of another system.' }),
      ],
    ]
    for (const [name, type, call] of calls) {
      const added = await entriesAdded(`operation=${name}`, call)
      assert.deepEqual(
        added.map(({ object, actor }) => [object.type, actor.type]),
        [[type, 'operator']],
        name,
      )
      assert.ok(!JSON.stringify(added).includes(credentials.secretKey))
    }
    assert.deepEqual(
      await entriesAdded('objectType=reconciliation', () => admin.post(`${FILES}/preview`, file)),
      [],
    )
  })
})

function sendJson(api: Api, method: string, path: string, body: object): Promise<ApiResponse> {
  return api.send(method, path, {
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  })
}

async function newCase(api: Api): Promise<string> {
  const { uuid: payment } = await payWith(api, 'transfer_underpaid')
  return (await admin.get(`/admin/v1/cases?payment=${payment}`)).body.data[0].uuid
}
