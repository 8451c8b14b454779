// Traces of a request, its statements, its gateway call and the delivery of its events, at a collector of the test.

import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { after, describe, it } from 'node:test'
import { CUSTOMER, chargeBody, saveMethod } from '../support/builders.ts'
import { findFreePort } from '../support/deployment.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'
import { newHookPath } from '../support/stray-deliveries.ts'

interface Seen {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  attributes: { key: string; value: Record<string, unknown> }[]
}

const spans: Seen[] = []
const called: IncomingHttpHeaders[] = []
let texts = ''

const port = await findFreePort()
const hookPath = newHookPath()
const collector = createServer((request, response) => {
  let text = ''
  request.on('data', (chunk) => {
    text += chunk
  })
  request.on('end', () => {
    if (request.url === hookPath) called.push(request.headers)
    else if (request.url === '/v1/traces' && request.headers.authorization === 'Bearer a b') {
      texts += text
      for (const { scopeSpans } of JSON.parse(text).resourceSpans) spans.push(...scopeSpans[0].spans)
    }
    response.writeHead(200).end('{}')
  })
})
collector.listen(port, '127.0.0.1')
after(() => void collector.close())

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const CALLER = '00f067aa0ba902b7'

const service = await testService(
  { after },
  {
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}/`,
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20a%20b',
    },
  },
)
const { api } = service

describe('traces', () => {
  const ofTrace = () => spans.filter(({ traceId }) => traceId === TRACE)

  it('connects a charge from the caller to the gateway in one trace', async () => {
    const token = await saveMethod(api, 'card_success')
    const traceparent = `00-${TRACE}-${CALLER}-01`
    const answer = await api.post('/api/v1/charges/recurring', chargeBody(token), { traceparent })
    assert.equal(answer.http, 201, answer.text)
    const seen = await eventually(ofTrace, ({ length }) => length >= 4, 15_000)
    const request = seen.find(({ name }) => name === 'POST /api/v1/charges/recurring')
    assert.equal(request?.parentSpanId, CALLER)
    assert.equal(request?.kind, 2)
    const status = request?.attributes.find(({ key }) => key === 'http.response.status_code')
    assert.deepEqual(status?.value, { intValue: '201' })
    const gateway = seen.find(({ name }) => /^POST 127\.0\.0\.1:\d+$/.test(name))
    assert.equal(gateway?.kind, 3)
    assert.ok(seen.some(({ attributes }) => attributes.some(({ key }) => key === 'db.system.name')))
    const known = new Set([CALLER, ...seen.map(({ spanId }) => spanId)])
    assert.deepEqual(
      seen.filter(({ parentSpanId }) => !known.has(parentSpanId ?? '')),
      [],
    )
  })

  it('propagates the trace to deliveries', async () => {
    await api.post('/api/v1/webhooks/endpoints', { url: `http://127.0.0.1:${port}${hookPath}` })
    await saveMethod(api, 'card_success')
    const [headers] = await eventually(
      () => called,
      ({ length }) => length > 0,
      10_000,
    )
    assert.match(String(headers?.traceparent), /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
  })

  it('contains no data of merchants and no token in traces', () => {
    for (const secret of [CUSTOMER.email, CUSTOMER.lastname, 'rtk_', 'cowry_test_', 'whsec_'])
      assert.ok(!texts.includes(secret), secret)
  })
})
