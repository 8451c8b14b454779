// One schedule: a world made of a seed, a few people who want something, everything that can go wrong for a while, and
// then calm, in which the service must come to an end that the books of the providers confirm.

import { uuidV4 } from '../../../src/core/ids.ts'
import { type Chance, createChance, randomOf } from './chance.ts'
import { ringAtMachines } from './doorbell.ts'
import { createAlarm } from './due.ts'
import { createLine } from './line.ts'
import { type Composition, createMachine, type Machine } from './machine.ts'
import { type Changes, knownStatements } from './model/statements.ts'
import { createStore, type Row, type Rules, type Store } from './model/store.ts'
import { moneyTables } from './model/tables.ts'
import { createOracle, type Oracle } from './oracle.ts'
import { chargeAgain, sellByCheckout, type Town } from './people.ts'
import { createProvider, drawRecovery, type Provider } from './provider.ts'
import { checkEnd, checkLiveness } from './reckoning.ts'
import { createScheduler } from './scheduler.ts'
import { createServer, type Server, type ServerOptions } from './server.ts'
import { createSim, type Host, type Sim } from './sim.ts'
import { createSwitchboard } from './switchboard.ts'
import { seedTown } from './town-books.ts'
import { drawWeather } from './weather.ts'

/** A mistake that is planted, in what the world is made of. */
export interface Plant extends Composition {
  statements?: Changes
  rules?: (rules: Rules) => void
  provider?: (provider: Provider, sim: Sim) => Provider
}

export interface ScheduleOptions {
  plant?: Plant
  /** Hears of every event. */
  tell?: (timeMs: number, label: string) => void
  /** Hears of every statement. */
  tellStatements?: ServerOptions['tell']
  /** Gets the books as they are before anything happens. */
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

// So that the schedules which once failed, and those in which rare mistakes are noticed, stay as they were.
const FIRST_RIVALS = 534

export async function runSchedule(seed: number, options: ScheduleOptions = {}): Promise<ScheduleResult> {
  const chance = createChance(seed)
  const scheduler = createScheduler({ startMs: START_MS, tell: options.tell })
  const sim = createSim(scheduler, chance, createChance(-seed - FIRST_RIVALS), drawWeather(chance))
  return inSimulatedTurns(sim, options, async () => {
    const world = buildWorld(sim, options)
    const { violations } = sim
    const isOver = () => {
      if (scheduler.trace().events > MOST_EVENTS) sim.violate('it does not come to rest')
      return violations.length > 0
    }
    const stormMs = START_MS + plan(sim, world)
    await scheduler.runUntil(stormMs, isOver)
    sim.clearUp()
    await scheduler.runUntil(sim.lastTroubleMs() + MINUTE_MS, isOver)
    if (!isOver()) checkLiveness(sim, world.store)
    await scheduler.runUntil(scheduler.now() + LONG_AFTER_MS, isOver)
    if (!isOver()) checkEnd(sim, world.store, world.providers)
    const executions = world.providers.reduce((total, one) => total + one.executions.length, 0)
    const payments = world.store.rows('payments').length
    return { seed, violations, ...scheduler.trace(), payments, executions, kills: world.kills() }
  })
}

// Far more than the liveliest schedule has.
const MOST_EVENTS = 30_000

// So long after a storm all that can be paid late has been, and was found by whoever asks once an hour.
const LONG_AFTER_MS = 200 * MINUTE_MS

const RULES = moneyTables()

interface World extends Town {
  store: Store
  server: Server
  oracle: Oracle
  kills(): number
  strike(host: Host): void
}

function buildWorld(sim: Sim, options: ScheduleOptions): World {
  const { plant = {} } = options
  const rules = plant.rules ? moneyTables() : RULES
  plant.rules?.(rules)
  const store = createStore(rules)
  const random = randomOf(sim.chance, { now: () => sim.now() })
  const { merchant, regulars } = seedTown(store, random, sim.now())
  options.onStart?.(store)
  const statements = knownStatements(plant.statements)
  const server = createServer(sim, store, { statements, tell: options.tellStatements })
  const alarm = createAlarm(store, sim.scheduler, sim.chance)
  const switchboard = createSwitchboard(sim)
  const machines: Machine[] = []
  const isHasty = sim.chance.happens(0.15)
  const names = sim.chance.happens(0.3) ? ['alpha', 'beta'] : ['alpha']
  const providers = names.map((name) => {
    const ring = (key: string) => ringAtMachines(sim, switchboard, machines, name, key)
    const provider = createProvider(sim, { name, ...drawRecovery(sim, isHasty), ring })
    return plant.provider?.(provider, sim) ?? provider
  })
  const oracle = createOracle(sim, store, providers)
  const line = {
    timeoutMs: 10_000,
    // Where keys are kept for seconds only, nothing may be under way for long.
    longestMs: isHasty ? 800 : 30_000,
    onCall: (host: Host) => ambush.onCall(host),
    onArrival: oracle.noteArrival,
    onLeaving: oracle.noteLeaving,
  }
  let kills = 0
  const ambush = layAmbush(sim, (host) => strike(host))
  const needs = {
    ...{ sim, store, server, alarm, merchant, composition: plant },
    gateways: (host: Host) => providers.map((provider) => createLine(sim, host, provider, line)),
    onDeath: switchboard.drop,
  }
  for (const name of ['one', 'two'].concat(sim.chance.happens(0.3) ? ['three'] : [])) {
    machines.push(createMachine(needs, name))
  }
  for (const machine of machines) machine.start()
  const town = { sim, machines, providers, switchboard, oracle, merchant, regulars }
  const strike = (host: Host) => {
    const machine = machines.find((one) => one === host)
    if (!machine?.isUp || sim.isCalm()) return
    if (isHasty || sim.chance.happens(0.6)) {
      kills += 1
      machine.kill()
    } else {
      machine.pausedUntilMs = sim.scheduler.now() + sim.chance.between(500, 45_000)
    }
  }
  return { ...town, store, server, kills: () => kills, strike }
}

/** Strikes the process that makes a certain call, in the very moment. */
function layAmbush({ chance, scheduler }: Sim, strike: (host: Host) => void) {
  let left = chance.happens(0.5) ? 1 + chance.below(8) : 0
  return {
    onCall(host: Host) {
      left -= 1
      if (left === 0) scheduler.after(chance.between(0, 30), 'ambush', () => strike(host))
    },
  }
}

/** Who wants what and when, and what goes wrong when; answers how long the storm lasts. */
function plan(sim: Sim, world: World): number {
  const { chance, scheduler } = sim
  const stormMs = chance.happens(0.2) ? chance.between(60_000, 150_000) : chance.between(3_000, 30_000)
  const times = [...Array.from({ length: 3 }, () => chance.between(0, Math.min(stormMs, 30_000))), 10, 10]
  for (let number = 1 + chance.below(4); number > 0; number -= 1) {
    const wish = chance.happens(0.5) ? chargeAgain : sellByCheckout
    scheduler.after(chance.pick(times), `wish ${number}`, () => void wish(world, number))
  }
  for (let strikes = chance.below(5); strikes > 0; strikes -= 1) {
    scheduler.after(chance.between(0, stormMs), 'strike', () => world.strike(chance.pick(world.machines)))
  }
  for (let holds = chance.below(3); holds > 0; holds -= 1) {
    const atMs = chance.happens(0.5) ? 5 : chance.between(0, stormMs)
    scheduler.after(atMs, 'outsider', () => holdSomething(chance, world))
  }
  if (chance.happens(0.1)) {
    // Somebody else's: a webhook about a key that is not there, or not yet.
    const ring = () => ringAtMachines(sim, world.switchboard, world.machines, 'alpha', randomKey(chance))
    scheduler.after(chance.between(0, stormMs), 'stray webhook', ring)
  }
  if (chance.happens(0.3)) {
    const forMs = chance.between(5_000, 150_000)
    scheduler.after(chance.between(0, stormMs / 4), 'cut off', () => sim.cutOff(forMs))
  }
  // Whoever stands still wakes up when the storm is over.
  scheduler.after(stormMs, 'calm', () => {
    for (const machine of world.machines) machine.pausedUntilMs = 0
  })
  return stormMs
}

const randomKey = (chance: Chance) => uuidV4(chance.bytes(16))

function holdSomething(chance: Chance, { store, server }: World): void {
  const table = chance.pick(['customers', 'payments', 'attempts'])
  const rows: Row[] = store.rows(table)
  if (rows.length > 0) server.holdRow(table, chance.pick(rows), chance.between(100, 6_000))
}

/** While a schedule runs, a turn of the event loop is a turn in its time. */
async function inSimulatedTurns<Result>(
  sim: Sim,
  options: ScheduleOptions,
  work: () => Promise<Result>,
): Promise<Result> {
  const real = globalThis.setImmediate
  const frames = Error.stackTraceLimit
  const simulated = (run: () => void) => sim.scheduler.after(sim.chance.between(0, 0.3), 'turn', run)
  // A boundary: the service uses nothing of it but that it calls back.
  globalThis.setImmediate = simulated as unknown as typeof setImmediate
  // Errors are thrown by the thousand here, and half of their cost is to find out where.
  if (!options.tell) Error.stackTraceLimit = 0
  try {
    return await work()
  } finally {
    globalThis.setImmediate = real
    Error.stackTraceLimit = frames
  }
}
