import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { Api } from '../support/api.ts'
import { assertErrorCode } from '../support/assertions.ts'
import { seedCustomers } from '../support/seed.ts'
import { testService } from '../support/service.ts'

const service = await testService({ after })

const people = (count: number, name: string, createdAt?: Date) =>
  Array.from({ length: count }, (_, index) => ({
    firstname: name,
    lastname: 'Walker',
    email: `${name}${index}@example.com`,
    ...(createdAt && { createdAt }),
  }))

interface Page {
  data: { uuid: string }[]
  meta: Record<string, unknown> & { nextCursor: string | null; page: number }
}

/** All pages, by cursor. */
async function walk(api: Api, query: string, between: (page: Page) => Promise<void> = async () => undefined) {
  const pages: Page[] = []
  let cursor: string | null = null
  do {
    const from: string = cursor === null ? '' : `&cursor=${cursor}`
    const answer = await api.get(`/api/v1/customers?${query}${from}`)
    assert.equal(answer.http, 200, answer.text)
    const page: Page = answer.body
    pages.push(page)
    cursor = page.meta.nextCursor
    await between(page)
  } while (cursor !== null)
  return { pages, uuids: pages.flatMap(({ data }) => data.map(({ uuid }) => uuid)) }
}

describe('cursor pagination of customers', () => {
  it('lists each customer exactly once while new ones arrive', async () => {
    const { api, uuid } = await service.newMerchant()
    const before = await seedCustomers(service.db, uuid, people(50, 'before'))
    let arrived = 0
    const { uuids } = await walk(api, 'limit=7', async () => {
      arrived += 1
      await seedCustomers(service.db, uuid, people(3, `arrived${arrived}x`, new Date()))
    })
    assert.deepEqual(uuids, before.toReversed())
  })

  it('includes customers who arrive during a walk from the oldest', async () => {
    const { api, uuid } = await service.newMerchant()
    const before = await seedCustomers(service.db, uuid, people(20, 'before'))
    const added: string[] = []
    const { uuids } = await walk(api, 'limit=7&sort=createdAt:asc', async () => {
      if (added.length < 6)
        added.push(...(await seedCustomers(service.db, uuid, people(2, `n${added.length}x`))))
    })
    assert.deepEqual(uuids, [...before, ...added])
  })

  it('loses no customer among those created in the same millisecond', async () => {
    const { api, uuid } = await service.newMerchant()
    const same = await seedCustomers(
      service.db,
      uuid,
      people(25, 'same', new Date('2026-01-01T00:00:00.123Z')),
    )
    for (const sort of ['createdAt:desc', 'createdAt:asc']) {
      const { uuids } = await walk(api, `limit=4&sort=${sort}`)
      assert.equal(uuids.length, 25)
      assert.deepEqual([...uuids].sort(), [...same].sort())
    }
  })

  it('keeps the order of a cursor, and counts its pages', async () => {
    const { api, uuid } = await service.newMerchant()
    const all = await seedCustomers(service.db, uuid, people(10, 'paged'))
    const first = (await api.get('/api/v1/customers?limit=4&sort=createdAt:asc')).body
    const second = (await api.get(`/api/v1/customers?limit=4&cursor=${first.meta.nextCursor}`)).body
    assert.deepEqual(
      second.data.map((one: { uuid: string }) => one.uuid),
      all.slice(4, 8),
    )
    assert.deepEqual(second.meta, {
      page: 2,
      limit: 4,
      total: 10,
      totalIsCapped: false,
      pageCount: 3,
      hasNext: true,
      hasPrevious: true,
      nextCursor: second.meta.nextCursor,
    })
  })

  it('continues from a numbered page, and with another limit', async () => {
    const { api, uuid } = await service.newMerchant()
    const all = await seedCustomers(service.db, uuid, people(10, 'mixed'))
    const page = (await api.get('/api/v1/customers?limit=3&page=2')).body
    const rest = (await api.get(`/api/v1/customers?limit=100&cursor=${page.meta.nextCursor}`)).body
    assert.deepEqual(
      rest.data.map((one: { uuid: string }) => one.uuid),
      all.toReversed().slice(6),
    )
    assert.equal(rest.meta.nextCursor, null)
  })

  it('keeps the search and the time range of a cursor', async () => {
    const { api, uuid } = await service.newMerchant()
    const wanted = await seedCustomers(service.db, uuid, people(9, 'wanted'))
    await seedCustomers(service.db, uuid, people(9, 'other'))
    const { uuids } = await walk(api, 'limit=4&search=wanted&createdFrom=2020-01-01T00:00:00Z')
    assert.deepEqual(uuids, wanted.toReversed())
  })
})

describe('the cursor of a customer list', () => {
  it('rejects the cursor of another merchant', async () => {
    const [one, two] = [await service.newMerchant(), await service.newMerchant()]
    await seedCustomers(service.db, one.uuid, people(3, 'mine'))
    await seedCustomers(service.db, two.uuid, people(3, 'theirs'))
    const { nextCursor } = (await one.api.get('/api/v1/customers?limit=1')).body.meta
    assertErrorCode(await two.api.get(`/api/v1/customers?cursor=${nextCursor}`), 400, 'validation_failed')
    assert.equal((await one.api.get(`/api/v1/customers?cursor=${nextCursor}`)).http, 200)
  })

  it('rejects the cursor of another list', async () => {
    const { api, uuid } = await service.newMerchant()
    await seedCustomers(service.db, uuid, people(3, 'listed'))
    const plain = (await api.get('/api/v1/customers?limit=1')).body.meta.nextCursor
    const searched = (await api.get('/api/v1/customers?limit=1&search=listed')).body.meta.nextCursor
    for (const query of [
      `cursor=${plain}&search=listed`,
      `cursor=${searched}`,
      `cursor=${searched}&search=list`,
    ]) {
      const answer = await api.get(`/api/v1/customers?${query}`)
      assertErrorCode(answer, 400, 'validation_failed')
      assert.equal(answer.body.error.details[0].field, 'cursor')
    }
  })

  it('rejects a cursor with a changed, added or missing character', async () => {
    const { api, uuid } = await service.newMerchant()
    await seedCustomers(service.db, uuid, people(2, 'signed'))
    const { nextCursor } = (await api.get('/api/v1/customers?limit=1')).body.meta
    const [payload = '', signature = ''] = nextCursor.split('.')
    const flipped = (text: string) => (text[5] === 'A' ? 'B' : 'A')
    const forged = Buffer.from(Buffer.from(payload, 'base64url').toString().replace('desc', 'asc'))
    for (const cursor of [
      `${payload.slice(0, 5)}${flipped(payload)}${payload.slice(6)}.${signature}`,
      `${payload}.${signature.slice(0, 5)}${flipped(signature)}${signature.slice(6)}`,
      `${forged.toString('base64url')}.${signature}`,
      `${payload}.`,
      payload,
      `.${signature}`,
      nextCursor.slice(0, -1),
      `${nextCursor}A`,
      `${nextCursor}%3D`,
      `${nextCursor}.${signature}`,
      'null',
      '%7B%7D',
    ]) {
      assertErrorCode(await api.get(`/api/v1/customers?limit=1&cursor=${cursor}`), 400, 'validation_failed')
    }
  })
})
