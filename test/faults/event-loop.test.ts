// F-86: no request blocks the event loop for long, with the largest page of every list. Load that is shed when it is late
// nevertheless: late-event-loop.test.ts.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { createLog } from '../../src/kit/observability/log.ts'
import { CUSTOMER, newReference, payWith } from '../support/builders.ts'
import { makeLink } from '../support/links.ts'
import { holdMeter } from '../support/loop-holds.ts'
import { fillPath, findItemPaths, itemTemplateOf, makeOneOfEverything } from '../support/one-of-everything.ts'
import { type DocumentedOperation, operationsOf } from '../support/openapi.ts'
import { ADMIN_TOKEN, testService } from '../support/service.ts'

const MAX_PAGE = 100
const AT_ONCE = 10
/** Each round makes one record of every kind, and one replay: no job runs here, and ten of them may wait. */
const ROUNDS = 9
const TARGET_MS = 10
/** The processors of one machine differ by half from hour to hour, and the longest hold is close to the target. */
const LIMIT_MS = 2 * TARGET_MS
/** Until one is below the target: the first compiles, any may have a garbage collection in it, and a busy machine is slower. */
const MAX_TRIES = 10

// With a log of its own it is a service in this process, whatever the form of the run.
const log = createLog('silent')
const service = await testService({ after }, { role: 'api', env: { COWRY_RATE_LIMIT: '0' }, log })
const measure = holdMeter({ after })
const operations = operationsOf(service.openApi()).filter(({ method }) => method === 'GET')
const { api, key } = await service.newMerchant()
const everything = await makeOneOfEverything(api, 'Everything')
for (let round = 1; round < ROUNDS; round += 1) await makeOneOfEverything(api, `Round${round}`)
for (let first = 0; first < MAX_PAGE; first += AT_ONCE)
  await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => addCustomer(first + n)))
const itemPaths = await findItemPaths(api, operations, everything)

/** With a paid payment, a saved card and a link. */
async function addCustomer(number: number): Promise<void> {
  const customer = { ...CUSTOMER, email: `customer-${number}@example.com` }
  await payWith(api, 'card_success', { customer, reference: newReference(), metadata: { number } })
  await makeLink(api, { title: `Link ${number}` })
}

function largestPageOf(operation: DocumentedOperation): string {
  const names: string[] = (operation.operation.parameters ?? []).map(({ name }: { name: string }) => name)
  const query = new URLSearchParams()
  if (names.includes('limit')) query.set('limit', String(MAX_PAGE))
  if (/verify-payment|executions/.test(operation.path)) query.set('reference', everything.reference)
  const path = fillPath(operation, itemPaths.get(itemTemplateOf(operation) ?? ''))
  return query.size === 0 ? path : `${path}?${query}`
}

/** Returns the shortest of several holds. */
async function shortestHold(path: string, headers: Record<string, string>): Promise<number> {
  let shortest = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < MAX_TRIES && shortest > TARGET_MS; tries += 1) {
    const { http, ms } = await measure(`${service.url}${path}`, headers)
    assert.equal(http, 200, path)
    shortest = Math.min(shortest, ms)
  }
  return shortest
}

// Of the operators, those about one record read no more than its merchant's operation does.
const operatorLists = operationsOf((await service.admin.get('/admin/v1/openapi.json')).body).filter(
  ({ method, path }) => method === 'GET' && !path.includes('{'),
)
const READS: [DocumentedOperation[], Record<string, string>][] = [
  [operations, { 'x-api-key': key }],
  [operatorLists, { authorization: `Bearer ${ADMIN_TOKEN}` }],
]

describe('the event loop (F-86)', () => {
  for (const [reads, headers] of READS)
    for (const operation of reads)
      it(`is held at most ${LIMIT_MS} ms by ${operation.name} with the largest page`, async () => {
        const ms = await shortestHold(largestPageOf(operation), headers)
        assert.ok(ms <= LIMIT_MS, `${ms} ms`)
      })
})
