import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createHttpClient, type HttpResult } from '../../src/kit/http/http-client.ts'
import { cleanUp } from '../support/cleanups.ts'
import { type FakeReply, type Fault, startFakeServer } from './fake-server.ts'

const REPLY: FakeReply = { http: 201, body: { id: 'ch_1', amount: '100' }, headers: { 'x-request': '7' } }

async function startCounter(t: TestContext, totalTimeoutMs = 800) {
  const acts: string[] = []
  const server = await startFakeServer(t, async ({ text }) => {
    acts.push(text)
    return REPLY
  })
  const http = createHttpClient({ totalTimeoutMs })
  cleanUp(t, () => http.close())
  const post = (path = '/v1/charges?a=1') =>
    http.request({ method: 'POST', url: `${server.url}${path}`, headers: { 'X-Key': 'k' }, body: 'hello' })
  return { acts, server, post }
}

const summarize = (answer: HttpResult) => (answer.kind === 'answered' ? answer.status : answer.kind)

describe('the server of the fake providers', () => {
  it('responds by its handler, and records the requests', async (t) => {
    const { server, post } = await startCounter(t)
    const answer = await post()
    assert(answer.kind === 'answered')
    assert.equal(answer.status, 201)
    assert.equal(answer.headers['x-request'], '7')
    assert.deepEqual(JSON.parse(answer.body.toString()), REPLY.body)
    const [request] = server.requests
    assert.equal(request?.method, 'POST')
    assert.equal(request?.path, '/v1/charges')
    assert.equal(request?.query.get('a'), '1')
    assert.equal(request?.headers['x-key'], 'k')
    assert.equal(request?.text, 'hello')
  })

  const FAULTS: Record<Fault, { sum: number | string; acts: number }> = {
    hang: { sum: 'unknown', acts: 0 },
    hang_after_acting: { sum: 'unknown', acts: 1 },
    cut_off: { sum: 'unknown', acts: 0 },
    cut_off_after_acting: { sum: 'unknown', acts: 1 },
    http_500: { sum: 500, acts: 0 },
    http_500_after_acting: { sum: 500, acts: 1 },
    html_403: { sum: 403, acts: 0 },
    html_503: { sum: 503, acts: 0 },
    garbage: { sum: 201, acts: 1 },
    truncated: { sum: 201, acts: 1 },
    huge_body: { sum: 'unknown', acts: 1 },
    slow: { sum: 201, acts: 1 },
    http_409: { sum: 409, acts: 0 },
    http_429: { sum: 429, acts: 0 },
  }
  for (const [kind, { sum, acts }] of Object.entries(FAULTS)) {
    it(`injects ${kind} and works again after clearFaults`, async (t) => {
      const counter = await startCounter(t)
      // A boundary: the keys of the table above are exactly the faults.
      counter.server.injectFault(kind as Fault)
      assert.equal(summarize(await counter.post()), sum)
      assert.equal(counter.acts.length, acts)
      counter.server.clearFaults()
      assert.equal(summarize(await counter.post()), 201)
    })
  }

  it('sends garbage and truncated responses that are not valid JSON', async (t) => {
    const { server, post } = await startCounter(t)
    for (const kind of ['garbage', 'truncated'] as const) {
      server.injectFault(kind, { times: 1 })
      const answer = await post()
      assert(answer.kind === 'answered')
      assert.throws(() => JSON.parse(answer.body.toString()))
    }
  })

  it('injects faults only as often and only where requested', async (t) => {
    const { server, post } = await startCounter(t)
    server.injectFault('http_500', { times: 1, on: /^POST \/v1\/refunds$/ })
    assert.equal(summarize(await post('/v1/charges')), 201)
    assert.equal(summarize(await post('/v1/refunds')), 500)
    assert.equal(summarize(await post('/v1/refunds')), 201)
    server.injectFault('http_500', { times: 1, after: 2 })
    const sums = [await post(), await post(), await post(), await post()].map(summarize)
    assert.deepEqual(sums, [201, 201, 500, 201])
  })

  it("cannot exhaust the client's memory with its huge responses", async (t) => {
    const { server, post } = await startCounter(t, 10_000)
    server.injectFault('huge_body')
    const bufferedBytes = () => process.memoryUsage().arrayBuffers
    const bytesBefore = bufferedBytes()
    let peakBytes = bytesBefore
    const watch = setInterval(() => {
      peakBytes = Math.max(peakBytes, bufferedBytes())
    }, 1)
    const answers = await Promise.all(Array.from({ length: 30 }, () => post()))
    clearInterval(watch)
    assert.deepEqual(new Set(answers.map(summarize)), new Set(['unknown']))
    // The whole responses would be 300 MB; the client limits each to one MB.
    const grownMegabytes = Math.round((peakBytes - bytesBefore) / 1_000_000)
    assert.ok(grownMegabytes < 100, `${grownMegabytes} MB`)
  })

  it('alters responses', async (t) => {
    const { server, post } = await startCounter(t)
    server.alter((value) => ({ before: value }))
    const answer = await post()
    assert(answer.kind === 'answered')
    assert.deepEqual(JSON.parse(answer.body.toString()), { before: REPLY.body })
  })

  it('fails the test if a request has an issue by the description of the provider', async (t) => {
    const hooks: (() => Promise<void>)[] = []
    const issuesOf = ({ path }: { path: string }) =>
      path === '/v1/charges' ? ['body/amonut is unknown'] : []
    const after = (hook: () => Promise<void>) => hooks.push(hook)
    // A boundary: the server registers only hooks without arguments.
    const server = await startFakeServer({ after: after as TestContext['after'] }, async () => REPLY, {
      issuesOf,
    })
    const http = createHttpClient()
    cleanUp(t, () => http.close())
    await http.request({ method: 'GET', url: `${server.url}/v1/refunds` })
    await http.request({ method: 'GET', url: `${server.url}/v1/charges` })
    assert.equal(hooks.length, 1)
    await assert.rejects(async () => hooks[0]?.(), /body\/amonut is unknown/)
  })

  it('refuses connections when it is closed', async (t) => {
    const { server, post } = await startCounter(t)
    await server.close()
    assert.equal(summarize(await post()), 'not_sent')
  })
})

describe('the cleanups of a test', () => {
  it('all run, in their order, even if an earlier one throws', async () => {
    const hooks: (() => unknown)[] = []
    const t = { after: (hook: () => unknown) => hooks.push(hook) } as unknown as TestContext
    const ran: string[] = []
    const fail = (name: string) => () => {
      ran.push(name)
      throw new Error(`${name} failed`)
    }
    cleanUp(t, fail('the first'))
    cleanUp(t, async () => ran.push('the second'))
    assert.equal(hooks.length, 1)
    await assert.rejects(async () => hooks[0]?.(), /^Error: the first failed$/)
    cleanUp(t, fail('the third'))
    await assert.rejects(async () => hooks[0]?.(), /2 cleanups failed: .*the first failed.*the third failed/)
    assert.deepEqual(ran, ['the first', 'the second', 'the first', 'the second', 'the third'])
  })
})
