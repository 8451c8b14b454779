// One merchant calls every operation of the OpenAPI document with records of another merchant (tenant isolation).

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { Api, ApiResponse } from '../support/api.ts'
import { UNKNOWN_UUID, withoutRequestId } from '../support/assertions.ts'
import { newReference, payWith } from '../support/builders.ts'
import { bodySchemaOf, exampleOf, fieldsOf, parametersOf, setAt } from '../support/fields.ts'
import {
  fillPath,
  findItemPaths,
  idOf,
  itemTemplateOf,
  makeOneOfEverything,
} from '../support/one-of-everything.ts'
import { type Document, type DocumentedOperation, operationsOf } from '../support/openapi.ts'
import { ADMIN_TOKEN, testService } from '../support/service.ts'
import { readTree } from '../tidy/tree.ts'

// Without background jobs only requests change records.
const service = await testService(
  { after },
  { role: 'api', env: { COWRY_RATE_LIMIT: '0', COWRY_TRUST_PROXY: 'true' } },
)
const operations = operationsOf(service.openApi())
const owner = (await service.newMerchant()).api
const otherMerchant = (await service.newMerchant()).api
// Two of every record, so that every list has a second page.
await makeOneOfEverything(owner, 'Older')
const owned = await makeOneOfEverything(owner, 'Owned')
for (let n = 0; n < 2; n += 1) {
  const { reference } = await payWith(owner, 'card_success')
  await owner.post(`/api/v1/sandbox/payments/${reference}/dispute`, { outcome: 'open' })
}
const ownedPaths = await findItemPaths(owner, operations, owned)
const otherRecords = await makeOneOfEverything(otherMerchant, 'Strange')
const otherPaths = await findItemPaths(otherMerchant, operations, otherRecords)

/** Fields that identify a record other than by its uuid. */
const NAMING: Record<string, string[]> = {
  'POST /api/v1/charges/recurring recurringToken': [owned.recurringToken],
  'POST /api/v1/refunds reference': [owned.reference],
  'POST /api/v1/refunds paymentReference': [owned.reference],
}
const UUID_FIELD = /\[0-9a-f\]\{8\}-/
const before = await readEverything()

function send(api: Api, { method }: DocumentedOperation, path: string, body?: unknown): Promise<ApiResponse> {
  const headers = { 'content-type': 'application/json' }
  return api.send(method, path, body === undefined ? {} : { body: JSON.stringify(body), headers })
}

/** Asserts that the responses do not show which of the two records exists. */
function assertSame(one: ApiResponse, other: ApiResponse, message: string): void {
  assert.equal(one.http, other.http, `${message}: ${one.text} / ${other.text}`)
  // A file has no envelope.
  if (one.body === undefined) assert.equal(one.text, other.text, message)
  else assert.deepEqual(withoutRequestId(one), withoutRequestId(other), message)
}

/** The same path with identifiers of no record. */
function unknownPath(operation: DocumentedOperation): string {
  const names: Record<string, string> = { keyId: '000000000000', reference: 'nothing-has-this-name' }
  return operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => names[name] ?? UNKNOWN_UUID)
}

/** Everything that the owner can read, without the times of last use. */
async function readEverything(): Promise<Record<string, unknown>> {
  const seen: Record<string, unknown> = {}
  for (const operation of operations.filter(({ method }) => method === 'GET')) {
    const item = ownedPaths.get(itemTemplateOf(operation) ?? '')
    const query = operation.path.endsWith('verify-payment') || operation.path.endsWith('executions')
    const path = `${fillPath(operation, item)}${query ? `?reference=${owned.reference}` : ''}`
    const { http, text, body } = await owner.get(path)
    assert.equal(http, 200, `${path}: ${text}`)
    seen[path] = body === undefined ? withoutLastUsedColumn(text) : withoutLastUsed(body)
  }
  return seen
}

function withoutLastUsed(value: Document): Document {
  return JSON.parse(JSON.stringify(value, (name, member) => (name === 'lastUsedAt' ? undefined : member)))
}

/** The same of a CSV file. */
function withoutLastUsedColumn(text: string): string {
  const [head = [], ...rows] = text.split('\r\n').map((line) => line.split(','))
  const index = head.indexOf('lastUsedAt')
  return [head, ...rows].map((cells) => cells.filter((_, n) => n !== index).join(',')).join('\n')
}

/** A body that names no record. */
function bodyWithoutReferences(operation: DocumentedOperation): Document {
  const { reference: _, paymentReference: __, ...example } = exampleOf(operation)
  if (operation.path !== '/api/v1/charges/recurring') return example
  return { ...example, customer: otherRecords.customer, reference: newReference() }
}

describe('records of another merchant (F-74)', () => {
  it('answers a foreign path parameter as an unknown one', async () => {
    const about = operations.filter((operation) => itemTemplateOf(operation))
    assert.ok(about.length > 30)
    for (const operation of about) {
      const body = exampleOf(operation)
      const path = fillPath(operation, ownedPaths.get(itemTemplateOf(operation) ?? ''))
      const foreign = await send(otherMerchant, operation, path, body)
      assert.equal(foreign.http, 404, `${operation.name}: ${foreign.text}`)
      assertSame(foreign, await send(otherMerchant, operation, unknownPath(operation), body), operation.name)
    }
  })

  it('answers a foreign record below an own one as an unknown one', async () => {
    const inside = operations.filter(({ path }) => (path.match(/\{/g) ?? []).length > 1)
    assert.ok(inside.length > 0)
    for (const operation of inside) {
      const template = itemTemplateOf(operation) ?? ''
      const own = otherPaths.get(template) ?? ''
      const collection = own.slice(0, own.lastIndexOf('/'))
      const foreignId = ownedPaths.get(template)?.split('/').at(-1)
      const ask = (id: string) => send(otherMerchant, operation, fillPath(operation, `${collection}/${id}`))
      const foreign = await ask(foreignId ?? '')
      assert.equal(foreign.http, 404, foreign.text)
      assertSame(foreign, await ask(UNKNOWN_UUID), operation.name)
    }
  })

  it('answers a foreign query parameter as an unknown one', async () => {
    const ids = [...ownedPaths.values()].map((path) => path.split('/').at(-1) ?? '')
    let asked = 0
    for (const operation of operations) {
      const path = fillPath(operation, otherPaths.get(itemTemplateOf(operation) ?? ''))
      for (const { name, schema } of parametersOf(operation, 'query')) {
        const isUuid = UUID_FIELD.test(schema.pattern ?? '')
        if (!isUuid && name !== 'reference' && name !== 'search') continue
        const values = isUuid
          ? ids.filter((id) => /^[0-9a-f-]{36}$/.test(id))
          : [owned.reference, owned.customer.email]
        const unknown = await send(
          otherMerchant,
          operation,
          `${path}?${name}=${isUuid ? UNKNOWN_UUID : 'nothing-at-all'}`,
        )
        for (const value of values) {
          const foreign = await send(otherMerchant, operation, `${path}?${name}=${encodeURIComponent(value)}`)
          assertSame(foreign, unknown, `${operation.name} ${name}`)
          asked += 1
        }
      }
    }
    assert.ok(asked > 50, `${asked} requests were sent`)
  })

  it('answers a foreign field of a body as an unknown one', async () => {
    const ids = [...ownedPaths.values()].map((path) => path.split('/').at(-1) ?? '')
    const uuids = ids.filter((id) => /^[0-9a-f-]{36}$/.test(id))
    const named = new Set<string>()
    for (const operation of operations) {
      const path = fillPath(operation, otherPaths.get(itemTemplateOf(operation) ?? ''))
      for (const { path: field, schema } of fieldsOf(bodySchemaOf(operation))) {
        const name = `${operation.name} ${field.join('.')}`
        const values = NAMING[name] ?? (UUID_FIELD.test(schema.pattern ?? '') ? uuids : [])
        for (const value of values) {
          named.add(name)
          const ask = (one: string) =>
            send(otherMerchant, operation, path, setAt(bodyWithoutReferences(operation), field, one))
          const foreign = await ask(value)
          assert.equal(foreign.http, 404, `${name}: ${foreign.text}`)
          assertSame(
            foreign,
            await ask(field.at(-1) === 'recurringToken' ? 'rtk_nothing' : UNKNOWN_UUID),
            name,
          )
        }
      }
    }
    assert.ok(named.size >= 4, [...named].join(', '))
  })

  it('rejects a foreign cursor', async () => {
    const without: string[] = []
    for (const operation of operations) {
      if (!parametersOf(operation, 'query').some(({ name }) => name === 'cursor')) continue
      const template = itemTemplateOf(operation) ?? ''
      const listed = await owner.get(`${fillPath(operation, ownedPaths.get(template))}?limit=1`)
      const cursor = listed.body.meta.nextCursor
      if (cursor === null) {
        without.push(operation.name)
        continue
      }
      const ask = (text: string) =>
        otherMerchant.get(
          `${fillPath(operation, otherPaths.get(template))}?limit=1&cursor=${encodeURIComponent(text)}`,
        )
      const foreign = await ask(cursor)
      assert.equal(foreign.http, 400, `${operation.name}: ${foreign.text}`)
      assertSame(foreign, await ask('no-cursor'), operation.name)
    }
    // The link has no payment.
    assert.deepEqual(without, ['GET /api/v1/payment-links/{uuid}/payments'])
  })

  it('leaves the owner’s records unchanged after all foreign requests', async () => {
    assert.deepEqual(await readEverything(), before)
  })

  it('separates equal Idempotency-Keys of two merchants', async () => {
    const creating = operations.filter(
      ({ method, operation, path }) => method === 'POST' && operation.responses[201] && !path.includes('{'),
    )
    let made = 0
    for (const operation of creating) {
      const headers = {
        'idempotency-key': `chosen-by-both ${operation.name}`,
        'content-type': 'application/json',
      }
      const body = JSON.stringify({
        ...exampleOf(operation),
        expiresAt: undefined,
        ...('url' in exampleOf(operation) && { url: 'http://127.0.0.1:9/' }),
      })
      const first = await owner.send('POST', operation.path, { body, headers })
      if (first.http !== 201) continue
      made += 1
      const second = await otherMerchant.send('POST', operation.path, { body, headers })
      assert.equal(second.http, 201, `${operation.name}: ${second.text}`)
      assert.equal(second.headers.get('idempotent-replayed'), null)
      assert.notEqual(idOf(second.body.data), idOf(first.body.data))
    }
    assert.ok(made >= 4, `${made} were created`)
  })
})

describe('authentication of merchants and operators (F-75)', () => {
  let callers = 0
  /** Each request has its own address, because wrong tokens of one address are rate limited. */
  const fromElsewhere = () => {
    callers += 1
    return {
      'x-forwarded-for': `203.0.113.${callers % 250}, 198.51.${Math.floor(callers / 250)}.${callers % 250}`,
    }
  }

  /** Read from the source, so that the list is complete. */
  const operatorPaths = [
    ...new Set(
      readTree()
        .filter(({ path }) => /^src\/(?!cli\/).*(?<!\.test)\.ts$/.test(path))
        .flatMap(({ text }) => [...text.matchAll(/'(\/admin\/v1\/[^']+)'/g)].map(([, path = '']) => path)),
    ),
  ]

  it('rejects merchant keys on operator routes', async () => {
    const { key } = await service.newMerchant()
    assert.ok(operatorPaths.length > 15, operatorPaths.join(' '))
    for (const template of operatorPaths) {
      const path = template.replaceAll(/\{\w+\}/g, UNKNOWN_UUID)
      const answers = new Set<string>()
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])
        for (const headers of [
          { 'x-api-key': key },
          { authorization: `Bearer ${key}` },
          { 'x-admin-token': key },
        ]) {
          const init = { headers: { ...fromElsewhere(), ...headers } }
          answers.add((await service.apiWith(undefined).send(method, path, init)).body.error.code)
        }
      assert.ok(answers.delete('invalid_admin_token'), `${template} is an operator's`)
      assert.deepEqual([...answers], ['method_not_allowed'], template)
    }
  })

  it('rejects the operator’s token on merchant routes', async () => {
    for (const operation of operations) {
      const path = fillPath(operation, ownedPaths.get(itemTemplateOf(operation) ?? ''))
      const body = bodySchemaOf(operation) && JSON.stringify(exampleOf(operation))
      const ask = async (headers: Record<string, string>) => {
        const init = { body, headers: { 'content-type': 'application/json', ...headers } }
        return (await service.apiWith(undefined).send(operation.method, path, init)).body.error.code
      }
      assert.equal(await ask({ authorization: `Bearer ${ADMIN_TOKEN}` }), 'missing_api_key', operation.name)
      assert.equal(await ask({ 'x-api-key': ADMIN_TOKEN }), 'invalid_api_key', operation.name)
    }
  })
})
