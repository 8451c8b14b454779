import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Type } from 'typebox'
import { ApiError } from '../../core/errors.ts'
import { systemClock } from '../clock.ts'
import { withExports } from './export.ts'
import { fileOf, listed, type Route, type RouteResponse, route } from './route.ts'
import { PAGE_QUERY } from './schema.ts'

const META = {
  ...{ page: 1, limit: 20, total: 0, totalIsCapped: false, pageCount: 0 },
  ...{ hasNext: false, hasPrevious: false, nextCursor: null },
}
const NEEDS = { clock: systemClock, timeZoneOf: async () => 'UTC' }
const COMMON = { method: 'GET', tag: 'Misc', scope: 'wallet:read', summary: 'Things' } as const

/** A list whose pages are read when the test says so, and a file that a slice writes itself. */
function slowRoutes() {
  const reads: ((fails: boolean) => void)[] = []
  const read = () =>
    new Promise<void>((resolve, reject) =>
      reads.push((fails) => (fails ? reject(new Error('no page')) : resolve())),
    )
  const list = route({
    ...COMMON,
    errors: [],
    path: '/api/v1/things',
    operationId: 'things.list',
    query: Type.Object(PAGE_QUERY),
    response: { http: 200, data: Type.Object({ uuid: Type.String() }), list: true },
    handle: async () => {
      await read()
      return listed('Things.', [], META)
    },
  })
  const file = route({
    ...COMMON,
    errors: [],
    path: '/api/v1/files/export',
    operationId: 'files.export',
    response: { http: 200, data: Type.String(), file: 'text/csv' },
    handle: async () => {
      await read()
      return fileOf('files.csv', (async function* () {})())
    },
  })
  const exported = withExports([list, file], NEEDS)
  const find = (path: string) => exported.find((one) => one.path === path) as Route
  return { reads, exports: [find('/api/v1/things/export'), find('/api/v1/files/export')] as const }
}

// A boundary: the handlers above read nothing else of their input.
const start = (one: Route, merchant: string) => one.handle({ merchant: { id: merchant }, query: {} } as never)

async function readToEnd({ file }: RouteResponse): Promise<void> {
  for await (const piece of file?.pieces ?? []) assert.equal(typeof piece, 'string')
}

const isOverLimit = (error: unknown) => error instanceof ApiError && error.code === 'rate_limited'

describe('the limit of parallel exports', () => {
  it('refuses all exports over it before they read anything, and counts each merchant alone', async () => {
    const { reads, exports } = slowRoutes()
    const [ofList, own] = exports
    const running = [start(ofList, 'a'), start(own, 'a')]
    await new Promise(setImmediate)
    for (const one of [...exports, ...exports]) await assert.rejects(start(one, 'a'), isOverLimit)
    running.push(start(ofList, 'b'))
    await new Promise(setImmediate)
    assert.equal(reads.length, 3)
    for (const answer of reads) answer(false)
    for (const response of await Promise.all(running)) await readToEnd(response)
  })

  it('ends with the file, with an error, and with a client that stops reading', async () => {
    const { reads, exports } = slowRoutes()
    const [ofList, own] = exports
    for (const end of ['file', 'error', 'stop'] as const) {
      const running = [start(ofList, 'a'), start(own, 'a')]
      await new Promise(setImmediate)
      await assert.rejects(start(own, 'a'), isOverLimit)
      for (const answer of reads.splice(0)) answer(end === 'error')
      for (const result of await Promise.allSettled(running)) {
        assert.equal(result.status, end === 'error' ? 'rejected' : 'fulfilled')
        if (result.status === 'rejected') continue
        if (end === 'file') await readToEnd(result.value)
        else await result.value.file?.pieces[Symbol.asyncIterator]().return?.()
      }
    }
    assert.equal(reads.length, 0)
  })
})
