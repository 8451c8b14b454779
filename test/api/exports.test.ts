import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { readCsv } from '../../src/kit/csv-reader.ts'
import type { Api } from '../support/api.ts'
import { assertApiError } from '../support/assertions.ts'
import { chargeBody, payWith } from '../support/builders.ts'
import { operationsOf } from '../support/openapi.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })
const reads = operationsOf(service.openApi()).filter(({ method }) => method === 'GET')
const queryNames = (path: string): string[] =>
  (reads.find((one) => one.path === path)?.operation.parameters ?? [])
    .filter((parameter: { in: string }) => parameter.in === 'query')
    .map(({ name }: { name: string }) => name)

/** The rows of a file, each as an object by the names of the columns. */
async function exported(api: Api, path: string): Promise<Record<string, string>[]> {
  const answer = await api.get(path)
  assert.equal(answer.http, 200, answer.text)
  assert.match(String(answer.headers.get('content-type')), /^text\/csv/)
  const file = readCsv(answer.text, 1_000)
  if ('issues' in file) throw new Error(JSON.stringify(file.issues))
  return file.rows.map(({ cells }) =>
    Object.fromEntries(file.header.map((name, n) => [name, cells[n] ?? ''])),
  )
}

const setTimeZone = (merchant: string, timeZone: string) =>
  service.admin.send('PATCH', `/admin/v1/merchants/${merchant}`, {
    body: JSON.stringify({ settings: { timeZone } }),
    headers: { 'content-type': 'application/json' },
  })

const insertCustomers = (merchant: string, count: number) =>
  service.db.script(`
    insert into customers (merchant_id, id, email, email_key, firstname, lastname, search_text, created_at, updated_at)
    select '${merchant}', gen_random_uuid(), e, e, 'P', 'N', e, timestamptz '2026-01-01' + n % 7 * interval '1 hour', now()
    from generate_series(1, ${count}) n, lateral (values ('p' || n || '@x.io')) as v (e)`)

describe('the export of a list', () => {
  it('exists for every list with pages, with the filters of the list', () => {
    const lists = reads.map(({ path }) => path).filter((path) => queryNames(path).includes('cursor'))
    assert.ok(lists.length >= 10, `${lists.length}`)
    const paging = ['page', 'limit', 'cursor', 'sort']
    for (const path of lists) {
      const wanted = queryNames(path).filter((name) => !paging.includes(name))
      assert.deepEqual(queryNames(`${path}/export`).sort(), wanted.sort(), path)
    }
  })

  it('requires a key, and has no row of another merchant', async () => {
    const owner = await service.newMerchant()
    const other = await service.newMerchant()
    const paid = await payWith(owner.api, 'card_success')
    for (const path of ['payments', 'checkout/payments', 'customers', 'events', 'wallet/transactions']) {
      assertApiError(await service.apiWith(undefined).get(`/api/v1/${path}/export`), 'missing_api_key')
      assert.notDeepEqual(await exported(owner.api, `/api/v1/${path}/export`), [])
      assert.deepEqual(await exported(other.api, `/api/v1/${path}/export`), [])
    }
    const ofCustomer = `/api/v1/customers/${paid.customer.uuid}/payments/export`
    assert.equal((await exported(owner.api, ofCustomer)).length, 1)
    assertApiError(await other.api.get(ofCustomer), 'customer_not_found')
  })

  it('has the fields of the record but no secrets, and no text that a spreadsheet would run as a formula', async () => {
    const { api } = await service.newMerchant()
    const paid = await payWith(api, 'card_success', {
      amount: 12.5,
      description: '=1+1',
      metadata: { orderId: 7 },
    })
    await api.post('/api/v1/charges/recurring', chargeBody(paid.paymentMethod.recurringToken))
    const { text } = await api.get('/api/v1/payments/export')
    for (const secret of [paid.accessCode, paid.paymentMethod.recurringToken])
      assert.ok(!text.includes(secret))
    const [first, second] = await exported(api, '/api/v1/payments/export')
    assert.deepEqual(
      [first?.kind, first?.uuid, first?.sourceAmount, first?.['customer.email'], first?.description],
      ['checkout', paid.uuid, '12.50', paid.customer.email, "'=1+1"],
    )
    assert.equal(first?.metadata, '{"orderId":7}')
    assert.equal(first?.createdAt, paid.createdAt)
    assert.equal(second?.kind, 'charge')
    assert.deepEqual(
      (await exported(api, '/api/v1/payments/export?metadata[orderId]=7')).map(({ uuid }) => uuid),
      [paid.uuid],
    )
  })

  it('has times in the time zone of the merchant', async () => {
    const { api, uuid } = await service.newMerchant()
    const wrong = await setTimeZone(uuid, 'Mars/Olympus')
    assertApiError(wrong, 'validation_failed')
    const changed = await setTimeZone(uuid, 'Africa/Nairobi')
    assert.equal(changed.body.data.settings.timeZone, 'Africa/Nairobi')
    const paid = await payWith(api, 'card_success')
    const [row] = await exported(api, '/api/v1/checkout/payments/export')
    assert.match(String(row?.createdAt), /\+03:00$/)
    assert.equal(new Date(String(row?.createdAt)).toISOString(), paid.createdAt)
    const [line] = await exported(api, '/api/v1/wallet/transactions/export')
    assert.match(String(line?.createdAt), /\+03:00$/)
  })

  it('has every row of a long list once, from the oldest on', async () => {
    const { api, uuid } = await service.newMerchant()
    await insertCustomers(uuid, 450)
    const rows = await exported(api, '/api/v1/customers/export')
    assert.equal(rows.length, 450)
    assert.equal(new Set(rows.map(({ uuid: id }) => id)).size, 450)
    const times = rows.map(({ createdAt }) => String(createdAt))
    assert.deepEqual(times, times.toSorted())
    assert.equal((await exported(api, '/api/v1/customers/export?search=p44')).length, 11)
  })

  it('says in a header that earlier events are archived, and has no row for that', async () => {
    const { api, uuid } = await service.newMerchant()
    await payWith(api, 'card_success')
    const read = (query = '') => api.get(`/api/v1/events/export${query}`)
    const before = await read()
    assert.equal(before.headers.get('archived-before'), null)
    await service.db.script(
      `insert into archive_boundaries (merchant_id, archived_before) values ('${uuid}', '2026-01-01Z')`,
    )
    const archived = await read()
    assert.equal(archived.headers.get('archived-before'), '2026-01-01T00:00:00.000Z')
    assert.equal(archived.text, before.text)
    const later = await read('?createdFrom=2026-01-01T00:00:00Z')
    assert.equal(later.headers.get('archived-before'), null)
  })

  it('writes no file for HEAD, so it does not count among those that are written', async () => {
    const { api, uuid } = await service.newMerchant()
    await insertCustomers(uuid, 5_000)
    for (let n = 0; n < 5; n += 1) {
      const { http, headers } = await api.send('HEAD', '/api/v1/customers/export')
      assert.equal(http, 200)
      assert.match(String(headers.get('content-disposition')), /customers\.csv/)
    }
  })
})
