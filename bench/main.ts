// npm run bench: how fast the whole service is on this machine, beside how fast its database alone does the same steps.

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseOptions, parsePositiveInteger } from '../test/support/command-line.ts'
import { chooseBaselineTool } from './baseline.ts'
import { killUnderLoad } from './durability.ts'
import { describeMachine } from './machine.ts'
import { measureLoad, measureRounds, type Plan } from './measure.ts'
import { renderPlot } from './plot.ts'
import { type Document, figuresOf, renderTable, renderTargets, type SweepPoint } from './report.ts'
import { type Rig, withRig } from './rig.ts'
import { rounded } from './statistics.ts'

type Wanted = Omit<Plan, 'connections' | 'baselineClients'>

const FULL = {
  rounds: 5,
  writeSeconds: 8,
  readSeconds: 3,
  warmUpSeconds: 2,
  readBaselineSeconds: 3,
  sweep: [1, 4, 8, 12, 16, 24, 32, 48, 64, 128],
  sweepSeconds: 4,
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
} satisfies Wanted

const WARM_CONNECTIONS = 32

/** The limit is taken with as many clients as do the most. */
const BASELINE_CLIENTS = [2, 4, 8, 16, 32]
const BASELINE_SECONDS = 1

/** By how much more than the limit a number of connections is to do, to still do more when the machine is busier. */
const MIN_MARGIN = 1.15

const HELP = `npm run bench [-- --quick] [-- --json FILE] [-- --connections N]

Starts PostgreSQL with fsync on, the sandbox provider, the service and a load driver, each as a process of its own,
and measures them in rounds. Beside each operation stands its limit: what pgbench reaches with the very statements that
the service sends, each as one transaction, on the same server and with nothing else running. A charge is two of them.
Processor time is per request, in microseconds. At the end the service is killed under load, and what it had
acknowledged is looked for. The plot goes to docs/bench.svg.

  --quick          within 90 seconds, for a first look: short rounds log less
  --json FILE      also write everything as one JSON document
  --connections N  how many requests are under way at once; without it as few as do clearly more charges per second than
                   the limit, or as many as do the most
  --growth FILE    take the figures of npm run bench:growth into the document
  --help           this text
`

const options = parseOptions(HELP, {
  quick: { type: 'boolean' },
  json: { type: 'string' },
  connections: { type: 'string' },
  growth: { type: 'string' },
})
const wantedConnections =
  options.connections === undefined ? undefined : parsePositiveInteger('connections', options.connections)

const log = (line: string) => void process.stderr.write(`${line}\n`)

const document = await withRig({ log }, (rig) => measure(rig, options.quick ? QUICK : FULL))
const targets = renderTargets(document)
process.stdout.write(`${renderTable(document)}\n${targets}\n${describe(document)}\n`)
if (targets.includes('MISSED')) process.exitCode = 1
await writeFile(join(import.meta.dirname, '../docs/bench.svg'), plotOf(document))
if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(document, null, 2)}\n`)

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
  log('killing the service under load')
  const durability = await killUnderLoad(rig, plan.connections, 1_500)
  const figures = figuresOf(rounds)
  const { charges, hotCharges } = figures
  return {
    ...figures,
    hotMerchant: {
      perSecond: hotCharges.perSecond,
      ratio: rounded(hotCharges.perSecond / charges.perSecond, 2),
    },
    sweep,
    durability,
    growth: await readGrowth(),
    machine,
    plan: { rounds: plan.rounds, connections: plan.connections, baselineClients: plan.baselineClients },
  }
}

/** As few as clearly do more than the limit, because every further one makes all wait longer; where none does, the best. */
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

/** What is compiled, connected and planned only once is no part of the figures. */
async function warmUp(rig: Rig, seconds: number): Promise<void> {
  // Statistics of the seed alone, as they come by themselves in time.
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
