import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { frozenClock } from '../../../test/support/fake-clock.ts'
import { ApiError } from '../../core/errors.ts'
import { createSigner } from '../crypto.ts'
import {
  countUpToCap,
  createCappedLists,
  type ListQuery,
  pageOf,
  substringPattern,
  windowOf,
} from './pagination.ts'

const signer = createSigner(Buffer.alloc(32, 7))
const SCOPE = 'customers:merchant-1:'
const rowsOf = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => ({
    id: `0197a3c2-7d51-7cc3-98c4-${String(from + index).padStart(12, '0')}`,
    createdAt: new Date(Date.UTC(2026, 0, 1) - (from + index) * 1000),
  }))
const page = (query: ListQuery, rows: ReturnType<typeof rowsOf>, counted: number, scope = SCOPE) =>
  pageOf(signer, scope, windowOf(signer, scope, query), { rows, counted })
const isIssueOf = (field: string) => (error: unknown) =>
  error instanceof ApiError && error.code === 'validation_failed' && error.details[0]?.field === field

describe('a list page', () => {
  it('has by default the first 20 rows, newest first, without bounds in time', () => {
    assert.deepEqual(windowOf(signer, SCOPE, {}), {
      order: 'desc',
      after: null,
      page: 1,
      limit: 20,
      offset: 0,
      withoutTotal: false,
      createdFrom: null,
      createdTo: null,
    })
  })

  it('follows page, limit, order and period of the query', () => {
    const query = { page: 3, limit: 10, sort: 'createdAt:asc' as const, createdFrom: '2026-01-01T00:00:00Z' }
    const window = windowOf(signer, SCOPE, query)
    assert.equal(window.offset, 20)
    assert.equal(window.order, 'asc')
    assert.deepEqual(window.createdFrom, new Date(Date.UTC(2026, 0, 1)))
  })

  it('detects a next page by one extra row, and does not return that row', () => {
    const { rows, meta } = page({ limit: 2 }, rowsOf(3), 5)
    assert.equal(rows.length, 2)
    assert.deepEqual(
      { ...meta, nextCursor: typeof meta.nextCursor },
      {
        page: 1,
        limit: 2,
        total: 5,
        totalIsCapped: false,
        pageCount: 3,
        hasNext: true,
        hasPrevious: false,
        nextCursor: 'string',
      },
    )
  })

  it('has no cursor if it is the last', () => {
    const { meta } = page({ page: 3, limit: 2 }, rowsOf(1), 5)
    assert.equal(meta.hasNext, false)
    assert.equal(meta.hasPrevious, true)
    assert.equal(meta.nextCursor, null)
    assert.equal(page({}, [], 0).meta.pageCount, 0)
  })

  it('continues after the last row of the cursor, in the same order', () => {
    const first = page({ limit: 2, sort: 'createdAt:asc' }, rowsOf(3), 3)
    const next = windowOf(signer, SCOPE, { limit: 2, cursor: first.meta.nextCursor ?? '' })
    const last = first.rows.at(-1)
    assert.equal(next.order, 'asc')
    assert.equal(next.page, 2)
    assert.equal(next.offset, 0)
    assert.deepEqual(next.after?.at, last?.createdAt)
    assert.equal(next.after?.id, last?.id)
  })

  it('accepts a cursor only unchanged, and only for the merchant and the search that it was made for', () => {
    const cursor = page({ limit: 1 }, rowsOf(2), 2).meta.nextCursor ?? ''
    for (const scope of ['customers:merchant-2:', 'customers:merchant-1:amina']) {
      assert.throws(() => windowOf(signer, scope, { cursor }), isIssueOf('cursor'))
    }
    const other = createSigner(Buffer.alloc(32, 8))
    assert.throws(() => windowOf(other, SCOPE, { cursor }), isIssueOf('cursor'))
    fc.assert(
      fc.property(fc.nat({ max: cursor.length - 1 }), fc.constantFrom(...'Aa0_-.'), (at, letter) => {
        fc.pre(cursor[at] !== letter)
        const forged = `${cursor.slice(0, at)}${letter}${cursor.slice(at + 1)}`
        assert.throws(() => windowOf(signer, SCOPE, { cursor: forged }), isIssueOf('cursor'))
      }),
    )
  })

  it('counts to 10,000 and then reports that there are more', () => {
    assert.equal(page({}, rowsOf(1), 10_000).meta.totalIsCapped, false)
    const { meta } = page({}, rowsOf(1), 10_001)
    assert.equal(meta.total, 10_000)
    assert.equal(meta.totalIsCapped, true)
  })

  it('refuses page numbers beyond the count, and refers to the cursor', () => {
    assert.equal(windowOf(signer, SCOPE, { page: 101, limit: 100 }).offset, 10_000)
    assert.throws(() => windowOf(signer, SCOPE, { page: 102, limit: 100 }), isIssueOf('page'))
  })
})

describe('search text in a list (F-66)', () => {
  it('matches literally: the wildcards of LIKE are escaped', () => {
    assert.equal(substringPattern('50%_off\\'), '%50\\%\\_off\\\\%')
    const unescaped = (pattern: string) => pattern.slice(1, -1).replaceAll(/\\([\\%_])/g, '$1')
    fc.assert(fc.property(fc.string(), (text) => unescaped(substringPattern(text)) === text))
  })
})

describe('counting a list that only grows', () => {
  it('stops once the count exceeds the cap, and not before', async () => {
    const full = new Set<string>()
    let size = 10_000
    let counts = 0
    const count = async () => {
      counts += 1
      return size
    }
    assert.equal(await countUpToCap(full, 'customers', count), 10_000)
    size = 10_001
    assert.equal(await countUpToCap(full, 'customers', count), 10_001)
    assert.equal(await countUpToCap(full, 'customers', count), 10_001)
    assert.equal(counts, 2)
    assert.equal(await countUpToCap(full, 'payments', async () => 3), 3)
  })

  it('counts a list that may shrink again after a while', async () => {
    const clock = frozenClock()
    const capped = createCappedLists(clock)
    const filtered = () => countUpToCap(capped, 'failed payments', async () => found, 1_000)
    let found = 10_001
    assert.equal(await filtered(), 10_001)
    found = 9_999
    assert.equal(await filtered(), 10_001)
    clock.advance(1_001)
    assert.equal(await filtered(), 9_999)
  })
})
