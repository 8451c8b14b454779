// The report as a table for the terminal.

import type { ChaosReport } from './chaos.ts'

const MAX_SHOWN = 5

export function tableOf({ seed, faults, records, completionMs, checks, ...report }: ChaosReport): string {
  const { kills, ...others } = faults
  const seconds = (ms: number | null) => (ms === null ? 'never' : `${(ms / 1_000).toFixed(1)} s`)
  const failedChecks = checks.filter((check) => check.failures.length > 0)
  return [
    `\nSeed ${seed}\n`,
    block('Injected faults', { 'processes killed': kills, ...others }),
    block('What happened', {
      operations: report.operations,
      'acknowledgements on disk': report.acknowledged,
      ...records,
      'answers by status': Object.entries(report.answers)
        .map(([name, count]) => `${name}: ${count}`)
        .join('   '),
    }),
    block('Complete after the last fault', mapValues(completionMs, seconds)),
    block('Failed checks', Object.fromEntries(checks.map((check) => [check.name, check.failures.length]))),
    ...failedChecks.map((check) => `\n✖ ${check.name}\n${list(check.failures)}`),
    report.folder === null ? '\n✔ all records agree\n' : `\nThe logs are in ${report.folder}\n`,
  ].join('')
}

function block(title: string, rows: Record<string, number | string>): string {
  const lines = Object.entries(rows).map(([name, value]) => `  ${name.padEnd(44)} ${value}\n`)
  return `\n${title}\n${lines.join('')}`
}

function list(lines: readonly string[]): string {
  const shown = lines.slice(0, MAX_SHOWN).map((line) => `  ${line}\n`)
  return [...shown, lines.length > MAX_SHOWN ? `  and ${lines.length - MAX_SHOWN} more\n` : ''].join('')
}

function mapValues<Key extends string, From, To>(record: Record<Key, From>, to: (value: From) => To) {
  return Object.fromEntries(Object.entries<From>(record).map(([key, value]) => [key, to(value)])) as Record<
    Key,
    To
  >
}
