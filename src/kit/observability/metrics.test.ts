import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createMetrics, labelFamilies, renderMetrics } from './metrics.ts'

describe('metrics as text', () => {
  it('tell a counter by its labels, and escape what stands in them', () => {
    const metrics = createMetrics()
    const counter = metrics.counter('calls_total', 'Calls,\nall of them.', ['who'])
    counter.add(['a "quoted" \\ name\n'])
    counter.add(['a "quoted" \\ name\n'], 2)
    assert.equal(
      renderMetrics(metrics.families()),
      '# HELP calls_total Calls,\\nall of them.\n# TYPE calls_total counter\ncalls_total{who="a \\"quoted\\" \\\\ name\\n"} 3\n',
    )
  })

  it('tell a histogram by buckets that each hold the ones before', () => {
    const metrics = createMetrics()
    const seconds = metrics.histogram('seconds', 'Time.', ['route'], [0.1, 1])
    for (const measured of [0.05, 0.1, 0.5, 3]) seconds.observe(['/'], measured)
    const lines = renderMetrics(metrics.families()).split('\n').slice(2, -1)
    assert.deepEqual(lines, [
      'seconds_bucket{route="/",le="0.1"} 2',
      'seconds_bucket{route="/",le="1"} 3',
      'seconds_bucket{route="/",le="+Inf"} 4',
      'seconds_sum{route="/"} 3.65',
      'seconds_count{route="/"} 4',
    ])
  })

  it('read a gauge when they are asked for, also one that is no number', () => {
    const metrics = createMetrics()
    let value = 1
    metrics.gauge('level', 'Now.', [], () => [[[], value]])
    assert.match(renderMetrics(metrics.families()), /^level 1$/m)
    value = Number.NaN
    assert.match(renderMetrics(metrics.families()), /^level NaN$/m)
  })

  it('bring the same family of several processes together', () => {
    const [one, other] = ['1', '2'].map((worker) => {
      const metrics = createMetrics()
      metrics.counter('calls_total', 'Calls.', ['who']).add(['a'])
      return labelFamilies(metrics.families(), 'worker', worker)
    })
    const text = renderMetrics([...(one ?? []), ...(other ?? [])])
    assert.equal(
      text,
      '# HELP calls_total Calls.\n# TYPE calls_total counter\ncalls_total{who="a",worker="1"} 1\ncalls_total{who="a",worker="2"} 1\n',
    )
  })
})

describe('what is measured', () => {
  it('has a name of its own', () => {
    const metrics = createMetrics()
    metrics.counter('calls_total', 'Calls.', [])
    assert.throws(() => metrics.counter('calls_total', 'Others.', []), /two metrics/)
  })

  it('does not fill the memory when a label takes any value', () => {
    const metrics = createMetrics()
    const counter = metrics.counter('calls_total', 'Calls.', ['who'])
    for (let n = 0; n < 10_000; n += 1) counter.add([`caller-${n}`])
    const samples = metrics.families()[0]?.samples ?? []
    assert.equal(samples.length, 2_001)
    assert.equal(samples.find(({ labels }) => labels.who === 'other')?.value, 8_000)
  })
})
