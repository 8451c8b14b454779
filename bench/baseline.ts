// The speed of the database alone with a script: measured by pgbench where it is installed, because its overhead is
// minimal, and otherwise by the bare driver in another process.

import { execFile, fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type BaselineScript, DRAW } from './baseline-scripts.ts'

export interface BaselineOrder {
  url: string
  script: BaselineScript
  clients: number
  seconds: number
}

export interface BaselineReport {
  done: number
  perSecond: number
}

export type MeasureBaseline = (order: BaselineOrder) => Promise<BaselineReport>

/** The tool that measures the limits, and its name. */
export function chooseBaselineTool(folder: string): { name: string; measure: MeasureBaseline } {
  const found = spawnSync('pgbench', ['--version'], { encoding: 'utf8' })
  if (found.status === 0) return { name: found.stdout.trim(), measure: (order) => runPgbench(folder, order) }
  return { name: 'the bare pg driver (pgbench is not installed)', measure: measureAlone }
}

// Prepared once: a short run should not include a cost that a long-lived connection pays once.
const PGBENCH_ENV = { PGOPTIONS: '-c plan_cache_mode=force_generic_plan' }

async function runPgbench(
  folder: string,
  { url, script, clients, seconds }: BaselineOrder,
): Promise<BaselineReport> {
  const file = join(folder, 'baseline.pgbench')
  await writeFile(file, toPgbench(script))
  const options = [
    '-n',
    '-M',
    'prepared',
    '-f',
    file,
    '-c',
    String(clients),
    '-j',
    '2',
    '-T',
    String(seconds),
  ]
  const env = { ...process.env, ...PGBENCH_ENV }
  const { stdout, stderr } = await promisify(execFile)('pgbench', [...options, url], { env }).catch(
    (error: { stdout: string; stderr: string }) => error,
  )
  const read = (pattern: RegExp) => Number(pattern.exec(stdout)?.[1] ?? Number.NaN)
  const failed = read(/number of failed transactions: (\d+)/)
  if (failed !== 0 || stderr.includes('ERROR')) throw new Error(`pgbench failed: ${stderr.slice(0, 2_000)}`)
  return {
    done: read(/actually processed: (\d+)/),
    perSecond: read(/^tps = ([\d.]+)/m),
  }
}

export function toPgbench({ steps, draws }: BaselineScript): string {
  const lines = draws
    ? [`\\set n random(1, ${DRAW.customers})`, `\\set m 1 + (:n - 1) % ${DRAW.merchants}`, '\\set one 1']
    : []
  return [...lines, ...steps.map(({ sql, keepsRow }) => sql + (keepsRow ? '\n\\gset' : ';'))].join('\n')
}

/** By the bare driver, which also knows the time of each round. */
export async function measureAlone(order: BaselineOrder): Promise<BaselineReport & { p50Ms: number }> {
  const client = fork(join(import.meta.dirname, 'baseline-client.ts'))
  client.send(order)
  const [report] = await once(client, 'message')
  client.disconnect()
  return report
}
