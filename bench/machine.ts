// The machine of the measurement: figures mean nothing without it.

import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { cpus, loadavg, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { type Db, sql } from '../src/kit/db/db.ts'
import { median } from './statistics.ts'

export interface MachineFacts {
  cpus: number
  model: string
  memoryGb: number
  kernel: string
  node: string
  postgres: string
  /** The time to write and sync eight kilobytes. */
  fsyncMs: number
  /** The load of the machine before the measurement. */
  loadBefore: number
  baselineTool: string
}

const selectVersion = sql<{ version: string }>`select current_setting('server_version') as version`

export async function describeMachine(db: Db, folder: string, baselineTool: string): Promise<MachineFacts> {
  const [row] = await db.query(selectVersion)
  return {
    cpus: cpus().length,
    model: cpus()[0]?.model.trim() ?? 'unknown',
    memoryGb: Math.round(totalmem() / 1e9),
    kernel: release(),
    node: process.version,
    postgres: row?.version ?? 'unknown',
    fsyncMs: Number(measureSync(join(folder, 'sync-probe')).toFixed(2)),
    loadBefore: Number((loadavg()[0] ?? 0).toFixed(1)),
    baselineTool,
  }
}

const SYNCS = 50

function measureSync(file: string): number {
  const handle = openSync(file, 'w')
  const page = Buffer.alloc(8_192)
  const took = Array.from({ length: SYNCS }, () => {
    const startedAt = performance.now()
    writeSync(handle, page)
    fsyncSync(handle)
    return performance.now() - startedAt
  })
  closeSync(handle)
  return median(took)
}
