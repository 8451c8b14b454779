// npm run bench: how fast the whole service is on this machine, beside how fast its database alone does the same steps.

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { rounded } from './figures.ts'
import { killUnderLoad } from './kill.ts'
import { chooseLimiter } from './limits.ts'
import { describeMachine } from './machine.ts'
import { measureLoad, measureRounds, type Plan } from './measure.ts'
import { renderPlot } from './plot.ts'
import { type Document, figuresOf, renderPromises, renderTable, type SweepPoint } from './report.ts'
import { type Rig, withRig } from './rig.ts'

const FULL = {
  rounds: 5,
  writeSeconds: 8,
  readSeconds: 3,
  readLimitSeconds: 3,
  limitClients: 16,
  sweep: [1, 4, 8, 16, 24, 32, 48, 64, 128],
  sweepSeconds: 4,
} satisfies Omit<Plan, 'connections'>

const QUICK = {
  ...FULL,
  rounds: 3,
  writeSeconds: 2,
  readSeconds: 0.5,
  readLimitSeconds: 1,
  sweep: [8, 24, 48],
  sweepSeconds: 1.5,
} satisfies Omit<Plan, 'connections'>

const WARM_CONNECTIONS = 32

/** What is promised of the slowest; throughput beyond it is not counted. */
const P99_LIMIT_MS = 50

const HELP = `npm run bench [-- --quick] [-- --json FILE] [-- --connections N]

Starts PostgreSQL with fsync on, the sandbox provider, the service and a load driver, each as a process of its own,
and measures them in rounds. Beside each operation stands its limit: what pgbench reaches with the very statements that
the service sends, each as one transaction, on the same server and with nothing else running. A charge is two of them.
Processor time is per request, in microseconds. At the end the service is killed under load, and what it had
acknowledged is looked for. The plot goes to docs/bench.svg.

  --quick          within 90 seconds, for a first look: short rounds say less
  --json FILE      also write everything as one JSON document
  --connections N  how many requests are under way at once; without it as many as give the most charges per second
                   while 99 of 100 are answered within ${P99_LIMIT_MS} ms
  --growth FILE    take the figures of npm run bench:growth into the document
  --help           this text
`

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean' },
    json: { type: 'string' },
    connections: { type: 'string' },
    growth: { type: 'string' },
    help: { type: 'boolean' },
  },
})

const say = (line: string) => void process.stderr.write(`${line}\n`)

if (options.help) {
  process.stdout.write(HELP)
} else {
  const document = await withRig({ say }, (rig) => measure(rig, options.quick ? QUICK : FULL))
  const promises = renderPromises(document)
  process.stdout.write(`${renderTable(document)}\n${promises}\n${describe(document)}\n`)
  if (promises.includes('MISSED')) process.exitCode = 1
  await writeFile(join(import.meta.dirname, '../docs/bench.svg'), plotOf(document))
  if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(document, null, 2)}\n`)
}

async function measure(rig: Rig, wanted: Omit<Plan, 'connections'>): Promise<Document> {
  const machine = await describeMachine(rig.db, rig.folder, chooseLimiter(rig.folder).name)
  say('warming up')
  await warmUp(rig, wanted.writeSeconds / 4)
  say('sweeping over the number of connections')
  const sweep: SweepPoint[] = []
  for (const connections of wanted.sweep) {
    const { perSecond, p50Ms, p99Ms } = await measureLoad(rig, 'charges', connections, wanted.sweepSeconds)
    sweep.push({ connections, perSecond: rounded(perSecond), p50Ms: rounded(p50Ms), p99Ms: rounded(p99Ms) })
  }
  const plan: Plan = { ...wanted, connections: Number(options.connections ?? chooseConnections(sweep)) }
  const rounds = await measureRounds(rig, plan, say)
  say('killing the service under load')
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
    plan: { rounds: plan.rounds, connections: plan.connections, limitClients: plan.limitClients },
  }
}

/** The most charges per second of those that keep the limit, or of all where none does. */
function chooseConnections(sweep: readonly SweepPoint[]): number {
  const kept = sweep.filter(({ p99Ms }) => p99Ms <= P99_LIMIT_MS)
  const [best] = (kept.length > 0 ? kept : sweep).toSorted((one, other) => other.perSecond - one.perSecond)
  return best?.connections ?? WARM_CONNECTIONS
}

/** What is compiled, connected and planned only once is no part of the figures. */
async function warmUp(rig: Rig, seconds: number): Promise<void> {
  for (const operation of ['charges', 'initiates', 'verify', 'customerList', 'wallet'] as const)
    await measureLoad(rig, operation, WARM_CONNECTIONS, seconds)
  const { limitUrl: url, limits } = rig
  const { measure: measureLimit } = chooseLimiter(rig.folder)
  await measureLimit({ url, script: limits.charges, clients: FULL.limitClients, seconds: 1 })
  await rig.analyze()
}

async function readGrowth(): Promise<unknown> {
  return options.growth === undefined ? null : JSON.parse(await readFile(options.growth, 'utf8'))
}

function describe({ machine, durability, plan, sweep }: Document): string {
  return [
    `${machine.cpus} × ${machine.model}, ${machine.memoryGb} GB, fsync ${machine.fsyncMs} ms, load before ${machine.loadBefore}`,
    `Node ${machine.node}, PostgreSQL ${machine.postgres}, limits by ${machine.limiter}`,
    `${plan.rounds} rounds, ${plan.connections} connections, limits with ${plan.limitClients}; everything shares the cores`,
    `killed under load: ${durability.acknowledged} charges acknowledged, ${durability.found} found (fsync ${durability.fsync}, synchronous_commit ${durability.synchronousCommit})`,
    ...sweep.map(
      ({ connections, perSecond, p50Ms, p99Ms }) =>
        `${String(connections).padStart(4)} connections: ${perSecond} charges/s, p50 ${p50Ms} ms, p99 ${p99Ms} ms`,
    ),
  ].join('\n')
}

function plotOf({ sweep, charges, machine }: Document): string {
  const words = `${machine.cpus} × ${machine.model}; service, provider, driver and database share them`
  return renderPlot(sweep, charges.limitPerSecond ?? 0, words)
}
