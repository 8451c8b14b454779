// Retries, timeouts, errors and headers of the client, against a fetch that answers from a list.

import assert from 'node:assert/strict'
import { after, describe, it, mock } from 'node:test'
import { inspect } from 'node:util'
import {
  type ClientOptions,
  Cowry,
  CowryArgumentError,
  CowryConnectionError,
  CowryError,
} from '../src/index.ts'

const CUSTOMER = { uuid: 'c', firstname: 'Amina' }
const OK = () => Response.json({ status: 'success', message: 'Done.', data: CUSTOMER })

function failure(status: number, code: string, retryable: boolean, headers: Record<string, string> = {}) {
  const error = { code, type: 'api_error', retryable, requestId: 'r-1', docUrl: 'https://d', details: [] }
  return () => Response.json({ status: 'error', message: 'No.', data: null, error }, { status, headers })
}
const BUSY = failure(503, 'temporarily_unavailable', true, { 'retry-after': '0' })
const LIMITED = failure(429, 'rate_limited', true, { 'retry-after': '0' })
const NOT_FOUND = failure(404, 'customer_not_found', false)
const BROKEN = () => {
  throw new TypeError('fetch failed')
}

type Answer = (init: RequestInit) => Response | Promise<Response>

// The shortest waits. Replaced once: a second replacement would restore the first one.
const random = mock.method(Math, 'random', () => 0)
after(() => random.mock.restore())

/** A client whose requests get these answers, one after another. */
function clientWith(answers: Answer[], options: Partial<ClientOptions> = {}) {
  const sent: { url: string; method: string | undefined; headers: Headers; body: unknown }[] = []
  const fetch: ClientOptions['fetch'] = async (url, init = {}) => {
    sent.push({ url: String(url), method: init.method, headers: new Headers(init.headers), body: init.body })
    const answer = answers.shift()
    if (!answer) throw new Error('more requests than answers')
    return answer(init)
  }
  return { sent, cowry: new Cowry({ apiKey: 'key', baseUrl: 'https://pay.example/', fetch, ...options }) }
}

const NEW_CUSTOMER = { email: 'amina@example.com', firstname: 'Amina', lastname: 'Odhiambo' }

describe('the retries of the SDK', () => {
  it('repeats a POST with the same Idempotency-Key and body after a broken connection and a retryable error', async () => {
    const { cowry, sent } = clientWith([BROKEN, BUSY, OK])
    assert.deepEqual(await cowry.customers.create(NEW_CUSTOMER), CUSTOMER)
    assert.equal(sent.length, 3)
    const keys = new Set(sent.map(({ headers }) => headers.get('idempotency-key')))
    assert.equal(keys.size, 1)
    assert.match([...keys][0] ?? '', /^[0-9a-f-]{36}$/)
    assert.deepEqual(new Set(sent.map(({ body }) => body)), new Set([JSON.stringify(NEW_CUSTOMER)]))
  })

  it('generates another Idempotency-Key for each call, and sends the one of the caller', async () => {
    const { cowry, sent } = clientWith([OK, OK, OK])
    await cowry.customers.create(NEW_CUSTOMER)
    await cowry.customers.create(NEW_CUSTOMER)
    await cowry.customers.create(NEW_CUSTOMER, { idempotencyKey: 'order-7' })
    const [first, second, third] = sent.map(({ headers }) => headers.get('idempotency-key'))
    assert.notEqual(first, second)
    assert.equal(third, 'order-7')
  })

  it('sends an Idempotency-Key of the headers, unless the call has one', async () => {
    const { cowry, sent } = clientWith([BUSY, OK, OK])
    const headers = { 'Idempotency-Key': 'order-8' }
    await cowry.customers.create(NEW_CUSTOMER, { headers })
    await cowry.customers.create(NEW_CUSTOMER, { headers, idempotencyKey: 'order-9' })
    assert.deepEqual(
      sent.map((one) => one.headers.get('idempotency-key')),
      ['order-8', 'order-8', 'order-9'],
    )
  })

  it('treats a method in small letters as the same method', async () => {
    const path = '/api/v1/customers'
    const { cowry, sent } = clientWith([OK, BROKEN])
    await cowry.request({ method: 'post', path, body: NEW_CUSTOMER })
    assert.match(sent[0]?.headers.get('idempotency-key') ?? '', /^[0-9a-f-]{36}$/)
    await assert.rejects(cowry.request({ method: 'delete', path }), { code: 'connection_failed' })
    assert.deepEqual(
      sent.map(({ method }) => method),
      ['POST', 'DELETE'],
    )
  })

  it('repeats a POST whose response text was cut', async () => {
    const { cowry, sent } = clientWith([() => new Response('{"status":"succ', { status: 201 }), OK])
    assert.deepEqual(await cowry.customers.create(NEW_CUSTOMER), CUSTOMER)
    assert.equal(sent.length, 2)
  })

  it('sends no Idempotency-Key with a GET, and repeats it', async () => {
    const { cowry, sent } = clientWith([BROKEN, OK])
    assert.deepEqual(await cowry.customers.get('c'), CUSTOMER)
    assert.deepEqual(
      sent.map(({ headers }) => headers.get('idempotency-key')),
      [null, null],
    )
  })

  it('does not repeat a request that the service refuses for good', async () => {
    const { cowry, sent } = clientWith([NOT_FOUND])
    await assert.rejects(cowry.customers.get('c'), {
      code: 'customer_not_found',
      status: 404,
      requestId: 'r-1',
    })
    assert.equal(sent.length, 1)
  })

  it('repeats a DELETE after a rate limit, but not after a lost response or an error in between', async () => {
    const limited = clientWith([LIMITED, OK])
    await limited.cowry.webhookEndpoints.delete('e')
    assert.equal(limited.sent.length, 2)
    for (const answer of [BROKEN, BUSY]) {
      const lost = clientWith([answer, OK])
      await assert.rejects(lost.cowry.webhookEndpoints.delete('e'), CowryError)
      assert.equal(lost.sent.length, 1)
    }
  })

  it('gives up after maxRetries, of the client or of the call', async () => {
    const byDefault = clientWith([BUSY, BUSY, BUSY, BUSY, OK])
    await assert.rejects(byDefault.cowry.customers.get('c'), { code: 'temporarily_unavailable' })
    assert.equal(byDefault.sent.length, 4)
    const ofClient = clientWith([BUSY, OK], { maxRetries: 0 })
    await assert.rejects(ofClient.cowry.customers.get('c'), { code: 'temporarily_unavailable' })
    const ofCall = clientWith([BUSY, OK], { maxRetries: 0 })
    await ofCall.cowry.customers.get('c', { maxRetries: 1 })
  })

  it('waits as long as Retry-After says, and does not wait for minutes', async () => {
    const { cowry } = clientWith([failure(429, 'rate_limited', true, { 'retry-after': '1' }), OK])
    const startedAt = performance.now()
    await cowry.customers.get('c')
    assert.ok(performance.now() - startedAt >= 990)
    const long = clientWith([failure(429, 'rate_limited', true, { 'retry-after': '61' }), OK])
    await assert.rejects(long.cowry.customers.get('c'), { code: 'rate_limited', retryAfterMs: 61_000 })
    assert.equal(long.sent.length, 1)
  })
})

describe('the timeouts and signals of the SDK', () => {
  const NEVER: Answer = ({ signal }) =>
    new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))

  it('ends an attempt after timeoutMs and repeats it', async () => {
    const { cowry, sent } = clientWith([NEVER, OK], { timeoutMs: 20 })
    assert.deepEqual(await cowry.customers.get('c'), CUSTOMER)
    assert.equal(sent.length, 2)
    const slow = clientWith([NEVER], { timeoutMs: 20, maxRetries: 0 })
    await assert.rejects(slow.cowry.customers.get('c'), (error) => {
      assert.ok(error instanceof CowryConnectionError)
      assert.equal(error.code, 'timeout')
      assert.equal(error.retryable, true)
      return true
    })
  })

  it('takes Infinity as no timeout', async () => {
    const slow: Answer = () => new Promise((resolve) => setTimeout(() => resolve(OK()), 20))
    const { cowry } = clientWith([slow], { timeoutMs: Infinity, maxRetries: 0 })
    assert.deepEqual(await cowry.customers.get('c'), CUSTOMER)
  })

  it('counts the time until the whole text has arrived', async () => {
    const slowText: Answer = ({ signal }) => {
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode('{'))
          signal?.addEventListener('abort', () => controller.error(signal.reason))
        },
      })
      return new Response(body)
    }
    const { cowry } = clientWith([slowText], { timeoutMs: 20, maxRetries: 0 })
    await assert.rejects(cowry.customers.get('c'), { code: 'timeout' })
  })

  it('rejects with the reason of the signal, during a request, a wait and before the first one', async () => {
    const reason = new Error('the user left')
    const during = clientWith([NEVER])
    const controller = new AbortController()
    const call = during.cowry.customers.get('c', { signal: controller.signal })
    setImmediate(() => controller.abort(reason))
    await assert.rejects(call, reason)
    const limited = failure(429, 'rate_limited', true, { 'retry-after': '30' })
    const waiting = clientWith([limited])
    const later = new AbortController()
    const second = waiting.cowry.customers.get('c', { signal: later.signal })
    setTimeout(() => later.abort(reason), 20)
    await assert.rejects(second, reason)
    const before = clientWith([])
    await assert.rejects(before.cowry.customers.get('c', { signal: AbortSignal.abort(reason) }), reason)
    assert.equal(before.sent.length, 0)
  })
})

describe('the requests of the SDK', () => {
  it('writes path, query and headers as the API expects them', async () => {
    const page = () => Response.json({ status: 'success', message: '', data: [], meta: { nextCursor: null } })
    const { cowry, sent } = clientWith([page, OK], { headers: { 'x-trace': '1', 'X-API-Key': 'no' } })
    await cowry.payments.list({
      status: ['pending', 'failed'],
      metadata: { orderId: 'a&b' },
      search: undefined,
      limit: 5,
    })
    await cowry.customers.get('a/b?c')
    assert.equal(
      sent[0]?.url,
      'https://pay.example/api/v1/checkout/payments?status=pending%2Cfailed&metadata%5BorderId%5D=a%26b&limit=5',
    )
    assert.equal(sent[1]?.url, 'https://pay.example/api/v1/customers/a%2Fb%3Fc')
    assert.equal(sent[0]?.headers.get('x-trace'), '1')
    assert.equal(sent[0]?.headers.get('x-api-key'), 'key')
    assert.match(sent[0]?.headers.get('user-agent') ?? '', /^cowry-sdk\/\d/)
    assert.equal(sent[0]?.headers.get('content-type'), null)
  })

  it('refuses a path value that would name another operation', async () => {
    const { cowry, sent } = clientWith([])
    for (const uuid of ['', '.', '..', '\ud800']) {
      await assert.rejects(cowry.customers.get(uuid), CowryArgumentError)
      await assert.rejects(cowry.paymentMethods.list(uuid), { code: 'invalid_argument' })
    }
    assert.equal(sent.length, 0)
  })

  it('refuses a header or body that cannot be sent, without the value of the header', async () => {
    const { cowry, sent } = clientWith([])
    const calls = [
      cowry.customers.create(NEW_CUSTOMER, { idempotencyKey: 'secret\n1' }),
      cowry.customers.create(NEW_CUSTOMER, { headers: { authorization: 'secret\n1' } }),
      cowry.customers.create({ ...NEW_CUSTOMER, metadata: { size: 1n } }),
    ]
    for (const call of calls)
      await assert.rejects(call, (error) => {
        assert.ok(error instanceof CowryArgumentError)
        assert.doesNotMatch(inspect(error), /secret/)
        return true
      })
    assert.equal(sent.length, 0)
  })

  it('needs a key and an address with its scheme', () => {
    const baseUrl = 'https://pay.example'
    const addresses = ['', 'pay.example', 'localhost:3000', '//pay.example', 'ftp://pay.example']
    for (const wrong of [...addresses, `${baseUrl}?a=1`, `${baseUrl}#a`, 'https://user:word@pay.example'])
      assert.throws(() => new Cowry({ apiKey: 'key', baseUrl: wrong }), TypeError, wrong)
    for (const apiKey of ['', ' ', 'secret\nkey', 'secret key', 'secret…'])
      assert.throws(
        () => new Cowry({ apiKey, baseUrl }),
        (error) => error instanceof TypeError && !inspect(error).includes('secret'),
      )
  })

  it('takes a key with the line break of its file, and an address with a path', async () => {
    const { cowry, sent } = clientWith([OK], { apiKey: 'key\n', baseUrl: 'https://pay.example/cowry//' })
    await cowry.customers.get('c')
    assert.equal(sent[0]?.headers.get('x-api-key'), 'key')
    assert.equal(sent[0]?.url, 'https://pay.example/cowry/api/v1/customers/c')
  })

  it('does not follow a redirect, which would send the key to another host', async () => {
    const moved: Answer = ({ redirect }) => {
      assert.equal(redirect, 'manual')
      return new Response(null, { status: 302, headers: { location: 'https://other.example' } })
    }
    const { cowry, sent } = clientWith([moved])
    await assert.rejects(cowry.customers.get('c'), { code: 'unexpected_response', status: 302 })
    assert.equal(sent.length, 1)
  })

  it('repeats after the error page of a proxy, and reports another page', async () => {
    const html = (status: number) => () => new Response('<html>', { status })
    const passing = clientWith([html(502), OK])
    await passing.cowry.customers.get('c')
    const other = clientWith([html(404)])
    await assert.rejects(other.cowry.customers.get('c'), { code: 'unexpected_response', retryable: false })
  })

  it('gives the response beside the record, and leaves no rejection unhandled', async () => {
    const replayed = () =>
      Response.json(
        { status: 'success', message: '', data: CUSTOMER },
        { headers: { 'x-request-id': 'r-2', 'idempotent-replayed': 'true' } },
      )
    const { cowry } = clientWith([replayed, NOT_FOUND])
    const { data, requestId, isReplayed, response } = await cowry.customers.get('c').withResponse()
    assert.deepEqual([data, requestId, isReplayed, response.status], [CUSTOMER, 'r-2', true, 200])
    await assert.rejects(cowry.customers.get('c').withResponse(), { code: 'customer_not_found' })
    // An unhandled rejection of the other promise would fail this test.
    await new Promise((resolve) => setImmediate(resolve))
  })
})

describe('the lists of the SDK', () => {
  const page = (data: number[], nextCursor: string | null) => () =>
    Response.json({
      status: 'success',
      message: '',
      data,
      meta: { nextCursor, hasNext: nextCursor !== null },
    })

  it('reads one page when awaited, and every record when iterated', async () => {
    const { cowry, sent } = clientWith([page([1, 2], 'n1'), page([3], 'n2'), page([], null), page([1], 'n1')])
    const found: unknown[] = []
    for await (const customer of cowry.customers.list({ search: 'a', page: 1 })) found.push(customer)
    assert.deepEqual(found, [1, 2, 3])
    assert.deepEqual(
      sent.map(({ url }) => new URL(url).search),
      ['?search=a&page=1', '?search=a&cursor=n1', '?search=a&cursor=n2'],
    )
    const { data, meta } = await cowry.customers.list()
    assert.deepEqual([data, meta.nextCursor], [[1], 'n1'])
  })

  it('ends after a page without a cursor', async () => {
    const last = () => Response.json({ status: 'success', message: '', data: [1], meta: {} })
    const { cowry, sent } = clientWith([last])
    for await (const customer of cowry.customers.list()) assert.ok(customer)
    assert.equal(sent.length, 1)
  })

  it('reads no further page after the caller stops', async () => {
    const { cowry, sent } = clientWith([page([1, 2], 'n1')])
    for await (const customer of cowry.customers.list()) if (customer) break
    assert.equal(sent.length, 1)
  })

  it('rejects the iteration when a page fails', async () => {
    const { cowry } = clientWith([page([1], 'n1'), NOT_FOUND])
    const iterate = async () => {
      for await (const customer of cowry.customers.list()) assert.ok(customer)
    }
    await assert.rejects(iterate(), { code: 'customer_not_found' })
  })
})
