// One schedule: a world made from a seed, a few actors, and faults for a while. Then the faults stop, and the service
// must complete all work in agreement with the providers' records.

import { uuidV4 } from '../../../src/core/ids.ts'
import { chargeReturningCustomer, runCheckout, type World } from './actors.ts'
import { checkEnd, checkLiveness } from './assertions.ts'
import { createDispatcher } from './dispatcher.ts'
import { drawFaultProfile } from './fault-profile.ts'
import { createInvariantChecker, type InvariantChecker } from './invariants.ts'
import { createJobTimer } from './job-timer.ts'
import { createMachine, type Machine, type ProcessOverrides } from './machine.ts'
import { type Changes, knownStatements } from './model/statements.ts'
import { createStore, type Row, type Rules, type Store } from './model/store.ts'
import { moneyTables } from './model/tables.ts'
import { connectGateway } from './network.ts'
import { createPrng, type Prng, randomOf } from './prng.ts'
import { createProvider, drawBehavior, type Provider } from './provider.ts'
import { createScheduler } from './scheduler.ts'
import { seedWorld } from './seed-data.ts'
import { createServer, type Server, type ServerOptions } from './server.ts'
import { createSim, type Host, type Sim } from './sim.ts'
import { deliverWebhook } from './webhook-notifications.ts'

/** A defect that is injected into the parts of the world. */
export interface Mutation extends ProcessOverrides {
  statements?: Changes
  rules?: (rules: Rules) => void
  provider?: (provider: Provider, sim: Sim) => Provider
  /** The defect is in the completing call. */
  completes?: true
}

export interface ScheduleOptions {
  mutation?: Mutation
  /** The providers move no money before we complete a payment. */
  completes?: boolean
  /** Called for every event. */
  onEvent?: (timeMs: number, label: string) => void
  /** Called for every statement. */
  onStatement?: ServerOptions['onStep']
  /** Called with the store before the schedule starts. */
  onStart?: (store: Store) => void
}

export interface ScheduleResult {
  seed: number
  violations: readonly string[]
  events: number
  hash: number
  payments: number
  executions: number
  kills: number
}

const START_MS = Date.UTC(2030, 0, 1)
const MINUTE_MS = 60_000

// Keeps schedules stable that once failed, or that detect rare mutants.
const DEADLOCK_SEED_OFFSET = 534

export async function runSchedule(seed: number, options: ScheduleOptions = {}): Promise<ScheduleResult> {
  const prng = createPrng(seed)
  const scheduler = createScheduler({ startMs: START_MS, onEvent: options.onEvent })
  const sim = createSim(scheduler, prng, createPrng(-seed - DEADLOCK_SEED_OFFSET), drawFaultProfile(prng))
  return withSimulatedImmediate(sim, options, async () => {
    const world = buildWorld(sim, options)
    const { violations } = sim
    const isOver = () => {
      if (scheduler.trace().events > MAX_EVENTS) sim.reportViolation('the schedule does not become idle')
      return violations.length > 0
    }
    const faultPhaseMs = START_MS + planSchedule(sim, world)
    await scheduler.runUntil(faultPhaseMs, isOver)
    sim.stopFaults()
    await scheduler.runUntil(sim.lastFaultMs() + MINUTE_MS, isOver)
    if (!isOver()) checkLiveness(sim, world.store)
    await scheduler.runUntil(scheduler.now() + QUIESCENCE_MS, isOver)
    if (!isOver()) checkEnd(sim, world.store, world.providers)
    const executions = world.providers.reduce((total, one) => total + one.executions.length, 0)
    const payments = world.store.rows('payments').length
    return { seed, violations, ...scheduler.trace(), payments, executions, kills: world.kills() }
  })
}

// Far more than the longest schedule has.
const MAX_EVENTS = 30_000

// So long after the faults every late payment was made, and hourly polls have found it.
const QUIESCENCE_MS = 200 * MINUTE_MS

const RULES = moneyTables()

interface SimulatedWorld extends World {
  store: Store
  server: Server
  invariants: InvariantChecker
  kills(): number
  disrupt(host: Host): void
}

function buildWorld(sim: Sim, options: ScheduleOptions): SimulatedWorld {
  const { mutation = {} } = options
  const rules = mutation.rules ? moneyTables() : RULES
  mutation.rules?.(rules)
  const store = createStore(rules)
  const random = randomOf(sim.prng, { now: () => sim.now() })
  const { merchant, returningCustomers } = seedWorld(store, random, sim.now())
  options.onStart?.(store)
  const statements = knownStatements(mutation.statements)
  const server = createServer(sim, store, { statements, onStep: options.onStatement })
  const jobTimer = createJobTimer(store, sim.scheduler, sim.prng)
  const dispatcher = createDispatcher(sim)
  const machines: Machine[] = []
  const hasShortKeyRetention = sim.prng.nextBool(0.15)
  const names = sim.prng.nextBool(0.3) ? ['alpha', 'beta'] : ['alpha']
  const providers = names.map((name) => {
    const notify = (key: string) => deliverWebhook(sim, dispatcher, machines, name, key)
    const completes = options.completes ?? mutation.completes ?? false
    const drawn = drawBehavior(sim, hasShortKeyRetention)
    const provider = createProvider(sim, { name, ...drawn, completes, notify })
    return mutation.provider?.(provider, sim) ?? provider
  })
  const invariants = createInvariantChecker(sim, store, providers)
  const networkOptions = {
    timeoutMs: 10_000,
    // Where keys are kept only for seconds, requests must not be in transit for long.
    longestMs: hasShortKeyRetention ? 800 : 30_000,
    onCall: (host: Host) => callTrigger.onCall(host),
    onArrival: invariants.recordArrival,
    onSent: invariants.recordSent,
  }
  let kills = 0
  const callTrigger = disruptOnCall(sim, (host) => disrupt(host))
  const machineOptions = {
    ...{ sim, store, server, jobTimer, merchant, overrides: mutation },
    gateways: (host: Host) =>
      providers.map((provider) => connectGateway(sim, host, provider, networkOptions)),
    onCrash: dispatcher.failPending,
  }
  for (const name of ['one', 'two'].concat(sim.prng.nextBool(0.3) ? ['three'] : [])) {
    machines.push(createMachine(machineOptions, name))
  }
  for (const machine of machines) machine.start()
  const world = { sim, machines, providers, dispatcher, invariants, merchant, returningCustomers }
  const disrupt = (host: Host) => {
    const machine = machines.find((one) => one === host)
    if (!machine?.isUp || sim.isFaultFree()) return
    if (hasShortKeyRetention || sim.prng.nextBool(0.6)) {
      kills += 1
      machine.kill()
    } else {
      machine.pausedUntilMs = sim.scheduler.now() + sim.prng.between(500, 45_000)
    }
  }
  return { ...world, store, server, kills: () => kills, disrupt }
}

/** Disrupts the process that makes a certain call, during the call. */
function disruptOnCall({ prng, scheduler }: Sim, disrupt: (host: Host) => void) {
  let left = prng.nextBool(0.5) ? 1 + prng.nextInt(8) : 0
  return {
    onCall(host: Host) {
      left -= 1
      if (left === 0) scheduler.after(prng.between(0, 30), 'disrupt on call', () => disrupt(host))
    },
  }
}

/** Plans the actors and the faults; returns when the faults end. */
function planSchedule(sim: Sim, world: SimulatedWorld): number {
  const { prng, scheduler } = sim
  const faultPhaseMs = prng.nextBool(0.2) ? prng.between(60_000, 150_000) : prng.between(3_000, 30_000)
  const times = [...Array.from({ length: 3 }, () => prng.between(0, Math.min(faultPhaseMs, 30_000))), 10, 10]
  for (let number = 1 + prng.nextInt(4); number > 0; number -= 1) {
    const scenario = prng.nextBool(0.5) ? chargeReturningCustomer : runCheckout
    scheduler.after(prng.pick(times), `scenario ${number}`, () => void scenario(world, number))
  }
  for (let disruptions = prng.nextInt(5); disruptions > 0; disruptions -= 1) {
    scheduler.after(prng.between(0, faultPhaseMs), 'disrupt', () => world.disrupt(prng.pick(world.machines)))
  }
  for (let locks = prng.nextInt(3); locks > 0; locks -= 1) {
    const atMs = prng.nextBool(0.5) ? 5 : prng.between(0, faultPhaseMs)
    scheduler.after(atMs, 'outsider', () => lockRandomRow(prng, world))
  }
  if (prng.nextBool(0.1)) {
    // An unknown payment: a webhook about a key that does not exist, or not yet.
    const sendStray = () => deliverWebhook(sim, world.dispatcher, world.machines, 'alpha', randomKey(prng))
    scheduler.after(prng.between(0, faultPhaseMs), 'stray webhook', sendStray)
  }
  if (prng.nextBool(0.3)) {
    const forMs = prng.between(5_000, 150_000)
    scheduler.after(prng.between(0, faultPhaseMs / 4), 'cut off', () => sim.partition(forMs))
  }
  // A stopped process resumes when the faults are over.
  scheduler.after(faultPhaseMs, 'calm', () => {
    for (const machine of world.machines) machine.pausedUntilMs = 0
  })
  return faultPhaseMs
}

const randomKey = (prng: Prng) => uuidV4(prng.bytes(16))

function lockRandomRow(prng: Prng, { store, server }: SimulatedWorld): void {
  const table = prng.pick(['customers', 'payments', 'attempts'])
  const rows: Row[] = store.rows(table)
  if (rows.length > 0) server.lockRow(table, prng.pick(rows), prng.between(100, 6_000))
}

/** While a schedule runs, setImmediate runs in simulated time. */
async function withSimulatedImmediate<Result>(
  sim: Sim,
  options: ScheduleOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  const real = globalThis.setImmediate
  const frames = Error.stackTraceLimit
  const simulated = (run: () => void) => sim.scheduler.after(sim.prng.between(0, 0.3), 'turn', run)
  // A boundary: the service only needs the callback.
  globalThis.setImmediate = simulated as unknown as typeof setImmediate
  // Thousands of errors are thrown here, and stack traces are half of their cost.
  if (!options.onEvent) Error.stackTraceLimit = 0
  try {
    return await work()
  } finally {
    globalThis.setImmediate = real
    Error.stackTraceLimit = frames
  }
}
