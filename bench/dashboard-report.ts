// The figures of the dashboard's screens, with their limits, as a table.

import type { Exported } from './growth-export.ts'

/** The largest 95th percentile of a screen, and the largest ratio to the same screen with few payments. */
export const LIMIT_MS = 50
export const LIMIT_RATIO = 1.5

export interface Figure {
  /** Processor time of the service and the database. */
  p50Ms: number
  p95Ms: number
  /** Of the database alone. */
  databaseMs: number
  /** The time that passed. */
  passedP50Ms: number
  passedP95Ms: number
}

export interface Measured {
  name: string
  limitMs: number | null
  /** By number of payments. Null: there is no such record. */
  figures: Record<string, Figure | null>
  /** The p50 of the merchant with the most payments, divided by that of the one with a few, and of the empty one. */
  ratio: number
  ratioToEmpty: number | null
}

export interface Report {
  payments: number[]
  screens: Measured[]
  exported: Exported | null
  /** Milliseconds until the database does nothing more for an export that the reader has left. */
  abortedAfterMs: number | null
  load: { before: number; after: number }
}

export function verdictOf({ figures, ratio, limitMs }: Measured): string {
  if (limitMs === null) return ''
  const p95Ms = Object.values(figures).at(-1)?.p95Ms ?? Number.NaN
  return [!(p95Ms <= limitMs) && 'SLOW', !(ratio <= LIMIT_RATIO) && 'GROWS'].filter(Boolean).join(' ')
}

export function renderTable({ payments, screens, exported, abortedAfterMs, load }: Report): string {
  const heads = [
    '',
    ...payments.flatMap((count) => [`p50 at ${count}`, 'p95']),
    'database',
    'passed p50',
    'p95',
    'ratio',
    'to the empty one',
    '',
  ]
  const lines = screens.map((one) => [
    one.name,
    ...Object.values(one.figures).flatMap((figure) => [figure?.p50Ms, figure?.p95Ms].map((ms) => ms ?? '')),
    ...lastOf(one),
    one.ratio,
    one.ratioToEmpty ?? '',
    verdictOf(one),
  ])
  const cells = [heads, ...lines].map((line) => line.map(String))
  const widths = heads.map((_, at) => Math.max(...cells.map((line) => line[at]?.length ?? 0)))
  const padded = (cell: string, at: number) =>
    at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)
  const table = cells.map((line) => line.map(padded).join('  ').trimEnd())
  const slowest = screens.toSorted((a, b) => lastP95(b) - lastP95(a))[0]
  return [
    ...table,
    '',
    `${screens.length} screens; the slowest is ${slowest?.name}. Load of the machine: ${load.before} before, ${load.after} after.`,
    ...(exported
      ? [
          `The CSV file of ${exported.rows} payments takes ${exported.seconds} s. The process has ${exported.beforeMb} MB before, ` +
            `${exported.halfMb} MB at most in the first half of the file and ${exported.peakMb} MB in all of it. ` +
            `The database is idle ${abortedAfterMs} ms after a reader has left.`,
        ]
      : []),
    '',
  ].join('\n')
}

function lastOf({ figures }: Measured): (number | string)[] {
  const last = Object.values(figures).at(-1)
  return last ? [last.databaseMs, last.passedP50Ms, last.passedP95Ms] : ['', '', '']
}

function lastP95({ figures }: Measured): number {
  return Object.values(figures).at(-1)?.p95Ms ?? 0
}
