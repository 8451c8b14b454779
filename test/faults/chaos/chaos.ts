// One run: starts a world, puts load on it and injects faults. Then the faults stop, all work completes without help,
// and the records are compared.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkInvariants } from '../../../src/kit/db/invariants.ts'
import type { Cleanup } from '../../support/database.ts'
import { createPrng } from '../random-walk/prng.ts'
import { openAcknowledgementLog, readAcknowledgements } from './acknowledgements.ts'
import { type FaultCounts, injectFaults } from './faults.ts'
import { startLoad } from './load.ts'
import { awaitQuiescence, type CompletionTimes } from './quiescence.ts'
import { type Check, reconcile } from './reconcile.ts'
import { readRecords } from './records.ts'
import { startWorld, type World } from './world.ts'

export interface ChaosOptions {
  kills: number
  /** How long faults are injected, and the longest time where processes start slowly. */
  seconds: number
  maxSeconds: number
  seed: number
  onProgress?(kills: number, acknowledged: number): void
}

export interface ChaosReport {
  seed: number
  faults: FaultCounts
  operations: number
  acknowledged: number
  /** The number of faults of each kind. */
  records: { payments: number; refunds: number; executions: number; events: number; webhooks: number }
  answers: Record<string, number>
  /** When each kind of work was complete after the last fault. */
  completionMs: CompletionTimes
  checks: Check[]
  /** The folder with the logs of the processes, when a check failed. */
  folder: string | null
}

const CLIENTS = 10

// Promised in faults.md (I22): nothing is open a minute after the faults have stopped.
export const FINAL_WITHIN_MS = 60_000

export async function chaos(t: Cleanup, options: ChaosOptions): Promise<ChaosReport> {
  const folder = await mkdtemp(join(tmpdir(), 'cowry-chaos-'))
  const cleanups: (() => Promise<void>)[] = []
  let isKept = false
  t.after(async () => {
    for (const end of cleanups) await end()
    if (!isKept) await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  })
  try {
    const world = await startWorld({ after: (end) => void cleanups.push(end) }, folder)
    const report = await run(world, options)
    isKept = report.checks.some(({ failures }) => failures.length > 0)
    return { ...report, folder: isKept ? folder : null }
  } catch (error) {
    isKept = true
    throw new Error(`the run failed; the logs are in ${folder}`, { cause: error })
  }
}

async function run(world: World, options: ChaosOptions): Promise<Omit<ChaosReport, 'folder'>> {
  const { seed } = options
  const prng = createPrng(seed)
  const file = join(world.folder, 'acknowledgements.jsonl')
  const log = await openAcknowledgementLog(file)
  let endedAt = Number.POSITIVE_INFINITY
  const load = await startLoad({
    ...world,
    log,
    prng: prng.fork(),
    clients: CLIENTS,
    isOver: () => Date.now() > endedAt + FINAL_WITHIN_MS,
  })
  const onProgress = (done: number) => options.onProgress?.(done, load.acknowledged())
  const faults = await injectFaults(world, { ...options, prng: prng.fork(), onProgress })
  endedAt = Date.now()
  await load.stop()
  await log.close()

  const db = world.openDb()
  const completionMs = await awaitQuiescence(db, endedAt, FINAL_WITHIN_MS)
  const [records, acknowledgements, invariants] = await Promise.all([
    readRecords(db, world.providerLog),
    readAcknowledgements(file),
    checkInvariants(db),
  ])
  await db.close()
  const violated = invariants.filter(({ violations }) => violations !== 0)
  const late = Object.entries(completionMs).filter(([, end]) => end === null)
  return {
    seed,
    faults,
    operations: load.operations(),
    acknowledged: acknowledgements.length,
    records: {
      payments: records.payments.length,
      refunds: records.refunds.length,
      executions: records.executions.length,
      events: records.events.length,
      webhooks: world.consumer.receipts.length,
    },
    answers: Object.fromEntries([...load.answers].sort(([a], [b]) => (a < b ? -1 : 1))),
    completionMs,
    checks: [
      ...reconcile(acknowledgements, records, world.consumer),
      {
        name: `invariants violated, of ${invariants.length}`,
        failures: violated.map(({ name, violations }) => `${name}: ${violations}`),
      },
      {
        name: 'not final 60 s after the last fault (I22)',
        failures: late.map(([kind]) => `some ${kind} are not complete`),
      },
      { name: 'responses that no client should get (F-14)', failures: load.errors },
      { name: 'processes that ended unexpectedly', failures: world.errors },
    ],
  }
}
