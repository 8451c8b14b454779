// What goes wrong, as a table: each trouble with its weight, how it is made and how long it lasts. The seed decides which
// comes when and whom it meets; how the town takes it is its own affair, so a seed brings back the weather, not the run.

import { setTimeout as delay } from 'node:timers/promises'
import { eventually } from '../../support/process.ts'
import type { Chance } from '../random-walk/chance.ts'
import type { Place } from './place.ts'
import type { Town, Wire } from './town.ts'

export interface TroubleCounts {
  kills: number
  [trouble: string]: number
}

export interface TroubleOptions {
  kills: number
  seconds: number
  /** On a busy machine starts take long, and kills wait for them; but no longer than this. */
  mostSeconds: number
  chance: Chance
  onProgress(kills: number): void
}

interface Trouble {
  name: string
  weight: number
  make(town: Town, chance: Chance): Promise<number>
}

// Longer than the lease of a charge: whoever wakes up after it finds that others have taken over, and what was sent before
// it arrives when nobody waits for it any more.
const LONGEST_MS = 9_000
const LONGEST_SLOWNESS_MS = 2_500
const LONGEST_START_MS = 120_000

// These two are armed, and happen when the wire is next used so; the wires know how often they did.
const LOST = 'COMMIT answers lost'
const CUT = 'answers cut short'

const TROUBLES: Trouble[] = [
  { name: 'processes stopped for a while', weight: 4, make: freeze },
  { name: LOST, weight: 8, make: loseCommits },
  {
    name: 'connections reset',
    weight: 5,
    make: async (town, chance) => anyWire(town, chance)?.proxy.reset() ?? 0,
  },
  {
    name: 'connections half closed',
    weight: 3,
    make: async (town, chance) => anyWire(town, chance)?.proxy.halfClose() ?? 0,
  },
  { name: CUT, weight: 5, make: cutAnswers },
  { name: 'wires silent for a while', weight: 3, make: (town, chance) => quieten(town, chance) },
  { name: 'wires slow for a while', weight: 3, make: (town, chance) => slowDown(town, chance) },
  { name: 'PostgreSQL restarts, fast', weight: 0.25, make: (town) => restart(town, 'fast') },
  { name: 'PostgreSQL restarts, immediate', weight: 0.25, make: (town) => restart(town, 'immediate') },
]

/** Makes trouble until the time is over and every kill was done; all is quiet again when it resolves. */
export async function makeTrouble(town: Town, options: TroubleOptions): Promise<TroubleCounts> {
  const counts: TroubleCounts = { kills: 0, ...Object.fromEntries(TROUBLES.map(({ name }) => [name, 0])) }
  const until = Date.now() + options.seconds * 1_000
  let isOver = false
  const killing = killOften(town, options, counts)
  const troubling = troubleOften(town, options.chance.branch(), counts, () => isOver)
  await killing
  await delay(Math.max(0, until - Date.now()))
  isOver = true
  await troubling
  await calmDown(town)
  const sum = (of: (wire: Wire) => number) => town.wires.reduce((total, wire) => total + of(wire), 0)
  counts[LOST] = sum(({ proxy }) => proxy.injected.lostCommits)
  counts[CUT] = sum(({ proxy }) => proxy.injected.cuts)
  return counts
}

async function killOften(town: Town, options: TroubleOptions, counts: TroubleCounts): Promise<void> {
  const chance = options.chance.branch()
  const meanMs = (options.seconds * 1_000) / options.kills
  const until = Date.now() + options.mostSeconds * 1_000
  while (counts.kills < options.kills && Date.now() < until) {
    await delay(meanMs * (0.5 + chance.below(1_000) / 1_000))
    const place = chance.pick(town.places.filter((one) => mayBeKilled(town, one, chance)))
    if (place && (await place.kill())) counts.kills += 1
    options.onProgress(counts.kills)
  }
}

// Mostly one of a kind is left alive: where nobody works, nothing can go wrong.
const LEAVES_NOBODY = 0.02

function mayBeKilled(town: Town, place: Place, chance: Chance): boolean {
  if (!place.hasWorked()) return false
  const others = town.places.filter((one) => one.kind === place.kind && one !== place)
  return place.kind === 'provider' || others.some((one) => one.isUp()) || chance.happens(LEAVES_NOBODY)
}

const TROUBLE_EVERY_MS = 400

async function troubleOften(
  town: Town,
  chance: Chance,
  counts: TroubleCounts,
  isOver: () => boolean,
): Promise<void> {
  const underWay = new Set<Promise<void>>()
  while (!isOver()) {
    await delay(chance.below(2 * TROUBLE_EVERY_MS))
    if (!isAtWork(town)) continue
    const { name, make } = chance.weighed(TROUBLES)
    const trouble = make(town, chance.branch()).then((times) => {
      counts[name] = (counts[name] ?? 0) + times
      underWay.delete(trouble)
    })
    underWay.add(trouble)
    // PostgreSQL restarts once at a time: a second one would wait for the same folder.
    if (name.startsWith('PostgreSQL')) await trouble
  }
  await Promise.all(underWay)
}

/** Where nobody works there is nothing to trouble but starts, and a start that fails is only made again. */
function isAtWork(town: Town): boolean {
  const isUp = (kind: Place['kind']) => town.places.some((place) => place.kind === kind && place.isUp())
  return isUp('api') && isUp('worker')
}

/** A fault is over when whoever it met is back: a process that was killed has been started again. */
async function calmDown(town: Town): Promise<void> {
  for (const { proxy } of town.wires) proxy.heal()
  for (const place of town.places) place.wake()
  await eventually(
    () => town.places.filter((place) => !place.isUp()).map(({ name }) => name),
    ({ length }) => length === 0,
    LONGEST_START_MS,
  )
}

function anyWire(town: Town, chance: Chance, to?: Wire['to']): Wire | undefined {
  const isUp = (name: string) => town.places.some((place) => place.name === name && place.isUp())
  // A process that cannot reach its database does not start, and then there is one less to trouble.
  const isSpared = (one: Wire) => one.to === 'database' && !isUp(one.from)
  return chance.pick(
    town.wires.filter((one) => to === undefined || one.to === to).filter((one) => !isSpared(one)),
  )
}

/** Mostly a moment, now and then longer than a lease. */
function aWhile(chance: Chance): number {
  return LONGEST_MS * (chance.below(1_000) / 1_000) ** 2
}

async function freeze(town: Town, chance: Chance): Promise<number> {
  const place: Place | undefined = chance.pick(town.places)
  if (!place?.freeze()) return 0
  await delay(aWhile(chance))
  place.wake()
  return 1
}

async function loseCommits(town: Town, chance: Chance): Promise<number> {
  anyWire(town, chance, 'database')?.proxy.loseCommits(1 + chance.below(4))
  return 0
}

async function cutAnswers(town: Town, chance: Chance): Promise<number> {
  anyWire(town, chance)?.proxy.cutAfter(chance.below(3_000))
  return 0
}

async function quieten(town: Town, chance: Chance): Promise<number> {
  const wire = anyWire(town, chance)
  wire?.proxy.blackhole()
  await delay(aWhile(chance))
  wire?.proxy.heal()
  return 1
}

async function slowDown(town: Town, chance: Chance): Promise<number> {
  const wire = anyWire(town, chance)
  wire?.proxy.delay(10 + chance.below(200))
  await delay(chance.below(LONGEST_SLOWNESS_MS))
  wire?.proxy.heal()
  return 1
}

async function restart(town: Town, mode: 'fast' | 'immediate'): Promise<number> {
  await town.restartDatabase(mode)
  return 1
}
