// Metrics of the process: memory, processor time, event loop delay, database connections.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { METRICS } from '../../core/metric-definitions.ts'
import type { PoolStats } from '../db/db.ts'
import type { Metrics } from './metrics.ts'

type Delays = ReturnType<typeof monitorEventLoopDelay>

const NANOSECONDS = 1e9
const MICROSECONDS = 1e6

// Finer than any delay that a caller would notice, at no more than a hundred wake-ups a second.
const RESOLUTION_MS = 10

/** Returns a function that stops measuring. */
export function measureProcess(metrics: Metrics, pool: () => PoolStats): () => void {
  let delays: Delays | undefined
  const one = (value: number) => [[[], value] as const]

  metrics.observableCounter(METRICS.processCpu, () => {
    const { user, system } = process.cpuUsage()
    return one((user + system) / MICROSECONDS)
  })
  metrics.gauge(METRICS.processMemory, () => one(process.memoryUsage.rss()))
  metrics.gauge(METRICS.processStart, () => one(performance.timeOrigin / 1_000))
  metrics.gauge(METRICS.heapUsed, () => one(process.memoryUsage().heapUsed))
  metrics.gauge(METRICS.eventLoopDelay, () => {
    // From the first scrape on: the measurement wakes an idle process a hundred times a second.
    delays ??= startMeasuringDelays()
    const late = (nanoseconds: number) => Math.max(0, nanoseconds / NANOSECONDS - RESOLUTION_MS / 1_000)
    const readings = [
      [['0.5'], late(delays.percentile(50))],
      [['0.99'], late(delays.percentile(99))],
      [['1'], late(delays.max)],
    ] as const
    delays.reset()
    return readings
  })
  metrics.gauge(METRICS.dbPoolConnections, () => {
    const { total, idle, waiting } = pool()
    return [
      [['busy'], total - idle],
      [['idle'], idle],
      [['waiting'], waiting],
    ]
  })
  return () => void delays?.disable()
}

function startMeasuringDelays(): Delays {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delays.enable()
  return delays
}
