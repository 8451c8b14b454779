// Row-level security, the second layer of tenant isolation: every statement loses its merchant filter, and still finds no
// row of another merchant. The control test switches row-level security off too, and then the rows are found.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { allStatements } from '../../src/kit/db/db.ts'
import type { Api, ApiResponse } from '../support/api.ts'
import { UNKNOWN_UUID, withoutRequestId } from '../support/assertions.ts'
import { ONE_DATABASE } from '../support/cells.ts'
import { exampleOf, parametersOf } from '../support/fields.ts'
import { fillPath, findItemPaths, itemTemplateOf, makeOneOfEverything } from '../support/one-of-everything.ts'
import { type DocumentedOperation, operationsOf } from '../support/openapi.ts'
import { ONE_PROCESS, testService } from '../support/service.ts'

// Without background jobs every statement belongs to a request.
const service = await testService({ after }, { role: 'api', env: { COWRY_RATE_LIMIT: '0' } })
const operations = operationsOf(service.openApi())
const reads = operations.filter(({ method }) => method === 'GET')
const owner = (await service.newMerchant()).api
const otherMerchant = (await service.newMerchant()).api
const owned = await makeOneOfEverything(owner, 'Owned')
const ownedPaths = await findItemPaths(owner, operations, owned)
const otherRecords = await makeOneOfEverything(otherMerchant, 'Strange')
const otherPaths = await findItemPaths(otherMerchant, operations, otherRecords)

const FILTER = /\b(?:\w+\.)?merchant_id = (\$\d+)/g

/** Runs the work while no statement filters by its merchant. */
async function withoutFilters(work: () => Promise<void>): Promise<number> {
  const filtered = allStatements().filter(({ text }) => text.match(FILTER))
  const originals = filtered.map((statement) => ({ ...statement }))
  for (const [index, statement] of filtered.entries()) {
    const text = statement.text.replaceAll(FILTER, '$1::uuid is not null')
    Object.assign(statement, { name: `unfiltered_${index}`, text })
  }
  try {
    await work()
  } finally {
    for (const [index, statement] of filtered.entries()) Object.assign(statement, originals[index])
  }
  return filtered.length
}

function send(api: Api, { method }: DocumentedOperation, path: string, body?: unknown): Promise<ApiResponse> {
  const headers = { 'content-type': 'application/json' }
  return api.send(method, path, body === undefined ? {} : { body: JSON.stringify(body), headers })
}

/** The address of an operation about a record of these paths' merchant. */
function addressOf(operation: DocumentedOperation, paths: Map<string, string>, reference: string): string {
  const needsReference = /verify-payment$|executions$/.test(operation.path)
  const path = fillPath(operation, paths.get(itemTemplateOf(operation) ?? ''))
  return needsReference ? `${path}?reference=${encodeURIComponent(reference)}` : path
}

function unknownAddressOf(operation: DocumentedOperation): string {
  const names: Record<string, string> = { keyId: '000000000000', reference: 'nothing-has-this-name' }
  return operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => names[name] ?? UNKNOWN_UUID)
}

// In JSON, and in the file of keys, whose last columns are lastUsedAt, revokedAt and isCurrent. A key notes its use once a minute.
const LAST_USE = /"lastUsedAt":"[^"]*"|"[^"]*"(?=,"[^"]*","(?:true|false)"\r\n)/g

/** Everything that a merchant can read, without the times of last use. */
async function readAll(api: Api, paths: Map<string, string>, reference: string) {
  const seen: Record<string, string> = {}
  for (const operation of reads) {
    const { http, text } = await api.get(addressOf(operation, paths, reference))
    assert.equal(http, 200, `${operation.name}: ${text}`)
    seen[operation.name] = text.replaceAll(LAST_USE, '')
  }
  return seen
}

const readOwned = () => readAll(owner, ownedPaths, owned.reference)
const readOtherMerchant = () => readAll(otherMerchant, otherPaths, otherRecords.reference)

/** The operations by which the other merchant reads records of the owner. */
async function findLeaks(): Promise<string[]> {
  const leaks: string[] = []
  for (const operation of reads) {
    const { http, text } = await otherMerchant.get(addressOf(operation, ownedPaths, owned.reference))
    assert.ok(http < 500, `${operation.name}: ${text}`)
    const isAboutOne = itemTemplateOf(operation) !== undefined || text.includes(owned.reference)
    if (isAboutOne ? http < 400 : text.includes('Owned') || text.includes('owned@'))
      leaks.push(operation.name)
  }
  return leaks
}

const before = { owned: await readOwned(), otherRecords: await readOtherMerchant() }

describe('statements without their merchant filter (F-74)', ONE_PROCESS, () => {
  it('finds no record of another merchant without the merchant filter', async () => {
    const about = operations.filter((operation) => itemTemplateOf(operation))
    const filters = await withoutFilters(async () => {
      for (const operation of about) {
        const body = exampleOf(operation)
        const path = fillPath(operation, ownedPaths.get(itemTemplateOf(operation) ?? ''))
        const foreign = await send(otherMerchant, operation, path, body)
        assert.equal(foreign.http, 404, `${operation.name}: ${foreign.text}`)
        const unknown = await send(otherMerchant, operation, unknownAddressOf(operation), body)
        assert.deepEqual(withoutRequestId(foreign), withoutRequestId(unknown), operation.name)
      }
    })
    assert.ok(about.length > 30)
    assert.ok(filters > 100, `${filters} statements lost their merchant filter`)
  })

  it('lists, searches and exports only own records without the merchant filter', async () => {
    await withoutFilters(async () => {
      assert.deepEqual(await findLeaks(), [])
      assert.deepEqual(await readOtherMerchant(), before.otherRecords)
      for (const operation of reads)
        for (const { name } of parametersOf(operation, 'query').filter((one) => one.name === 'search')) {
          const path = fillPath(operation, otherPaths.get(itemTemplateOf(operation) ?? ''))
          for (const text of [owned.reference, owned.customer.email, 'Owned']) {
            const found = await otherMerchant.get(`${path}?${name}=${encodeURIComponent(text)}`)
            // An empty file has its header alone.
            const rows = path.endsWith('/export') ? found.text.split('\r\n').slice(1, -1) : found.body.data
            assert.deepEqual([found.http, rows], [200, []], `${operation.name}: ${text}`)
          }
        }
    })
  })

  it(
    'finds foreign rows once row-level security is off as well, which shows that it was the protection',
    ONE_DATABASE,
    async () => {
      const tables = `select format('alter table %I ', table_name) from tenant_tables`
      const change = (how: string) => `do $$
      declare change text;
      begin
        for change in ${tables} loop execute change || '${how} row level security'; end loop;
      end
    $$`
      // Jobs use the tables meanwhile, so the change may be a deadlock victim, which a transaction runs again.
      const turn = (how: string) => service.db.transaction((tx) => tx.script(change(how)))
      await turn('disable')
      try {
        await withoutFilters(async () => {
          const leaks = await findLeaks()
          assert.ok(leaks.length >= 15, `only through ${leaks.join(', ')}`)
        })
      } finally {
        await turn('enable')
      }
    },
  )

  it('leaves the records of every merchant unchanged', async () => {
    assert.deepEqual(await readOwned(), before.owned)
    assert.deepEqual(await readOtherMerchant(), before.otherRecords)
  })
})
