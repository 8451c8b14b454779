// The comparison of two commits as tables.

import type { ComparedFigure, Comparison } from './against.ts'
import { rounded } from './statistics.ts'
import { renderWal } from './wal.ts'

const RATES = [
  '',
  'per s',
  'other',
  'ratio',
  'lowest',
  'service µs',
  'other',
  'ratio',
  'database µs',
  'other',
  'ratio',
]
const LATENCIES = [
  '',
  'alone p50',
  'other',
  'ratio',
  'open at /s',
  'p50',
  'other',
  'ratio',
  'p99',
  'other',
  'ratio',
]

export function renderComparison({ against, plan, figures, wal }: Comparison): string {
  const rows = (columns: string[], cells: (figure: ComparedFigure) => number[]) =>
    [columns, ...Object.entries(figures).map(([name, figure]) => [name, ...cells(figure).map(String)])].map(
      line,
    )
  const [here, other] = wal
  return [
    `This checkout against ${against}: ${plan.rounds} rounds in turns, ${plan.connections} connections. Processor time is per request.`,
    ...rows(RATES, ratesOf),
    'Latency in ms, of one caller and in an open loop at half the lower peak',
    ...rows(LATENCIES, latenciesOf),
    renderWal('here', here).trim(),
    renderWal(against, other).trim(),
    `per charge, of ${against}: WAL ${rounded(here.bytes / other.bytes, 2)} times, stored bytes ${rounded(here.storedBytes / other.storedBytes, 2)} times\n`,
  ].join('\n')
}

const ratesOf = (figure: ComparedFigure) => [
  ...figure.perSecond,
  figure.ratio,
  figure.lowestRatio,
  ...withRatio(figure.serviceCpu),
  ...withRatio(figure.databaseCpu),
]

const latenciesOf = (figure: ComparedFigure) => [
  ...withRatio(figure.aloneMs),
  figure.openPerSecond,
  ...withRatio(figure.openP50Ms),
  ...withRatio(figure.openP99Ms),
]

const withRatio = ([here, other]: readonly [number, number]) => [here, other, rounded(here / other, 2)]

const line = ([name = '', ...cells]: readonly string[]) =>
  name.padEnd(14) + cells.map((cell) => cell.padStart(12)).join('')
