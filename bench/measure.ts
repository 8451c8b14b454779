// The rounds: each measures every operation of the service and its limit one after the other, so that changing load on
// the machine favours neither.

import { setTimeout as delay } from 'node:timers/promises'
import { sql } from '../src/kit/db/db.ts'
import { type BaselineReport, chooseBaselineTool } from './baseline.ts'
import type { BaselineOperation } from './prepare.ts'
import { OPERATIONS, type Operation } from './requests.ts'
import type { Cpu, Rig } from './rig.ts'

export interface Plan {
  rounds: number
  /** For writes, in whole seconds, because pgbench counts in these. */
  writeSeconds: number
  readSeconds: number
  /**
   * A warm-up with the same load before each measurement, not counted: connections get plans for the current
   * statistics.
   */
  warmUpSeconds: number
  /** Of pgbench for reads. */
  readBaselineSeconds: number
  connections: number
  baselineClients: number
  /** Of the plot. */
  sweep: readonly number[]
  sweepSeconds: number
}

export interface Round {
  perSecond: number
  p50Ms: number
  p95Ms: number
  p99Ms: number
  /** Processor time per request, in microseconds. */
  cpu: Cpu
}

export interface BaselineRound extends BaselineReport {
  databaseCpu: number
}

export interface Rounds {
  service: Record<Operation, Round[]>
  baseline: Record<BaselineOperation, BaselineRound[]>
}

const WRITES: ReadonlySet<Operation> = new Set(['charges', 'hotCharges', 'initiates'])

export async function measureRounds(rig: Rig, plan: Plan, log: (line: string) => void): Promise<Rounds> {
  const { measure } = chooseBaselineTool(rig.folder)
  const rounds: Rounds = emptyRounds()
  const takeBaseline = async (operation: BaselineOperation, seconds: number) => {
    const { baselineUrl: url, baselines } = rig
    await drainDeltas(rig)
    const before = rig.cpu().database
    const report = await measure({
      url,
      script: baselines[operation],
      clients: plan.baselineClients,
      seconds,
    })
    const databaseCpu = (rig.cpu().database - before) / report.done
    rounds.baseline[operation].push({ ...report, databaseCpu })
  }
  for (let round = 0; round < plan.rounds; round += 1) {
    await rig.analyze()
    for (const operation of OPERATIONS) {
      const isWrite = WRITES.has(operation)
      const takeServiceRound = async () => {
        const seconds = isWrite ? plan.writeSeconds : plan.readSeconds
        await measureLoad(rig, operation, plan.connections, plan.warmUpSeconds)
        rounds.service[operation].push(await measureLoad(rig, operation, plan.connections, seconds))
      }
      const steps = [takeServiceRound]
      if (hasBaseline(operation))
        steps.push(() => takeBaseline(operation, isWrite ? plan.writeSeconds : plan.readBaselineSeconds))
      // Each goes first in turn.
      for (const step of round % 2 === 0 ? steps : steps.reverse()) await step()
    }
    log(`round ${round + 1} of ${plan.rounds} is done`)
  }
  return rounds
}

export async function measureLoad(
  rig: Rig,
  operation: Operation,
  connections: number,
  seconds: number,
): Promise<Round> {
  const url = operation === 'bareRoute' ? rig.bareRoute.url : rig.service.url
  const before = rig.cpu()
  const report = await rig.drive({ url, operation, connections, forMs: seconds * 1_000 })
  const after = rig.cpu()
  if (report.failed > 0)
    throw new Error(`${report.failed} of the ${operation} failed: ${report.firstFailure}`)
  const { answered, tookMs, p50Ms, p95Ms, p99Ms } = report
  const perRequest = (name: keyof Cpu) => (after[name] - before[name]) / answered
  return {
    perSecond: answered / (tookMs / 1_000),
    p50Ms,
    p95Ms,
    p99Ms,
    cpu: {
      service: perRequest('service'),
      provider: perRequest('provider'),
      driver: perRequest('driver'),
      database: perRequest('database'),
    },
  }
}

function hasBaseline(operation: Operation): operation is BaselineOperation {
  return operation !== 'hotCharges' && operation !== 'bareRoute'
}

function emptyRounds(): Rounds {
  const each = <Name extends Operation, Value>(names: readonly Name[]) =>
    // A boundary: entries of these names make a record of these names.
    Object.fromEntries(names.map((name) => [name, [] as Value[]])) as Record<Name, Value[]>
  return {
    service: each<Operation, Round>(OPERATIONS),
    baseline: each<BaselineOperation, BaselineRound>(OPERATIONS.filter(hasBaseline)),
  }
}

const MAX_DRAIN_MS = 2_000
const POLL_EVERY_MS = 100
const countDeltas = sql<{ left: number }>`
select count(*)::integer as left
from (select 1 from balance_deltas limit 1000) as deltas`

/** Waits for the background folds, which belong to the previous measurement. */
async function drainDeltas({ db }: Rig): Promise<void> {
  const until = performance.now() + MAX_DRAIN_MS
  do {
    await delay(POLL_EVERY_MS)
    const [row] = await db.query(countDeltas)
    if (row?.left === 0) return
  } while (performance.now() < until)
}
