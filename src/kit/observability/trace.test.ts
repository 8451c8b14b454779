import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { systemClock } from '../clock.ts'
import type { HttpResult } from '../http/http-client.ts'
import { systemRandom } from '../random.ts'
import { createTracer, type FinishedSpan } from './trace.ts'
import { createTraceExport, toOtlp } from './trace-export.ts'

function setup(ratio = 1) {
  const spans: FinishedSpan[] = []
  const keep = (span: FinishedSpan) => void spans.push(span)
  return { spans, tracer: createTracer({ random: systemRandom(systemClock), ratio, onFinished: keep }) }
}

const INNER = { name: 'inner', kind: 'client' } as const
const OUTER = { name: 'outer', kind: 'server' } as const
const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00'

describe('a tracer', () => {
  it('nests spans across everything that is awaited', async () => {
    const { spans, tracer } = setup()
    await tracer.span(OUTER, async () => {
      await systemClock.sleep(1)
      await tracer.span(INNER, async () =>
        assert.match(tracer.traceparent() ?? '', /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/),
      )
    })
    const [inner, outer] = spans
    assert.equal(inner?.parentId, outer?.spanId)
    assert.equal(inner?.traceId, outer?.traceId)
    assert.equal(outer?.parentId, undefined)
    assert.ok(outer && inner && outer.endedAtNs >= inner.endedAtNs && outer.startedAtNs <= inner.startedAtNs)
    assert.equal(tracer.traceparent(), undefined)
  })

  it('continues the trace of a caller, unless its header is malformed', async () => {
    const { spans, tracer } = setup()
    await tracer.span({ ...OUTER, parent: PARENT }, async () => undefined)
    assert.equal(
      `${spans[0]?.traceId} ${spans[0]?.parentId}`,
      '0af7651916cd43dd8448eb211c80319c b7ad6b7169203331',
    )
    for (const parent of [
      'nonsense',
      PARENT.toUpperCase(),
      `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`,
      `${PARENT}-x`,
    ])
      await tracer.span({ ...OUTER, parent }, async () => undefined)
    assert.deepEqual(
      spans.slice(1).map(({ parentId }) => parentId),
      Array(4).fill(undefined),
    )
  })

  it('keeps the configured share of whole traces, whatever a caller asks for', async () => {
    const { spans, tracer } = setup(0.5)
    for (let n = 0; n < 400; n += 1) await tracer.span(OUTER, () => tracer.span(INNER, async () => undefined))
    const traces = Map.groupBy(spans, ({ traceId }) => traceId)
    assert.ok(traces.size > 120 && traces.size < 280, String(traces.size))
    assert.ok([...traces.values()].every(({ length }) => length === 2))
    const none = setup(0)
    await none.tracer.span({ ...OUTER, parent: PARENT.replace(/00$/, '01') }, async () => undefined)
    assert.equal(none.spans.length, 0)
  })

  it('records an error by its name, never by its message, and rethrows it', async () => {
    const { spans, tracer } = setup()
    const work = async () => {
      throw new TypeError('amina@example.com is not a function')
    }
    await assert.rejects(tracer.span(OUTER, work), TypeError)
    assert.deepEqual([spans[0]?.isFailed, spans[0]?.attributes], [true, { 'error.type': 'TypeError' }])
  })
})

describe('exporting spans to a collector', () => {
  const span: FinishedSpan = {
    traceId: 'a'.repeat(32),
    spanId: 'b'.repeat(16),
    parentId: 'c'.repeat(16),
    name: 'GET /x',
    kind: 'server',
    startedAtNs: 1_700_000_000_000_000_000n,
    endedAtNs: 1_700_000_000_001_500_000n,
    attributes: { text: 'a', whole: 3, part: 0.5, flag: true },
    isFailed: true,
  }

  it('sends the JSON of OTLP', () => {
    assert.deepEqual(JSON.parse(JSON.stringify(toOtlp([span], 'cowry'))), {
      resourceSpans: [
        {
          resource: { attributes: [{ key: 'service.name', value: { stringValue: 'cowry' } }] },
          scopeSpans: [
            {
              scope: { name: 'cowry' },
              spans: [
                {
                  traceId: span.traceId,
                  spanId: span.spanId,
                  parentSpanId: span.parentId,
                  name: 'GET /x',
                  kind: 2,
                  startTimeUnixNano: '1700000000000000000',
                  endTimeUnixNano: '1700000000001500000',
                  attributes: [
                    { key: 'text', value: { stringValue: 'a' } },
                    { key: 'whole', value: { intValue: '3' } },
                    { key: 'part', value: { doubleValue: 0.5 } },
                    { key: 'flag', value: { boolValue: true } },
                  ],
                  status: { code: 2 },
                },
              ],
            },
          ],
        },
      ],
    })
  })

  it('bounds the buffer, and counts the dropped spans', async () => {
    const sent: number[] = []
    let result: HttpResult = { kind: 'not_sent', code: 'ECONNREFUSED', error: '' }
    const http = {
      request: async ({ body }: { body?: string | Buffer }) => {
        sent.push(JSON.parse(String(body)).resourceSpans[0].scopeSpans[0].spans.length)
        const given = result
        result = { kind: 'answered', status: 200, headers: {}, body: Buffer.alloc(0) }
        return given
      },
      close: async () => undefined,
    }
    const log = { write: () => undefined }
    const target = { endpoint: 'http://127.0.0.1:9', headers: {}, serviceName: 'cowry' }
    const sending = createTraceExport({ http, clock: systemClock, log }, target)
    for (let n = 0; n < 5_000; n += 1) sending.add(span)
    await sending.stop()
    assert.deepEqual(sent, Array(8).fill(512))
    assert.equal(sending.dropped(), 5_000 - 4_096 + 512)
  })
})
