// The walk itself: stretches of commands, calm ones in which every answer is known beforehand and storms in which many
// things happen to the same records at once. After each everything comes to rest, time may jump, and what the service
// shows is held against the model.

import assert from 'node:assert/strict'
import type { Cleanup } from '../../support/database.ts'
import { type Chance, createChance } from './chance.ts'
import { CHARGE_COMMANDS } from './charge-commands.ts'
import { CHECKOUT_COMMANDS } from './checkout-commands.ts'
import { compareSample, compareWallet, precision } from './comparison.ts'
import { CUSTOMER_COMMANDS } from './customer-commands.ts'
import { LINK_COMMANDS } from './link-commands.ts'
import { P2P_COMMANDS } from './p2p-commands.ts'
import { reckon, requireBooks, requireDeliveries, requireShownExecutions } from './reckoning.ts'
import { REFUND_COMMANDS } from './refund-commands.ts'
import { comeToRest, learn, passTime } from './rest.ts'
import { SIDE_COMMANDS } from './side-commands.ts'
import type { Command } from './turns.ts'
import { openWorld, type Turn, type World } from './world.ts'

const COMMANDS: readonly Command[] = [
  ...CHECKOUT_COMMANDS,
  ...CHARGE_COMMANDS,
  ...REFUND_COMMANDS,
  ...LINK_COMMANDS,
  ...P2P_COMMANDS,
  ...CUSTOMER_COMMANDS,
  ...SIDE_COMMANDS,
]

/** A seed is a whole number below it. */
export const MOST_SEED = 2 ** 32 - 1

export interface WalkOptions {
  seed: number
  operations: number
  say?: (line: string) => void
}

export interface WalkReport {
  operations: number
  stretches: number
  payments: number
  refunds: number
  /** Lines of all statements. */
  lines: number
  /** Events that were delivered. */
  delivered: number
  tally: ReadonlyMap<string, number>
  precision: { exact: number; sums: number }
}

export async function walk(t: Cleanup, { seed, operations, say }: WalkOptions): Promise<WalkReport> {
  const world = await openWorld(t)
  const chance = createChance(seed)
  let stretches = 0
  try {
    while (world.operations < operations) {
      await stretch(world, chance.branch())
      stretches += 1
      if (stretches % BOOKS_EVERY === 0) await requireBooks(world)
      if (stretches % 20 === 0) say?.(`${world.operations} operations in ${stretches} stretches`)
    }
    return await finish(world, chance, stretches)
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error)
    const where = `seed ${seed}, stretch ${stretches + 1}, after ${world.operations} operations`
    throw new Error(`${where}: ${words}\n\n${trailOf(world, words)}`, { cause: error })
  }
}

// Often enough to find a mistake near to where it was made; each time all of the books are read.
const BOOKS_EVERY = 10

const NAMES =
  /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b(?:order|charge|transfer|recovery)-[\w-]+|\b\w{15}-\w{13}\b/g

/** What was asked of the records that a failure names, and what was asked last. */
function trailOf({ trail, mistakes }: World, words: string): string {
  const named = new Set(words.match(NAMES))
  // What was begun at a link has names of its own.
  for (const line of trail.filter((one) => one.includes(': begins ')))
    if (line.match(NAMES)?.some((name) => named.has(name)))
      for (const name of line.match(NAMES) ?? []) named.add(name)
  const about = trail.filter((line) => line.match(NAMES)?.some((name) => named.has(name)))
  const parts = {
    'What was asked of it': about.slice(-60),
    'What was asked last': trail.slice(-20),
    'What the services logged': mistakes,
  }
  return Object.entries(parts)
    .map(([name, lines]) => `${name}:\n${lines.join('\n')}\n`)
    .join('\n')
}

const STORMS = 0.3

async function stretch(world: World, chance: Chance): Promise<void> {
  const isStorm = chance.happens(STORMS)
  await (isStorm ? storm(world, chance) : calm(world, chance))
  await settleDown(world, chance, 0)
  // After a storm only sums are known, until all is settled.
  const jumpMs = isStorm && chance.happens(0.6) ? LONGEST_JUMP_MS : drawJump(chance)
  if (jumpMs === 0) return
  world.clock.advance(jumpMs)
  await settleDown(world, chance, jumpMs)
}

/** The model learns what happened, and everything is held against it. */
async function settleDown(world: World, chance: Chance, jumpedMs: number): Promise<void> {
  const now = await comeToRest(world)
  assert.deepEqual(world.mistakes, [], 'no service has made a mistake')
  await eachShop(world, chance, async (turn) => {
    passTime(turn.shop, now, 0)
    await learn(turn)
    passTime(turn.shop, now, jumpedMs)
    await learn(turn)
    await compareWallet(turn)
    await compareSample(turn)
  })
}

async function eachShop(world: World, chance: Chance, act: (turn: Turn) => Promise<void>): Promise<void> {
  const turns = world.shops.map((shop) => turnOf(world, shop, chance.branch(), true, 'look'))
  await Promise.all(turns.map(act))
}

function turnOf(world: World, shop: Turn['shop'], chance: Chance, isCalm: boolean, command: string): Turn {
  return { world, shop, chance, isCalm, command }
}

const CALM_COMMANDS = COMMANDS.filter(({ only }) => only !== 'storm')
const CALM_STEPS = 40

/** The shops go on side by side, each one step after the other. */
async function calm(world: World, chance: Chance): Promise<void> {
  await eachShop(world, chance, async (turn) => {
    for (let step = 0; step < CALM_STEPS; step += 1) await act(turn, CALM_COMMANDS)
  })
}

const STORM_COMMANDS = COMMANDS.filter(({ only }) => only !== 'calm')
const WAVES = 2
const WAVE = 14
const TICK_MS = 50
// Time runs fast in a storm, so that the background meets what is still under way.
const TICKS_BY_MS = 700

async function storm(world: World, chance: Chance): Promise<void> {
  const ticking = setInterval(() => world.clock.advance(TICKS_BY_MS), TICK_MS)
  try {
    for (let wave = 0; wave < WAVES; wave += 1) {
      const turns = world.shops.flatMap((shop) =>
        Array.from({ length: WAVE }, () => turnOf(world, shop, chance.branch(), false, '')),
      )
      await Promise.all(turns.map((turn) => act(turn, STORM_COMMANDS)))
    }
  } finally {
    clearInterval(ticking)
  }
}

async function act(turn: Turn, commands: readonly Command[]): Promise<void> {
  const command = turn.chance.weighed(commands)
  turn.world.operations += 1
  await command.run({ ...turn, command: command.name })
}

const MINUTE = 60_000
const LONGEST_JUMP_MS = 1_560 * MINUTE

/** Mostly none; minutes, the time of a checkout, half a day, or until all is settled. */
function drawJump(chance: Chance): number {
  const kind = chance.below(100)
  const between = (least: number, most: number) =>
    (least + chance.below(most - least)) * MINUTE + chance.below(MINUTE)
  if (kind < 45) return 0
  if (kind < 70) return between(1, 9)
  if (kind < 85) return between(20, 70)
  return kind < 93 ? between(180, 600) : between(1_500, 1_800)
}

async function finish(world: World, chance: Chance, stretches: number): Promise<WalkReport> {
  const lines: number[] = []
  await eachShop(world, chance, async (turn) => {
    lines.push((await reckon(turn)).lines)
    await requireShownExecutions(turn)
  })
  await requireBooks(world)
  const delivered = await requireDeliveries(world)
  await requireBooks(world)
  const count = (of: (shop: Turn['shop']) => number) => world.shops.reduce((sum, shop) => sum + of(shop), 0)
  return {
    operations: world.operations,
    stretches,
    payments: count(({ payments }) => payments.length),
    refunds: count(({ refunds }) => refunds.length),
    lines: lines.reduce((sum, one) => sum + one, 0),
    delivered,
    tally: world.tally,
    precision,
  }
}
