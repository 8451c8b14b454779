// The latency below saturation: of one caller alone, and in an open loop at shares of the peak, beside a floor of the same
// run. At the peak itself a latency only shows the length of the queue.

import { measureAlone } from './baseline.ts'
import type { Operation, SentOperation } from './requests.ts'
import type { Rig } from './rig.ts'
import { median, rounded } from './statistics.ts'

const LATENCY_OPERATIONS = ['charges', 'initiates', 'verify', 'wallet', 'customerList'] as const
export type LatencyOperation = (typeof LATENCY_OPERATIONS)[number]

interface Latency {
  p50Ms: number
  p95Ms: number
  p99Ms: number
}

export interface OpenLoop extends Latency {
  /** Of the peak. */
  share: number
  perSecond: number
}

export interface LatencyFigure {
  /** The median of its statements by a bare client, alone, and of the provider's answer, alone. */
  floorMs: number
  alone: Latency
  openLoops: OpenLoop[]
  /** Of a bare route at half the peak of this operation. */
  bareP99Ms: number
}

export type Latencies = Record<LatencyOperation, LatencyFigure>

export const SHARES = [0.25, 0.5, 0.8]
// More than ever wait at once below the peak.
const MOST_CONNECTIONS = 256

type Peaks = Record<Operation, { perSecond: number }>

export async function measureLatencies(rig: Rig, peaks: Peaks, seconds: number): Promise<Latencies> {
  const figures: [LatencyOperation, LatencyFigure][] = []
  for (const operation of LATENCY_OPERATIONS) {
    const peak = peaks[operation].perSecond
    const unloaded = await measureUnloaded(rig, operation, peak / 2, seconds)
    const openLoops: OpenLoop[] = []
    for (const share of SHARES) {
      const perSecond = rounded(peak * share)
      openLoops.push({ share, perSecond, ...(await measure(rig, operation, openAt(perSecond), seconds)) })
    }
    figures.push([operation, { ...unloaded, openLoops }])
  }
  // A boundary: there is an entry for each operation.
  return Object.fromEntries(figures) as Latencies
}

const SLICES = 3

/** One caller, its floor and the bare route in turn, so that other work on the machine slows all of them. */
async function measureUnloaded(
  rig: Rig,
  operation: LatencyOperation,
  barePerSecond: number,
  seconds: number,
): Promise<Omit<LatencyFigure, 'openLoops'>> {
  const [floors, alone, bare]: [number[], Latency[], Latency[]] = [[], [], []]
  for (let slice = 0; slice < SLICES; slice += 1) {
    floors.push(await measureFloor(rig, operation, seconds / SLICES))
    alone.push(await measure(rig, operation, { connections: 1 }, seconds / SLICES))
    bare.push(await measure(rig, 'bareRoute', openAt(barePerSecond), seconds / SLICES))
  }
  return {
    floorMs: rounded(median(floors)),
    alone: middleOf(alone),
    bareP99Ms: middleOf(bare).p99Ms,
  }
}

async function measureFloor(rig: Rig, operation: LatencyOperation, seconds: number): Promise<number> {
  const { baselineUrl: url, baselines } = rig
  const { p50Ms } = await measureAlone({ url, script: baselines[operation], clients: 1, seconds })
  if (operation !== 'charges') return p50Ms
  return p50Ms + (await measure(rig, 'provider', { connections: 1 }, seconds)).p50Ms
}

function middleOf(latencies: readonly Latency[]): Latency {
  const middle = (field: keyof Latency) => median(latencies.map((one) => one[field]))
  return { p50Ms: middle('p50Ms'), p95Ms: middle('p95Ms'), p99Ms: middle('p99Ms') }
}

const openAt = (perSecond: number) => ({ connections: MOST_CONNECTIONS, perSecond })

async function measure(
  rig: Rig,
  operation: SentOperation,
  load: { connections: number; perSecond?: number },
  seconds: number,
): Promise<Latency> {
  const { url } =
    operation === 'provider' ? rig.provider : operation === 'bareRoute' ? rig.bareRoute : rig.service
  const report = await rig.drive({ url, operation, forMs: seconds * 1_000, ...load })
  if (report.failed > 0) throw new Error(`${report.failed} of ${operation} failed: ${report.firstFailure}`)
  return { p50Ms: rounded(report.p50Ms), p95Ms: rounded(report.p95Ms), p99Ms: rounded(report.p99Ms) }
}

const TITLE =
  'Latency in ms, alone and in an open loop at shares of the peak; the floor is its statements alone'

export function renderLatencies(latencies: Latencies): string {
  const heads = [
    '',
    'floor',
    'alone p50',
    'p99',
    ...SHARES.flatMap((share) => [`${share * 100} %/s`, 'p50', 'p95', 'p99']),
  ]
  const rows = Object.entries(latencies).map(([operation, { floorMs, alone, openLoops }]) => [
    operation,
    ...[floorMs, alone.p50Ms, alone.p99Ms].map(String),
    ...openLoops.flatMap((one) => [one.perSecond, one.p50Ms, one.p95Ms, one.p99Ms]).map(String),
  ])
  const line = ([name = '', ...cells]: readonly string[]) =>
    name.padEnd(14) + cells.map((cell) => cell.padStart(10)).join('')
  return `${[TITLE, ...[heads, ...rows].map(line)].join('\n')}\n`
}

/** Label, value and whether it is met. */
export type Target = [string, number | null, boolean]

export function latencyTargets(latencies: Latencies): Target[] {
  return (['charges', 'initiates', 'verify'] as const).flatMap((operation) => {
    const { floorMs, alone, openLoops, bareP99Ms } = latencies[operation]
    const [, half, most] = openLoops
    if (!half || !most) throw new Error('the shares of the open loop have changed')
    const mostAtHalf = rounded(3 * bareP99Ms + floorMs)
    return [
      atMost(`${operation} alone, p50 of the floor`, alone.p50Ms / floorMs, 1.8),
      atMost(`${operation} at 50 %, p50 of the floor`, half.p50Ms / floorMs, 3),
      atMost(`${operation} at 50 %, p99 in ms`, half.p99Ms, mostAtHalf),
      atMost(`${operation} at 80 %, p99 of that at 50 %`, most.p99Ms / half.p99Ms, 2),
    ]
  })
}

function atMost(name: string, value: number, limit: number): Target {
  return [`${name} (at most ${limit})`, rounded(value), value <= limit]
}
