// The measurements as a document and as a table. Ratios are of medians over the rounds.

import type { KillReport } from './durability.ts'
import { type Latencies, latencyTargets, type Target } from './latency.ts'
import type { MachineFacts } from './machine.ts'
import type { BaselineRound, Round, Rounds } from './measure.ts'
import type { BaselineOperation } from './prepare.ts'
import type { Operation } from './requests.ts'
import type { Cpu } from './rig.ts'
import { median, rounded, spread } from './statistics.ts'
import type { WalFigure } from './wal.ts'

export interface Figure {
  perSecond: number
  /** The spread of the rounds, as a share of the median. */
  spread: number
  p50Ms: number
  p95Ms: number
  p99Ms: number
  /** Per request, in microseconds. */
  cpu: Cpu
  /** The figure of the database alone with the same statements; null where there is no comparison. */
  baselinePerSecond: number | null
  baselineSpread: number | null
  ratio: number | null
  baselineDatabaseCpu: number | null
  databaseCpuRatio: number | null
}

export interface SweepPoint {
  connections: number
  perSecond: number
  p50Ms: number
  p99Ms: number
}

export type Document = Record<Operation, Figure> & {
  latencies: Latencies
  wal: WalFigure
  hotMerchant: { perSecond: number; ratio: number }
  sweep: SweepPoint[]
  durability: KillReport
  growth: unknown
  machine: MachineFacts
  plan: { rounds: number; connections: number; baselineClients: number }
}

export function figuresOf(rounds: Rounds): Record<Operation, Figure> {
  const figure = (operation: Operation) => {
    const baselineRounds = operation in rounds.baseline ? rounds.baseline[operation as BaselineOperation] : []
    return [operation, figureOf(rounds.service[operation], baselineRounds)] as const
  }
  // Boundaries: the keys of the rounds are the operations.
  return Object.fromEntries((Object.keys(rounds.service) as Operation[]).map(figure)) as Record<
    Operation,
    Figure
  >
}

function figureOf(rounds: readonly Round[], baselines: readonly BaselineRound[]): Figure {
  const middle = (pick: (round: Round) => number) => median(rounds.map(pick))
  const perSecond = middle((round) => round.perSecond)
  const database = middle((round) => round.cpu.database)
  const baselinePerSecond = baselines.length > 0 ? median(baselines.map((one) => one.perSecond)) : null
  const baselineDatabaseCpu = baselines.length > 0 ? median(baselines.map((one) => one.databaseCpu)) : null
  return {
    perSecond: rounded(perSecond),
    spread: rounded(spread(rounds.map((round) => round.perSecond)), 2),
    p50Ms: rounded(middle((round) => round.p50Ms)),
    p95Ms: rounded(middle((round) => round.p95Ms)),
    p99Ms: rounded(middle((round) => round.p99Ms)),
    cpu: {
      service: Math.round(middle((round) => round.cpu.service)),
      provider: Math.round(middle((round) => round.cpu.provider)),
      driver: Math.round(middle((round) => round.cpu.driver)),
      database: Math.round(database),
    },
    baselinePerSecond: baselinePerSecond && rounded(baselinePerSecond),
    baselineSpread: baselinePerSecond && rounded(spread(baselines.map((one) => one.perSecond)), 2),
    ratio: baselinePerSecond && rounded(perSecond / baselinePerSecond, 2),
    baselineDatabaseCpu: baselineDatabaseCpu && Math.round(baselineDatabaseCpu),
    databaseCpuRatio: baselineDatabaseCpu && rounded(database / baselineDatabaseCpu, 2),
  }
}

const NAMES: Record<Operation, string> = {
  charges: 'recurring charges',
  hotCharges: '… of one merchant',
  initiates: 'initiates',
  verify: 'verify',
  wallet: 'wallet balance',
  customerList: 'customer list',
  customerSearch: 'customer search',
  bareRoute: 'a bare route',
}

const COLUMNS = [
  '',
  'per s',
  '±',
  'p50 ms',
  'p95',
  'p99',
  'limit/s',
  'ratio',
  'service µs',
  'database',
  'of limit',
  'provider',
  'driver',
]

export function renderTable(document: Document): string {
  // Boundary: the names are those of the operations.
  const operations = Object.keys(NAMES) as Operation[]
  const rows = operations.map((operation) => rowOf(NAMES[operation], document[operation]))
  return `${[COLUMNS, ...rows].map(line).join('\n')}\n`
}

function rowOf(name: string, figure: Figure): string[] {
  const { cpu, baselinePerSecond, ratio, databaseCpuRatio } = figure
  const shown = (value: number | null) => (value === null || Number.isNaN(value) ? '–' : String(value))
  return [
    name,
    shown(figure.perSecond),
    `${Math.round(figure.spread * 50)} %`,
    ...[figure.p50Ms, figure.p95Ms, figure.p99Ms, baselinePerSecond, ratio].map(shown),
    ...[cpu.service, cpu.database, databaseCpuRatio, cpu.provider, cpu.driver].map(shown),
  ]
}

const line = ([name = '', ...cells]: readonly string[]) =>
  name.padEnd(20) +
  cells.map((cell, index) => cell.padStart(Math.max(8, (COLUMNS[index + 1] ?? '').length + 2))).join('')

/** The targets of the project, each with its measurement. */
export function renderTargets(document: Document): string {
  const { charges, initiates, hotMerchant, durability } = document
  const targets: Target[] = [
    ['charges, of the limit (at least 1.0)', charges.ratio, (charges.ratio ?? 0) >= 1],
    ['initiates, of the limit (at least 1.0)', initiates.ratio, (initiates.ratio ?? 0) >= 1],
    ['p99 of charges in ms (at most 50)', charges.p99Ms, charges.p99Ms <= 50],
    [
      'database time of a charge, of the limit (at most 0.6)',
      charges.databaseCpuRatio,
      (charges.databaseCpuRatio ?? 1) <= 0.6,
    ],
    ['one hot merchant, of 1,000 (at least 0.9)', hotMerchant.ratio, hotMerchant.ratio >= 0.9],
    [
      'acknowledged and lost after SIGKILL (0)',
      durability.acknowledged - durability.found,
      durability.acknowledged > 0 && durability.acknowledged === durability.found,
    ],
    ...latencyTargets(document.latencies),
  ]
  return targets
    .map(([label, value, isMet]) => `${isMet ? 'kept  ' : 'MISSED'}  ${label.padEnd(56)}${value}\n`)
    .join('')
}
