import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { Api } from '../support/api.ts'
import { assertErrorCode } from '../support/assertions.ts'
import { seedCustomers, seedNumberedCustomers } from '../support/seed.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })

async function list(api: Api, query = '') {
  const answer = await api.get(`/api/v1/customers${query}`)
  assert.equal(answer.http, 200, answer.text)
  return answer.body
}

const uuidsOf = (body: { data: { uuid: string }[] }) => body.data.map(({ uuid }) => uuid)

async function merchantWith(count: number) {
  const merchant = await service.newMerchant()
  const people = Array.from({ length: count }, (_, index) => ({
    firstname: `First${index}`,
    lastname: `Last${index}`,
    email: `p${index}@example.com`,
  }))
  const uuids = await seedCustomers(service.db, merchant.uuid, people)
  return { ...merchant, newestFirst: uuids.toReversed(), oldestFirst: uuids }
}

describe('a page of customers', () => {
  it('lists the newest 20 customers by default, with totals in meta', async () => {
    const { api, newestFirst } = await merchantWith(45)
    const body = await list(api)
    assert.deepEqual(Object.keys(body), ['status', 'message', 'data', 'meta'])
    assert.deepEqual(uuidsOf(body), newestFirst.slice(0, 20))
    assert.deepEqual(body.meta, {
      page: 1,
      limit: 20,
      total: 45,
      totalIsCapped: false,
      pageCount: 3,
      hasNext: true,
      hasPrevious: false,
      nextCursor: body.meta.nextCursor,
    })
    assert.match(body.meta.nextCursor, /^[\w-]+\.[\w-]+$/)
  })

  it('selects customers by page and limit', async () => {
    const { api, newestFirst } = await merchantWith(45)
    const last = await list(api, '?page=3')
    assert.deepEqual(uuidsOf(last), newestFirst.slice(40))
    assert.deepEqual(last.meta, {
      page: 3,
      limit: 20,
      total: 45,
      totalIsCapped: false,
      pageCount: 3,
      hasNext: false,
      hasPrevious: true,
      nextCursor: null,
    })
    const middle = await list(api, '?page=2&limit=7')
    assert.deepEqual(uuidsOf(middle), newestFirst.slice(7, 14))
    assert.equal(middle.meta.pageCount, 7)
    assert.deepEqual(uuidsOf(await list(api, '?limit=100')), newestFirst)
    assert.deepEqual(uuidsOf(await list(api, '?limit=1')), newestFirst.slice(0, 1))
  })

  it('lists no customers after the last page, and for a merchant without customers', async () => {
    const { api } = await merchantWith(3)
    const beyond = await list(api, '?page=2')
    assert.deepEqual(beyond.data, [])
    assert.equal(beyond.meta.hasNext, false)
    assert.equal(beyond.meta.hasPrevious, true)
    const emptyList = await list((await service.newMerchant()).api)
    assert.deepEqual(emptyList.data, [])
    assert.deepEqual(emptyList.meta, {
      page: 1,
      limit: 20,
      total: 0,
      totalIsCapped: false,
      pageCount: 0,
      hasNext: false,
      hasPrevious: false,
      nextCursor: null,
    })
  })

  it('sorts customers by time, newest or oldest first', async () => {
    const { api, newestFirst, oldestFirst } = await merchantWith(5)
    assert.deepEqual(uuidsOf(await list(api, '?sort=createdAt:desc')), newestFirst)
    assert.deepEqual(uuidsOf(await list(api, '?sort=createdAt%3Aasc')), oldestFirst)
  })

  it('filters customers by createdFrom and createdTo, both inclusive', async () => {
    const merchant = await service.newMerchant()
    const at = (day: number) => ({
      firstname: 'A',
      lastname: 'B',
      email: `d${day}@example.com`,
      createdAt: new Date(Date.UTC(2026, 0, day)),
    })
    const uuids = await seedCustomers(service.db, merchant.uuid, [at(1), at(2), at(3)])
    const found = async (query: string) => uuidsOf(await list(merchant.api, `?sort=createdAt:asc&${query}`))
    assert.deepEqual(await found('createdFrom=2026-01-02T00:00:00.000Z'), uuids.slice(1))
    assert.deepEqual(await found('createdFrom=2026-01-02T00:00:00.001Z'), uuids.slice(2))
    assert.deepEqual(await found('createdTo=2026-01-02T00:00:00.000Z'), uuids.slice(0, 2))
    assert.deepEqual(
      await found('createdFrom=2026-01-02T03:00:00%2B03:00&createdTo=2026-01-02T00:00:00Z'),
      uuids.slice(1, 2),
    )
    assert.equal((await list(merchant.api, '?createdFrom=2026-01-02T00:00:00Z')).meta.total, 2)
  })

  it('rejects parameters out of range instead of clamping them', async () => {
    const bad: Record<string, string[]> = {
      limit: [
        '0',
        '101',
        '-1',
        '2.5',
        '1e9',
        '1e1',
        'abc',
        '',
        '0x10',
        '%2020',
        '20%20',
        'NaN',
        '9'.repeat(400),
      ],
      page: ['0', '-1', '1.5', '1e3', 'abc', '', '10001', 'Infinity', '9'.repeat(400)],
      sort: ['', 'createdAt', 'createdAt:up', 'email:asc', 'createdAt:ASC', 'createdAt:asc,email'],
      createdFrom: [
        '',
        'yesterday',
        '2026-02-30T00:00:00Z',
        '2026-01-01',
        '2026-01-01T00:00:00',
        '1767225600',
      ],
      createdTo: ['', '2026-13-01T00:00:00Z', '2026-01-01T24:00:00Z', '2026-01-01 00:00:00Z'],
      cursor: ['', 'x', 'a'.repeat(301), '%00'],
    }
    for (const [name, values] of Object.entries(bad)) {
      for (const value of values) {
        const answer = await service.api.get(`/api/v1/customers?${name}=${value}`)
        assertErrorCode(answer, 400, 'validation_failed')
        assert.deepEqual(
          answer.body.error.details.map(({ field }: { field: string }) => field),
          [name],
          `${name}=${value}`,
        )
      }
    }
  })

  it('reports all validation issues of a customer query at once', async () => {
    const answer = await service.api.get('/api/v1/customers?page=0&limit=101&sort=x&createdFrom=y')
    assert.deepEqual(answer.body.error.details.map(({ field }: { field: string }) => field).sort(), [
      'createdFrom',
      'limit',
      'page',
      'sort',
    ])
  })

  it('rejects a repeated query parameter', async () => {
    for (const query of [
      'limit=10&limit=10',
      'page=1&page=2',
      'search=a&search=b',
      'sort=createdAt:asc&sort=',
    ]) {
      assertErrorCode(await service.api.get(`/api/v1/customers?${query}`), 400, 'validation_failed')
    }
  })

  it('rejects unknown query parameters, and skips empty ones', async () => {
    const { api, newestFirst } = await merchantWith(2)
    for (const query of ['Limit=1', 'offset=1', 'merchantId=x', '__proto__=1', 'limit[]=1', '=', '%25=%25'])
      assertErrorCode(await api.get(`/api/v1/customers?${query}`), 400, 'unknown_field')
    assert.deepEqual(uuidsOf(await list(api, '?&&limit=20&')), newestFirst)
  })
})

describe('the total of a list', () => {
  it('counts exactly up to 10,000, and marks a larger total', async () => {
    const exact = await service.newMerchant()
    const more = await service.newMerchant()
    await seedNumberedCustomers(service.db, exact.uuid, 10_000)
    await seedNumberedCustomers(service.db, more.uuid, 10_001)
    const { meta } = await list(exact.api, '?limit=100')
    assert.deepEqual([meta.total, meta.totalIsCapped, meta.pageCount], [10_000, false, 100])
    const capped = await list(more.api, '?limit=100')
    assert.deepEqual([capped.meta.total, capped.meta.totalIsCapped], [10_000, true])
    assert.equal((await list(more.api, '?limit=100&search=person')).meta.totalIsCapped, true)
    const one = await list(more.api, '?search=p10001@')
    assert.deepEqual([one.meta.total, one.meta.totalIsCapped], [1, false])

    const last = await list(more.api, '?limit=100&page=101')
    assert.equal(last.data[0].lastname, 'No1')
    assertErrorCode(await more.api.get('/api/v1/customers?limit=100&page=102'), 400, 'validation_failed')
  })
})
