import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { dueStarts, runLoad } from './load.ts'

// One connection to a server that takes this long is asked for twice as much as it can do.
const ANSWER_MS = 20
const PER_SECOND = 100

const server = createServer(async (_request, response) => {
  await delay(ANSWER_MS)
  response.end('{}')
})
after(() => server.close())
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const address = server.address()
const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`

describe('the load on a service', () => {
  const order = { url, operation: 'bareRoute' as const, connections: 1, forMs: 300, source: { paid: [] } }

  it('in an open loop has the starts of its rate, whatever was answered', () => {
    assert.deepEqual(dueStarts(100, 0, 25), [0, 10, 20])
    assert.deepEqual(dueStarts(100, 3, 25), [])
    assert.deepEqual(dueStarts(100, 3, 30), [30])
  })

  it('in an open loop counts the time from the intended start', async () => {
    const { answered, failed, p99Ms } = await runLoad({ ...order, perSecond: PER_SECOND })
    assert.deepEqual([answered, failed], [31, 0])
    // The last request should have started at 300 ms, and 30 answers of 20 ms went before it.
    assert.ok(p99Ms >= 250, `${p99Ms} ms`)
  })

  it('in a closed loop sends the next request after the answer', async () => {
    const { answered, failed } = await runLoad({ ...order, requests: 5, forMs: 10_000 })
    assert.deepEqual([answered, failed], [5, 0])
  })

  it('fails with the first answer that was not expected', async () => {
    const { answered, failed, firstFailure } = await runLoad({ ...order, operation: 'provider', requests: 1 })
    assert.deepEqual([answered, failed], [0, 1])
    assert.match(firstFailure ?? '', /^HTTP\/1.1 200 OK/)
  })
})
