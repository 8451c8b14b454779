// npm run bench: the speed of the whole service on this machine, compared with the speed of its database alone for the
// same steps.

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseOptions, parsePositiveInteger } from '../test/support/command-line.ts'
import { type Comparison, compareWith } from './against.ts'
import { renderComparison } from './against-report.ts'
import { chooseBaselineTool } from './baseline.ts'
import { killUnderLoad } from './durability.ts'
import { measureLatencies, renderLatencies } from './latency.ts'
import { describeMachine } from './machine.ts'
import { measureLoad, measureRounds, type Plan } from './measure.ts'
import { renderPlot } from './plot.ts'
import { type Document, figuresOf, renderTable, renderTargets, type SweepPoint } from './report.ts'
import { type Rig, withRig } from './rig.ts'
import { rounded } from './statistics.ts'
import { measureWal, renderWal } from './wal.ts'

interface Wanted extends Omit<Plan, 'connections' | 'baselineClients'> {
  /** Of each arm of the latencies. */
  latencySeconds: number
}

const FULL = {
  rounds: 5,
  writeSeconds: 8,
  readSeconds: 3,
  warmUpSeconds: 2,
  readBaselineSeconds: 3,
  sweep: [1, 4, 8, 12, 16, 24, 32, 48, 64, 128],
  sweepSeconds: 4,
  latencySeconds: 8,
} satisfies Wanted

const QUICK = {
  ...FULL,
  rounds: 3,
  writeSeconds: 2,
  readSeconds: 0.5,
  warmUpSeconds: 0.3,
  readBaselineSeconds: 1,
  sweep: [8, 24, 48],
  sweepSeconds: 1.5,
  latencySeconds: 2,
} satisfies Wanted

const WARM_CONNECTIONS = 32
const AGAINST_CONNECTIONS = 24
/** Many short turns: other work on the machine comes and goes. */
const AGAINST = { rounds: 15, seconds: 3 }
const QUICK_AGAINST = { rounds: 7, seconds: 1 }

/** The limit is measured with the number of clients that does the most. */
const BASELINE_CLIENTS = [2, 4, 8, 16, 32]
const BASELINE_SECONDS = 1

/**
 * The margin over the limit that a number of connections must reach, so that it still exceeds it on a busier machine.
 */
const MIN_MARGIN = 1.15

const HELP = `npm run bench [-- --quick] [-- --json FILE] [-- --connections N] [-- --against REF]

Starts PostgreSQL with fsync on, the sandbox provider, the service and a load driver, each as a separate process,
and measures them in rounds. Each operation is compared with its limit: the rate of pgbench with the same statements
that the service sends, each as one transaction, on the same idle server. A charge has two of them.
Processor time is per request, in microseconds. Then the latency below the peak: of one caller alone, and in an open
loop (a constant rate, counted from the intended start) at 25, 50 and 80 % of the peak, beside a floor: the statements
of the operation by one bare client, and for a charge the provider's answer, alone. At the end the service is killed under load, and every acknowledged
charge must be in the database. The plot goes to docs/bench.svg.

  --quick          takes three minutes, for a first look: short rounds are less precise, and docs/bench.svg stays as it is
  --json FILE      also write everything as one JSON document
  --connections N  concurrent requests; by default the fewest that clearly exceed the limit in charges per second,
                   or the number that does the most
  --against REF    instead runs the same load on this checkout and on another commit in turns, each with its own embedded
                   PostgreSQL and filled over HTTP, and prints the ratios
  --growth FILE    includes the figures of npm run bench:growth in the document
  --help           this text
`

const options = parseOptions(HELP, {
  quick: { type: 'boolean' },
  json: { type: 'string' },
  connections: { type: 'string' },
  growth: { type: 'string' },
  against: { type: 'string' },
})
const wantedConnections =
  options.connections === undefined ? undefined : parsePositiveInteger('connections', options.connections)

const log = (line: string) => void process.stderr.write(`${line}\n`)

const document = options.against === undefined ? await measureHere() : await compare(options.against)
if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(document, null, 2)}\n`)

async function measureHere(): Promise<Document> {
  const measured = await withRig({ log }, (rig) => measure(rig, options.quick ? QUICK : FULL))
  const targets = renderTargets(measured)
  const parts = [
    renderTable(measured),
    renderLatencies(measured.latencies),
    renderWal('Charges', measured.wal),
  ]
  process.stdout.write(`${[...parts, targets, describe(measured)].join('\n')}\n`)
  if (targets.includes('MISSED')) process.exitCode = 1
  // The published plot is that of a whole run.
  if (!options.quick) await writeFile(join(import.meta.dirname, '../docs/bench.svg'), plotOf(measured))
  return measured
}

async function compare(ref: string): Promise<Comparison> {
  const plan = {
    ...(options.quick ? QUICK_AGAINST : AGAINST),
    connections: wantedConnections ?? AGAINST_CONNECTIONS,
  }
  const comparison = await compareWith(ref, plan, log)
  process.stdout.write(renderComparison(comparison))
  return comparison
}

async function measure(rig: Rig, wanted: Wanted): Promise<Document> {
  const machine = await describeMachine(rig.db, rig.folder, chooseBaselineTool(rig.folder).name)
  log('warming up')
  await warmUp(rig, wanted.writeSeconds)
  log('sweeping over the number of clients')
  const baseline = await sweepBaseline(rig)
  const sweep: SweepPoint[] = []
  for (const connections of wanted.sweep) {
    const { perSecond, p50Ms, p99Ms } = await measureLoad(rig, 'charges', connections, wanted.sweepSeconds)
    sweep.push({ connections, perSecond: rounded(perSecond), p50Ms: rounded(p50Ms), p99Ms: rounded(p99Ms) })
  }
  const connections = wantedConnections ?? chooseConnections(sweep, baseline.perSecond)
  const plan: Plan = { ...wanted, connections, baselineClients: baseline.clients }
  const rounds = await measureRounds(rig, plan, log)
  const figures = figuresOf(rounds)
  log('measuring the latency below the peak')
  const latencies = await measureLatencies(rig, figures, wanted.latencySeconds)
  const wal = await measureWal(rig.databaseUrl, () => countCharges(rig, connections, wanted.writeSeconds))
  log('killing the service under load')
  const durability = await killUnderLoad(rig, plan.connections, 1_500)
  const { charges, hotCharges } = figures
  return {
    ...figures,
    hotMerchant: {
      perSecond: hotCharges.perSecond,
      ratio: rounded(hotCharges.perSecond / charges.perSecond, 2),
    },
    latencies,
    wal,
    sweep,
    durability,
    growth: await readGrowth(),
    machine,
    plan: { rounds: plan.rounds, connections: plan.connections, baselineClients: plan.baselineClients },
  }
}

async function countCharges(rig: Rig, connections: number, seconds: number): Promise<number> {
  const order = { url: rig.service.url, operation: 'charges' as const, connections, forMs: seconds * 1_000 }
  return (await rig.drive(order)).answered
}

/**
 * The fewest connections that clearly exceed the limit, because each further one adds latency; where none does, the
 * best.
 */
function chooseConnections(sweep: readonly SweepPoint[], baselinePerSecond: number): number {
  const enough = sweep.find(({ perSecond }) => perSecond >= MIN_MARGIN * baselinePerSecond)
  const [best] = sweep.toSorted((one, other) => other.perSecond - one.perSecond)
  return (enough ?? best)?.connections ?? WARM_CONNECTIONS
}

async function sweepBaseline({ baselineUrl: url, baselines, folder }: Rig) {
  const { measure: measureBaseline } = chooseBaselineTool(folder)
  const found: { clients: number; perSecond: number }[] = []
  for (const clients of BASELINE_CLIENTS) {
    const order = { url, script: baselines.charges, clients, seconds: BASELINE_SECONDS }
    found.push({ clients, perSecond: (await measureBaseline(order)).perSecond })
  }
  const [best] = found.toSorted((one, other) => other.perSecond - one.perSecond)
  if (!best) throw new Error('there is no number of clients to take the limit with')
  return best
}

/** One-time compilation, connection and planning are not part of the figures. */
async function warmUp(rig: Rig, seconds: number): Promise<void> {
  // Statistics of the seeded rows, as autovacuum would collect them.
  await rig.analyze()
  for (const operation of ['charges', 'initiates', 'verify', 'customerList', 'wallet'] as const)
    await measureLoad(rig, operation, WARM_CONNECTIONS, seconds)
  await rig.analyze()
}

async function readGrowth(): Promise<unknown> {
  return options.growth === undefined ? null : JSON.parse(await readFile(options.growth, 'utf8'))
}

function describe({ machine, durability, plan, sweep }: Document): string {
  return [
    `${machine.cpus} × ${machine.model}, ${machine.memoryGb} GB, fsync ${machine.fsyncMs} ms, load before ${machine.loadBefore}`,
    `Node ${machine.node}, PostgreSQL ${machine.postgres}, baselines by ${machine.baselineTool}`,
    `${plan.rounds} rounds, ${plan.connections} connections, baselines with ${plan.baselineClients}; everything shares the cores`,
    `killed under load: ${durability.acknowledged} charges acknowledged, ${durability.found} found (fsync ${durability.fsync}, synchronous_commit ${durability.synchronousCommit})`,
    ...sweep.map(
      ({ connections, perSecond, p50Ms, p99Ms }) =>
        `${String(connections).padStart(4)} connections: ${perSecond} charges/s, p50 ${p50Ms} ms, p99 ${p99Ms} ms`,
    ),
  ].join('\n')
}

function plotOf({ sweep, charges, machine }: Document): string {
  const caption = `${machine.cpus} × ${machine.model}; service, provider, driver and database share them`
  return renderPlot(sweep, charges.baselinePerSecond ?? 0, caption)
}
