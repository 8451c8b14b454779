// The faults as a table: the weight, the injection and the duration of each. The seed decides their order and targets;
// how processes react depends on timing, so a seed repeats the faults, not the run.

import { setTimeout as delay } from 'node:timers/promises'
import { eventually } from '../../support/process.ts'
import type { Prng } from '../random-walk/prng.ts'
import type { SupervisedProcess } from './supervised-process.ts'
import type { NetworkLink, World } from './world.ts'

export interface FaultCounts {
  kills: number
  [fault: string]: number
}

export interface FaultOptions {
  kills: number
  seconds: number
  /** On a busy machine kills wait for slow starts, but no longer than this. */
  maxSeconds: number
  prng: Prng
  onProgress(kills: number): void
}

interface ChaosFault {
  name: string
  weight: number
  inject(world: World, prng: Prng): Promise<number>
}

// Longer than the lease of a charge: a process that resumes finds that others have taken over, and requests sent before
// arrive after their timeout.
const MAX_PAUSE_MS = 9_000
const MAX_DELAY_MS = 2_500
const MAX_START_MS = 120_000

// These two are armed, and fire when a link is next used in this way; the links count them.
const LOST_COMMITS = 'COMMIT answers lost'
const CUT_RESPONSES = 'answers cut short'

const FAULTS: ChaosFault[] = [
  { name: 'processes stopped for a while', weight: 4, inject: pauseProcess },
  { name: LOST_COMMITS, weight: 8, inject: loseCommits },
  {
    name: 'connections reset',
    weight: 5,
    inject: async (world, prng) => pickLink(world, prng)?.proxy.reset() ?? 0,
  },
  {
    name: 'connections half closed',
    weight: 3,
    inject: async (world, prng) => pickLink(world, prng)?.proxy.halfClose() ?? 0,
  },
  { name: CUT_RESPONSES, weight: 5, inject: cutResponses },
  { name: 'links silent for a while', weight: 3, inject: (world, prng) => blackholeLink(world, prng) },
  { name: 'links slow for a while', weight: 3, inject: (world, prng) => delayLink(world, prng) },
  { name: 'PostgreSQL restarts, fast', weight: 0.25, inject: (world) => restart(world, 'fast') },
  { name: 'PostgreSQL restarts, immediate', weight: 0.25, inject: (world) => restart(world, 'immediate') },
]

/** Injects faults until the time is over and every kill was done; resolves when all faults have ended. */
export async function injectFaults(world: World, options: FaultOptions): Promise<FaultCounts> {
  const counts: FaultCounts = { kills: 0, ...Object.fromEntries(FAULTS.map(({ name }) => [name, 0])) }
  const until = Date.now() + options.seconds * 1_000
  let isOver = false
  const killing = killRandomly(world, options, counts)
  const injecting = injectRandomly(world, options.prng.fork(), counts, () => isOver)
  await killing
  await delay(Math.max(0, until - Date.now()))
  isOver = true
  await injecting
  await healAll(world)
  const sum = (of: (link: NetworkLink) => number) => world.links.reduce((total, link) => total + of(link), 0)
  counts[LOST_COMMITS] = sum(({ proxy }) => proxy.injected.lostCommits)
  counts[CUT_RESPONSES] = sum(({ proxy }) => proxy.injected.cuts)
  return counts
}

async function killRandomly(world: World, options: FaultOptions, counts: FaultCounts): Promise<void> {
  const prng = options.prng.fork()
  const meanMs = (options.seconds * 1_000) / options.kills
  const until = Date.now() + options.maxSeconds * 1_000
  while (counts.kills < options.kills && Date.now() < until) {
    await delay(meanMs * (0.5 + prng.nextInt(1_000) / 1_000))
    const target = prng.pick(world.processes.filter((one) => mayBeKilled(world, one, prng)))
    if (target && (await target.kill())) counts.kills += 1
    options.onProgress(counts.kills)
  }
}

// Usually keep one process of a kind alive: without running processes no fault has an effect.
const KILL_LAST_PROBABILITY = 0.02

function mayBeKilled(world: World, target: SupervisedProcess, prng: Prng): boolean {
  if (!target.hasWorked()) return false
  const others = world.processes.filter((one) => one.kind === target.kind && one !== target)
  return (
    target.kind === 'provider' || others.some((one) => one.isUp()) || prng.nextBool(KILL_LAST_PROBABILITY)
  )
}

const FAULT_EVERY_MS = 400

async function injectRandomly(
  world: World,
  prng: Prng,
  counts: FaultCounts,
  isOver: () => boolean,
): Promise<void> {
  const inFlight = new Set<Promise<void>>()
  while (!isOver()) {
    await delay(prng.nextInt(2 * FAULT_EVERY_MS))
    if (!isServing(world)) continue
    const { name, inject } = prng.pickWeighted(FAULTS)
    const fault = inject(world, prng.fork()).then((times) => {
      counts[name] = (counts[name] ?? 0) + times
      inFlight.delete(fault)
    })
    inFlight.add(fault)
    // One restart of PostgreSQL at a time: a second one would wait for the same data folder.
    if (name.startsWith('PostgreSQL')) await fault
  }
  await Promise.all(inFlight)
}

/** Faults need running processes: otherwise they only affect starts, which are retried. */
function isServing(world: World): boolean {
  const isUp = (kind: SupervisedProcess['kind']) =>
    world.processes.some((target) => target.kind === kind && target.isUp())
  return isUp('api') && isUp('worker')
}

/** A fault ends when its process is back: a killed process has been started again. */
async function healAll(world: World): Promise<void> {
  for (const { proxy } of world.links) proxy.heal()
  for (const target of world.processes) target.resume()
  await eventually(
    () => world.processes.filter((target) => !target.isUp()).map(({ name }) => name),
    ({ length }) => length === 0,
    MAX_START_MS,
  )
}

function pickLink(world: World, prng: Prng, to?: NetworkLink['to']): NetworkLink | undefined {
  const isUp = (name: string) => world.processes.some((target) => target.name === name && target.isUp())
  // A process that cannot reach its database does not start, and is no target for other faults.
  const isSpared = (one: NetworkLink) => one.to === 'database' && !isUp(one.from)
  return prng.pick(
    world.links.filter((one) => to === undefined || one.to === to).filter((one) => !isSpared(one)),
  )
}

/** Usually short, sometimes longer than a lease. */
function randomPauseMs(prng: Prng): number {
  return MAX_PAUSE_MS * (prng.nextInt(1_000) / 1_000) ** 2
}

async function pauseProcess(world: World, prng: Prng): Promise<number> {
  const target: SupervisedProcess | undefined = prng.pick(world.processes)
  if (!target?.pause()) return 0
  await delay(randomPauseMs(prng))
  target.resume()
  return 1
}

async function loseCommits(world: World, prng: Prng): Promise<number> {
  pickLink(world, prng, 'database')?.proxy.loseCommits(1 + prng.nextInt(4))
  return 0
}

async function cutResponses(world: World, prng: Prng): Promise<number> {
  pickLink(world, prng)?.proxy.cutAfter(prng.nextInt(3_000))
  return 0
}

async function blackholeLink(world: World, prng: Prng): Promise<number> {
  const link = pickLink(world, prng)
  link?.proxy.blackhole()
  await delay(randomPauseMs(prng))
  link?.proxy.heal()
  return 1
}

async function delayLink(world: World, prng: Prng): Promise<number> {
  const link = pickLink(world, prng)
  link?.proxy.delay(10 + prng.nextInt(200))
  await delay(prng.nextInt(MAX_DELAY_MS))
  link?.proxy.heal()
  return 1
}

async function restart(world: World, mode: 'fast' | 'immediate'): Promise<number> {
  await world.restartDatabase(mode)
  return 1
}
