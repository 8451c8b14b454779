// F-06: the connection breaks at any byte of a response. A retry returns the record of the first request, and nothing
// is executed twice.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import { createApi } from '../support/api.ts'
import { chargeBody, initiateBody, saveMethod } from '../support/builders.ts'
import { testService } from '../support/service.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'

const service = await testService({ after }, { env: { COWRY_RATE_LIMIT: '0' } })
const proxy = await startTcpProxy({ after }, Number(new URL(service.url).port))
const cut = createApi(`http://127.0.0.1:${proxy.port}`, { 'x-api-key': service.demoKey ?? '' })

const countByReference = sql<{ count: number }>`
select count(*)::integer as count from payments where reference = $1`

const CUT_OFFSETS = 24

/** Positions from the first byte of a response to its last. */
function offsetsIn(bytes: number): number[] {
  return Array.from({ length: CUT_OFFSETS }, (_, n) => 1 + Math.floor((n * (bytes - 2)) / (CUT_OFFSETS - 1)))
}

async function sizeOf(path: string, body: unknown): Promise<number> {
  const { text, headers } = await cut.post(path, body)
  const head = [...headers].reduce((bytes, [name, value]) => bytes + name.length + value.length + 4, 19)
  return head + text.length
}

describe('a response that is cut off (F-06)', () => {
  const operations = {
    '/api/v1/checkout/initiate-payment': async () => () => initiateBody(),
    '/api/v1/charges/recurring': async () => {
      const card = await saveMethod(service.api, 'card_success')
      return () => chargeBody(card)
    },
  }
  for (const [path, prepare] of Object.entries(operations)) {
    it(`a retry of ${path} returns the record, wherever the response was cut, and nothing is executed twice`, async () => {
      const bodyOf = await prepare()
      const offsets = offsetsIn(await sizeOf(path, bodyOf()))
      const before = proxy.injected.cuts
      for (const offset of offsets) {
        const body = bodyOf()
        proxy.cutAfter(offset)
        await assert.rejects(cut.post(path, body), `cut after ${offset} bytes`)
        const retried = await service.api.post(path, body)
        assert.equal(retried.http, 201, retried.text)
        const [row] = await service.db.query(countByReference, [body.reference])
        assert.equal(row?.count, 1)
        const again = await service.api.post(path, body)
        assert.equal(again.body.data.uuid, retried.body.data.uuid)
      }
      assert.equal(proxy.injected.cuts - before, CUT_OFFSETS)
    })
  }
})
