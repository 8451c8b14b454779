// npm run bench -- --against REF: the same load on this checkout and on another commit, one after the other in turns, so
// that other work on the machine slows both.

import { join } from 'node:path'
import { checkOut } from './commit.ts'
import { cpuOf, cpuOfTree } from './cpu.ts'
import { type Cleanups, type Driver, startDriver } from './programs.ts'
import { analyze, type Side, startSide } from './side.ts'
import { median, rounded } from './statistics.ts'
import { measureWal, type WalFigure } from './wal.ts'

const ROOT = join(import.meta.dirname, '..')
const COMPARED = ['charges', 'initiates', 'verify', 'wallet', 'customerList'] as const
type Compared = (typeof COMPARED)[number]

export interface AgainstPlan {
  rounds: number
  connections: number
  seconds: number
}

/** Of this checkout and of the other commit. */
type Pair<Value> = [Value, Value]

interface Round {
  perSecond: number
  /** Of one caller. */
  aloneMs: number
  serviceCpu: number
  databaseCpu: number
}

interface OpenRound {
  p50Ms: number
  p99Ms: number
}

export interface ComparedFigure {
  perSecond: Pair<number>
  /** Of this checkout to the other commit: the median of the rounds, and the lowest. */
  ratio: number
  lowestRatio: number
  aloneMs: Pair<number>
  /** Both in an open loop at half the lower peak. */
  openPerSecond: number
  openP50Ms: Pair<number>
  openP99Ms: Pair<number>
  /** Processor time per request at the peak, in microseconds: other work on the machine changes it little. */
  serviceCpu: Pair<number>
  databaseCpu: Pair<number>
}

export interface Comparison {
  against: string
  plan: AgainstPlan
  figures: Record<Compared, ComparedFigure>
  wal: Pair<WalFigure>
}

export async function compareWith(
  ref: string,
  plan: AgainstPlan,
  log: (line: string) => void,
): Promise<Comparison> {
  const cleanups: Cleanups = []
  try {
    log(`preparing ${ref}`)
    const commit = await checkOut(ref, cleanups)
    const here = await startSide({ name: 'here', folder: ROOT }, cleanups)
    const sides: Pair<Side> = [here, await startSide(commit, cleanups)]
    return { against: commit.name, plan, ...(await compare(sides, startDriver(cleanups), plan, log)) }
  } finally {
    for (const end of cleanups.reverse()) await end()
  }
}

async function compare(
  sides: Pair<Side>,
  driver: Driver,
  plan: AgainstPlan,
  log: (line: string) => void,
): Promise<Pick<Comparison, 'figures' | 'wal'>> {
  const { rounds, connections, seconds } = plan
  const drive = async (
    side: Side,
    operation: Compared,
    load: { connections: number; perSecond?: number; requests?: number; forMs?: number },
  ) => {
    const { service, source } = side
    const order = { url: service.url, operation, forMs: seconds * 1_000, source, ...load }
    const report = await driver.drive(order)
    if (report.failed > 0)
      throw new Error(`${report.failed} of ${operation} of ${side.name} failed: ${report.firstFailure}`)
    return report
  }
  const measureRound = async (side: Side, operation: Compared): Promise<Round> => {
    const before = cpuOfSide(side)
    const { answered, tookMs } = await drive(side, operation, { connections })
    const after = cpuOfSide(side)
    const { p50Ms } = await drive(side, operation, { connections: 1 })
    return {
      perSecond: answered / (tookMs / 1_000),
      aloneMs: p50Ms,
      serviceCpu: (after.service - before.service) / answered,
      databaseCpu: (after.database - before.database) / answered,
    }
  }
  const figureOfOperation = async (operation: Compared): Promise<ComparedFigure> => {
    const peaks = await takeTurns(sides, rounds, (side) => measureRound(side, operation))
    const perSecond = middleOf(peaks, (one) => one.perSecond)
    const openPerSecond = rounded(Math.min(...perSecond) / 2)
    const open = await takeTurns<OpenRound>(sides, rounds, (side) =>
      drive(side, operation, { connections: MOST_CONNECTIONS, perSecond: openPerSecond }),
    )
    const ratios = peaks.map(([own, other]) => own.perSecond / other.perSecond)
    log(`${operation}: ${rounded(median(ratios))} times`)
    return {
      perSecond,
      ratio: rounded(median(ratios)),
      lowestRatio: rounded(Math.min(...ratios)),
      aloneMs: middleOf(peaks, (one) => one.aloneMs),
      openPerSecond,
      openP50Ms: middleOf(open, (one) => one.p50Ms),
      openP99Ms: middleOf(open, (one) => one.p99Ms),
      serviceCpu: middleOf(peaks, (one) => one.serviceCpu),
      databaseCpu: middleOf(peaks, (one) => one.databaseCpu),
    }
  }

  log('warming up')
  for (const side of sides) {
    for (const operation of COMPARED) await drive(side, operation, { connections })
    await analyze(side)
  }
  const figures: [Compared, ComparedFigure][] = []
  for (const operation of COMPARED) figures.push([operation, await figureOfOperation(operation)])
  const walLoad = { connections, requests: WAL_CHARGES, forMs: WAL_MAX_MS }
  const walOf = (side: Side) =>
    measureWal(side.databaseUrl, async () => (await drive(side, 'charges', walLoad)).answered)
  const wal: Pair<WalFigure> = [await walOf(sides[0]), await walOf(sides[1])]
  // A boundary: there is an entry for each operation.
  return { figures: Object.fromEntries(figures) as Comparison['figures'], wal }
}

// As many for both, and so many that lists of new index entries are merged several times.
const WAL_CHARGES = 8_000
const WAL_MAX_MS = 600_000

// More than ever wait at once below the peak.
const MOST_CONNECTIONS = 256

/** Its embedded PostgreSQL runs below the service. */
function cpuOfSide({ service: { pid } }: Side): { service: number; database: number } {
  const service = cpuOf(pid)
  return { service, database: cpuOfTree(pid) - service }
}

/** Each side goes first in turn. */
async function takeTurns<Value>(
  [here, other]: Pair<Side>,
  rounds: number,
  measure: (side: Side) => Promise<Value>,
): Promise<Pair<Value>[]> {
  const taken: Pair<Value>[] = []
  for (let round = 0; round < rounds; round += 1) {
    if (round % 2 === 0) taken.push([await measure(here), await measure(other)])
    else {
      const last = await measure(other)
      taken.push([await measure(here), last])
    }
  }
  return taken
}

function middleOf<Value>(rounds: readonly Pair<Value>[], pick: (one: Value) => number): Pair<number> {
  const middle = (index: 0 | 1) => rounded(median(rounds.map((pair) => pick(pair[index]))))
  return [middle(0), middle(1)]
}
