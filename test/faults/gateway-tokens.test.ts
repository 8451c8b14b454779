// Processes that share an access token, in simulated time: they die and stall between lease, request and store, their clocks
// differ, and the provider fails, answers late, rejects tokens, and counts every request.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createTokenSources } from '../../src/gateway-tokens/source.ts'
import type { TokenStore } from '../../src/gateway-tokens/store.ts'
import type { TokenGrant, TokenReply, TokenSource } from '../../src/gateway-tokens/token.ts'
import type { Clock } from '../../src/kit/clock.ts'
import { createMemoryTokenStore, SILENT_LOG, TEST_VAULT, TOKEN_KEY } from '../gateways/memory-tokens.ts'
import { HAS_LARGER_FORM, sized } from '../support/scale.ts'
import { createPrng, type Prng } from './simulation/prng.ts'
import { createScheduler, type Scheduler } from './simulation/scheduler.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const START_MS = Date.UTC(2026, 10, 16)
const TIMEOUT_MS = 10 * SECOND
const RATION = { grants: 2, perMs: HOUR }
const LIFE_MS = HOUR
const PROCESSES = 3
const SCHEDULES = sized({ quick: 10, rest: 300, long: 20_000 })
const FAULTY_MS = 8 * HOUR
const CALM_MS = 3 * HOUR

interface World {
  scheduler: Scheduler
  prng: Prng
  store: TokenStore
  provider: Provider
  hasFaults: boolean
}

/** A provider that counts the requests for tokens by its own clock. */
interface Provider {
  arrivals: number[]
  /** When each token ends. */
  tokens: Map<string, number>
}

/** A process. Pending work of an earlier epoch never continues; that of a paused one continues later. */
interface Host {
  epoch: number
  pausedUntilMs: number
  skewMs: number
  source: TokenSource
}

/** Continues in the process that is running now, after the delay, if it still runs. */
function hop({ scheduler }: World, host: Host, delayMs: number): Promise<void> {
  const { epoch } = host
  return new Promise((resolve) => {
    const arrive = () => {
      if (host.epoch !== epoch) return
      const pauseMs = host.pausedUntilMs - scheduler.now()
      if (pauseMs > 0) scheduler.after(pauseMs, 'paused', arrive)
      else resolve()
    }
    scheduler.after(delayMs, 'hop', arrive)
  })
}

const networkDelay = ({ prng, hasFaults }: World) =>
  hasFaults && prng.nextBool(0.1) ? prng.between(0, 5 * SECOND) : prng.between(0, 30)

/** A process that dies while it waits for the network never sees the answer, but the effect may have happened. */
function startHost(world: World): Host {
  const { scheduler, prng } = world
  const host: Host = { epoch: 0, pausedUntilMs: 0, skewMs: prng.between(-HOUR, HOUR), source: NO_SOURCE }
  const clock: Clock = {
    now: () => new Date(scheduler.now() + host.skewMs),
    sleep: (ms, signal) =>
      Promise.race([
        hop(world, host, ms),
        new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve())),
      ]),
  }
  const store: TokenStore = {
    async read(id) {
      await hop(world, host, networkDelay(world))
      const found = await world.store.read(id)
      await hop(world, host, networkDelay(world))
      return found
    },
    async write(key, row, purgeAt) {
      await hop(world, host, networkDelay(world))
      const version = await world.store.write(key, row, purgeAt)
      // It stalls with the answer on its way.
      if (world.hasFaults && prng.nextBool(0.1))
        host.pausedUntilMs = scheduler.now() + prng.between(0, 2 * MINUTE)
      await hop(world, host, networkDelay(world))
      return version
    },
  }
  const restart = () => {
    host.epoch += 1
    const app = { store, vault: TEST_VAULT, clock, log: SILENT_LOG, key: TOKEN_KEY }
    const owner = { gateway: 'tokenpay', baseUrl: 'https://x', accountId: null, timeoutMs: TIMEOUT_MS }
    host.source = createTokenSources(app).open(owner)
  }
  restart()
  const live = () => {
    const meanMs = world.hasFaults ? 3 * MINUTE : MINUTE
    scheduler.after(prng.between(0, 2 * meanMs), 'live', () => {
      const draw = world.hasFaults ? prng.fraction() : 1
      if (draw < 0.06) restart()
      else if (draw < 0.1) host.pausedUntilMs = scheduler.now() + prng.between(0, 2 * MINUTE)
      // The work in flight dies while it waits, wherever that is.
      else if (draw < 0.25) scheduler.after(prng.between(0, 2 * SECOND), 'death', restart)
      if (host.pausedUntilMs <= scheduler.now()) void use(world, host)
      live()
    })
  }
  live()
  return host
}

const NO_SOURCE: TokenSource = {
  get: () => assert.fail('not started'),
  replace: () => assert.fail('not started'),
}

/** Whether each call of the calm end got a token that the provider accepts. */
const calmResults = new WeakMap<World, boolean[]>()

async function use(world: World, host: Host): Promise<void> {
  const { scheduler, provider } = world
  const { source } = host
  const grant = grantOf(world, host)
  const isCalm = !world.hasFaults
  let result = await source.get(grant)
  await hop(world, host, networkDelay(world))
  const isValid = (token: string) => (provider.tokens.get(token) ?? 0) > scheduler.now()
  if (result.kind === 'token' && !isValid(result.token)) result = await source.replace(grant, result.token)
  // The caller comes back at the very end of the ration's period.
  const until = result.kind === 'unavailable' && /used up until (\S+)/.exec(result.message)?.[1]
  if (until) scheduler.at(Date.parse(until), 'ration', () => void use(world, host))
  if (isCalm) calmResults.get(world)?.push(result.kind === 'token' && isValid(result.token))
}

function grantOf(world: World, host: Host): TokenGrant {
  const { scheduler, prng, provider } = world
  return {
    name: 'access',
    account: 'app',
    secrets: ['secret'],
    ration: RATION,
    async request(): Promise<TokenReply> {
      const { hasFaults } = world
      const arrivesAfterMs =
        hasFaults && prng.nextBool(0.2) ? prng.between(0, TIMEOUT_MS) : prng.between(1, 100)
      const answersAfterMs = arrivesAfterMs + (hasFaults && prng.nextBool(0.2) ? TIMEOUT_MS : 50)
      const token = prng.nextHexId()
      const isGranted = !hasFaults || prng.nextBool(0.7)
      // It leaves the process, so the death of the process does not stop it.
      scheduler.after(arrivesAfterMs, 'grant', () => {
        provider.arrivals.push(scheduler.now())
        if (isGranted) provider.tokens.set(token, scheduler.now() + LIFE_MS)
      })
      await hop(world, host, Math.min(answersAfterMs, TIMEOUT_MS))
      if (answersAfterMs >= TIMEOUT_MS || !isGranted) return { kind: 'failed', message: 'no answer' }
      return { kind: 'granted', token, expiresInMs: LIFE_MS }
    },
  }
}

async function runSchedule(seed: number): Promise<World> {
  const scheduler = createScheduler({ startMs: START_MS })
  const prng = createPrng(seed)
  const store = createMemoryTokenStore({ now: () => new Date(scheduler.now()), sleep: async () => undefined })
  const provider: Provider = { arrivals: [], tokens: new Map() }
  const world: World = { scheduler, prng, store, provider, hasFaults: true }
  calmResults.set(world, [])
  for (let count = 0; count < PROCESSES; count += 1) startHost(world)
  const never = () => false
  for (let until = START_MS; until < START_MS + FAULTY_MS; until += HOUR) {
    await scheduler.runUntil(until + HOUR * prng.fraction(), never)
    // The provider rejects a token that it has granted.
    if (prng.nextBool(0.3)) provider.tokens.clear()
    await scheduler.runUntil(until + HOUR, never)
  }
  world.hasFaults = false
  await scheduler.runUntil(START_MS + FAULTY_MS + CALM_MS, never)
  return world
}

/** The most requests that the provider received within any period of the ration. */
function mostWithinPeriod(arrivals: readonly number[]): number {
  const sorted = arrivals.toSorted((a, b) => a - b)
  const counts = sorted.map(
    (from, index) => sorted.slice(index).filter((at) => at < from + RATION.perMs).length,
  )
  return Math.max(0, ...counts)
}

describe('a rationed access token', HAS_LARGER_FORM, () => {
  it(
    'is never requested more often than the provider allows, and is there again after the faults',
    HAS_LARGER_FORM,
    async () => {
      let busiest = 0
      for (let seed = 1; seed <= SCHEDULES; seed += 1) {
        const world = await runSchedule(seed)
        const most = mostWithinPeriod(world.provider.arrivals)
        assert.ok(most <= RATION.grants, `seed ${seed}: ${most} requests within the period`)
        busiest = Math.max(busiest, most)
        // In the first hour of calm the ration may still be used up.
        const results = calmResults.get(world) ?? []
        const last = results.slice(-Math.floor(results.length / 3))
        assert.ok(last.length > 50 && last.every(Boolean), `seed ${seed}: no token after the faults`)
      }
      assert.equal(busiest, RATION.grants, 'some schedule uses the whole ration')
    },
  )
})
