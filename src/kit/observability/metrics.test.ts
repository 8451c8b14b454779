import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createMetrics, labelFamilies, renderMetrics } from './metrics.ts'

describe('metrics as text', () => {
  it('render a counter with its labels, and escape their values', async () => {
    const metrics = createMetrics()
    const counter = metrics.counter({
      name: 'calls_total',
      type: 'counter',
      labels: ['who'],
      help: 'Calls,\nall of them.',
    })
    counter.add(['a "quoted" \\ name\n'])
    counter.add(['a "quoted" \\ name\n'], 2)
    assert.equal(
      await renderMetrics(await metrics.families()),
      '# HELP calls_total Calls,\\nall of them.\n# TYPE calls_total counter\ncalls_total{who="a \\"quoted\\" \\\\ name\\n"} 3\n',
    )
  })

  it('render a histogram with cumulative buckets', async () => {
    const metrics = createMetrics()
    const seconds = metrics.histogram(
      { name: 'seconds', type: 'histogram', labels: ['route'], help: 'Time.' },
      [0.1, 1],
    )
    for (const measured of [0.05, 0.1, 0.5, 3]) seconds.observe(['/'], measured)
    const lines = (await renderMetrics(await metrics.families())).split('\n').slice(2, -1)
    assert.deepEqual(lines, [
      'seconds_bucket{le="0.1",route="/"} 2',
      'seconds_bucket{le="1",route="/"} 3',
      'seconds_bucket{le="+Inf",route="/"} 4',
      'seconds_sum{route="/"} 3.65',
      'seconds_count{route="/"} 4',
    ])
  })

  it('read a gauge at each scrape, also one that is not a number', async () => {
    const metrics = createMetrics()
    let value = 1
    metrics.gauge({ name: 'level', type: 'gauge', labels: [], help: 'Now.' }, () => [[[], value]])
    assert.match(await renderMetrics(await metrics.families()), /^level 1$/m)
    value = Number.NaN
    assert.match(await renderMetrics(await metrics.families()), /^level nan$/im)
  })

  it('merge the families of several processes', async () => {
    const labelled = ['1', '2'].map(async (worker) => {
      const metrics = createMetrics()
      metrics.counter({ name: 'calls_total', type: 'counter', labels: ['who'], help: 'Calls.' }).add(['a'])
      return labelFamilies(await metrics.families(), 'worker', worker)
    })
    const text = await renderMetrics((await Promise.all(labelled)).flat())
    assert.equal(
      text,
      '# HELP calls_total Calls.\n# TYPE calls_total counter\ncalls_total{who="a",worker="1"} 1\ncalls_total{who="a",worker="2"} 1\n',
    )
  })
})

describe('a metric', () => {
  it('has a unique name', async () => {
    const metrics = createMetrics()
    metrics.counter({ name: 'calls_total', type: 'counter', labels: [], help: 'Calls.' })
    assert.throws(
      () => metrics.counter({ name: 'calls_total', type: 'counter', labels: [], help: 'Others.' }),
      /already been registered/,
    )
  })

  it('bounds its series when a label takes any value', async () => {
    const metrics = createMetrics()
    const counter = metrics.counter({ name: 'calls_total', type: 'counter', labels: ['who'], help: 'Calls.' })
    for (let n = 0; n < 10_000; n += 1) counter.add([`caller-${n}`])
    const samples = (await metrics.families())[0]?.values ?? []
    assert.equal(samples.length, 2_001)
    assert.equal(samples.find(({ labels }) => labels.who === 'other')?.value, 8_000)
  })
})
