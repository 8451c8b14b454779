// The walk: sequential phases, in which every response is predicted, and concurrent phases, in which many requests
// change the same records. After each phase all work completes, time may advance, and the records are compared with the
// model.

import assert from 'node:assert/strict'
import type { Cleanup } from '../../support/database.ts'
import { assertDeliveries, assertFinalState, assertLedger, assertReportedExecutions } from './assertions.ts'
import { CHARGE_COMMANDS } from './charge-commands.ts'
import { CHECKOUT_COMMANDS } from './checkout-commands.ts'
import type { Command } from './command-context.ts'
import { compareSample, compareWallet, precision } from './comparison.ts'
import { CUSTOMER_COMMANDS } from './customer-commands.ts'
import { LINK_COMMANDS } from './link-commands.ts'
import { SIDE_COMMANDS } from './non-payment-commands.ts'
import { P2P_COMMANDS } from './p2p-commands.ts'
import { createPrng, type Prng } from './prng.ts'
import { applyElapsedTime, awaitQuiescence, syncUncertain } from './quiescence.ts'
import { REFUND_COMMANDS } from './refund-commands.ts'
import { type CommandContext, openWorld, type World } from './world.ts'

const COMMANDS: readonly Command[] = [
  ...CHECKOUT_COMMANDS,
  ...CHARGE_COMMANDS,
  ...REFUND_COMMANDS,
  ...LINK_COMMANDS,
  ...P2P_COMMANDS,
  ...CUSTOMER_COMMANDS,
  ...SIDE_COMMANDS,
]

/** A seed is an integer below it. */
export const MAX_SEED = 2 ** 32 - 1

export interface WalkOptions {
  seed: number
  operations: number
  onProgress?: (line: string) => void
}

export interface WalkReport {
  operations: number
  phases: number
  payments: number
  refunds: number
  /** Lines of all statements. */
  lines: number
  /** Events that were delivered. */
  delivered: number
  tally: ReadonlyMap<string, number>
  precision: { exact: number; sums: number }
}

export async function walk(t: Cleanup, { seed, operations, onProgress }: WalkOptions): Promise<WalkReport> {
  const world = await openWorld(t)
  const prng = createPrng(seed)
  let phases = 0
  try {
    while (world.operations < operations) {
      await runPhase(world, prng.fork())
      phases += 1
      if (phases % CHECK_LEDGER_EVERY === 0) await assertLedger(world)
      if (phases % 20 === 0) onProgress?.(`${world.operations} operations in ${phases} phases`)
    }
    return await finish(world, prng, phases)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const where = `seed ${seed}, runPhase ${phases + 1}, after ${world.operations} operations`
    throw new Error(`${where}: ${message}\n\n${relatedRequests(world, message)}`, { cause: error })
  }
}

// Often enough to find a defect near its cause; each time the whole ledger is read.
const CHECK_LEDGER_EVERY = 10

const NAMES =
  /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b(?:order|charge|transfer|recovery)-[\w-]+|\b\w{15}-\w{13}\b/g

/** The requests about the records that a failure names, and the latest requests. */
function relatedRequests({ requestLog, loggedErrors }: World, message: string): string {
  const named = new Set(message.match(NAMES))
  // A payment that was started at a link has other names.
  for (const line of requestLog.filter((one) => one.includes(': begins ')))
    if (line.match(NAMES)?.some((name) => named.has(name)))
      for (const name of line.match(NAMES) ?? []) named.add(name)
  const about = requestLog.filter((line) => line.match(NAMES)?.some((name) => named.has(name)))
  const parts = {
    'Related requests': about.slice(-60),
    'Latest requests': requestLog.slice(-20),
    'Errors in the log': loggedErrors,
  }
  return Object.entries(parts)
    .map(([name, lines]) => `${name}:\n${lines.join('\n')}\n`)
    .join('\n')
}

const CONCURRENT_PROBABILITY = 0.3

async function runPhase(world: World, prng: Prng): Promise<void> {
  const isConcurrent = prng.nextBool(CONCURRENT_PROBABILITY)
  await (isConcurrent ? runConcurrent(world, prng) : runSequential(world, prng))
  await reconcileModel(world, prng, 0)
  // After a concurrent phase only sums are known, until all is settled.
  const jumpMs = isConcurrent && prng.nextBool(0.6) ? MAX_JUMP_MS : drawJump(prng)
  if (jumpMs === 0) return
  world.clock.advance(jumpMs)
  await reconcileModel(world, prng, jumpMs)
}

/** Updates the model from reads, and compares all records with it. */
async function reconcileModel(world: World, prng: Prng, jumpedMs: number): Promise<void> {
  const now = await awaitQuiescence(world)
  assert.deepEqual(world.loggedErrors, [], 'no service has logged an error')
  await eachShop(world, prng, async (context) => {
    applyElapsedTime(context.shop, now, 0)
    await syncUncertain(context)
    applyElapsedTime(context.shop, now, jumpedMs)
    await syncUncertain(context)
    await compareWallet(context)
    await compareSample(context)
  })
}

async function eachShop(
  world: World,
  prng: Prng,
  runCommand: (context: CommandContext) => Promise<void>,
): Promise<void> {
  const contexts = world.shops.map((shop) => contextOf(world, shop, prng.fork(), true, 'look'))
  await Promise.all(contexts.map(runCommand))
}

function contextOf(
  world: World,
  shop: CommandContext['shop'],
  prng: Prng,
  isSequential: boolean,
  command: string,
): CommandContext {
  return { world, shop, prng, isSequential, command }
}

const SEQUENTIAL_COMMANDS = COMMANDS.filter(({ only }) => only !== 'concurrent')
const SEQUENTIAL_STEPS = 40

/** The shops run concurrently, each one step after the other. */
async function runSequential(world: World, prng: Prng): Promise<void> {
  await eachShop(world, prng, async (context) => {
    for (let step = 0; step < SEQUENTIAL_STEPS; step += 1) await runCommand(context, SEQUENTIAL_COMMANDS)
  })
}

const CONCURRENT_COMMANDS = COMMANDS.filter(({ only }) => only !== 'sequential')
const WAVES = 2
const WAVE_SIZE = 14
const TICK_MS = 50
// Time runs fast in a concurrent phase, so that background jobs meet open work.
const ADVANCE_PER_TICK_MS = 700

async function runConcurrent(world: World, prng: Prng): Promise<void> {
  const timer = setInterval(() => world.clock.advance(ADVANCE_PER_TICK_MS), TICK_MS)
  try {
    for (let wave = 0; wave < WAVES; wave += 1) {
      const contexts = world.shops.flatMap((shop) =>
        Array.from({ length: WAVE_SIZE }, () => contextOf(world, shop, prng.fork(), false, '')),
      )
      await Promise.all(contexts.map((context) => runCommand(context, CONCURRENT_COMMANDS)))
    }
  } finally {
    clearInterval(timer)
  }
}

async function runCommand(context: CommandContext, commands: readonly Command[]): Promise<void> {
  const command = context.prng.pickWeighted(commands)
  context.world.operations += 1
  await command.run({ ...context, command: command.name })
}

const MINUTE = 60_000
const MAX_JUMP_MS = 1_560 * MINUTE

/** Usually none; minutes, the expiry of a checkout, half a day, or until all is settled. */
function drawJump(prng: Prng): number {
  const kind = prng.nextInt(100)
  const between = (least: number, most: number) =>
    (least + prng.nextInt(most - least)) * MINUTE + prng.nextInt(MINUTE)
  if (kind < 45) return 0
  if (kind < 70) return between(1, 9)
  if (kind < 85) return between(20, 70)
  return kind < 93 ? between(180, 600) : between(1_500, 1_800)
}

async function finish(world: World, prng: Prng, phases: number): Promise<WalkReport> {
  const lines: number[] = []
  await eachShop(world, prng, async (context) => {
    lines.push((await assertFinalState(context)).lines)
    await assertReportedExecutions(context)
  })
  await assertLedger(world)
  const delivered = await assertDeliveries(world)
  await assertLedger(world)
  const count = (of: (shop: CommandContext['shop']) => number) =>
    world.shops.reduce((sum, shop) => sum + of(shop), 0)
  return {
    operations: world.operations,
    phases,
    payments: count(({ payments }) => payments.length),
    refunds: count(({ refunds }) => refunds.length),
    lines: lines.reduce((sum, one) => sum + one, 0),
    delivered,
    tally: world.tally,
    precision,
  }
}
