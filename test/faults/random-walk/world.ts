// The environment of the walk: two services on one database, one of them with background jobs, independent shops, and a
// webhook consumer that sometimes fails.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { LOG_LINES } from '../../../src/core/log-lines.ts'
import type { Db } from '../../../src/kit/db/db.ts'
import type { Log } from '../../../src/kit/observability/log.ts'
import type { ApiResponse } from '../../support/api.ts'
import { type Cleanup, testDatabaseUrl } from '../../support/database.ts'
import type { FakeClock } from '../../support/fake-clock.ts'
import { BANK } from '../../support/p2p.ts'
import { type TestService, testService } from '../../support/service.ts'
import { fakeTimerClock } from './fake-timer-clock.ts'
import { FEE, newShop, type Shop } from './model.ts'
import type { Prng } from './prng.ts'

export interface World {
  clock: FakeClock
  services: readonly [TestService, TestService]
  db: Db
  shops: readonly Shop[]
  consumer: Consumer
  operations: number
  /** How often each command ran, and its results. */
  tally: Map<string, number>
  /** The latest requests with their responses, to analyse a failure. */
  requestLog: string[]
  /** Errors that the services have logged. */
  loggedErrors: string[]
}

/** The context of one command. */
export interface CommandContext {
  world: World
  shop: Shop
  prng: Prng
  /** No other request changes this shop meanwhile, so every response can be predicted. */
  isSequential: boolean
  command: string
}

const SHOPS = ['market', 'bakery', 'clinic']

const ENV = {
  COWRY_POOL_SIZE: '16',
  COWRY_RATE_LIMIT: '0',
  COWRY_FEES: JSON.stringify({ sandbox: { '*': FEE } }),
  // Shorter than slow instruments take, so that their responses are lost.
  COWRY_GATEWAY_TIMEOUT_MS: '2500',
}

export async function openWorld(t: Cleanup): Promise<World> {
  const later = inReverseOrder(t)
  const clock = fakeTimerClock()
  const loggedErrors: string[] = []
  const log = collectErrors(loggedErrors)
  const options = { clock, log, databaseUrl: await testDatabaseUrl(later), env: ENV }
  const consumer = await startConsumer(later)
  const services = [
    await testService(later, options),
    await testService(later, { ...options, role: 'api', checksInvariants: false }),
  ] as const
  const shops = await Promise.all(SHOPS.map((name) => openShop(services[0], name, consumer.url)))
  const counted = { operations: 0, tally: new Map(), requestLog: [], loggedErrors }
  return { clock, services, db: services[0].db, shops, consumer, ...counted }
}

/** An error in the log is a defect, unless it reports a case for manual review. */
function collectErrors(loggedErrors: string[]): Log {
  return {
    write(key, fields) {
      const { level, action } = LOG_LINES[key]
      if (level === 'error' && !action.includes('case')) loggedErrors.push(`${key} ${JSON.stringify(fields)}`)
    },
  }
}

/** The database is dropped when both services have ended. */
function inReverseOrder(t: Cleanup): Cleanup {
  const cleanups: (() => Promise<void>)[] = []
  t.after(async () => {
    for (const end of cleanups.reverse()) await end()
  })
  return { after: (end) => void cleanups.push(end) }
}

/** Events for which the walk proves that each of them arrives. */
export const AWAITED_EVENTS = ['refund.successful', 'p2p.confirmed', 'payment_link.paid']

async function openShop(service: TestService, name: string, consumerUrl: string): Promise<Shop> {
  const { uuid, key, api } = await service.newMerchant()
  const account = await api.post('/api/v1/p2p/accounts', BANK)
  assert.equal(account.http, 201, account.text)
  const endpoint = await api.post('/api/v1/webhooks/endpoints', { url: consumerUrl, events: AWAITED_EVENTS })
  assert.equal(endpoint.http, 201, endpoint.text)
  return newShop(name, uuid, key)
}

export interface Consumer {
  url: string
  /** The ids of the accepted events. */
  accepted: Set<string>
}

// Often enough that retries happen all the time, rarely enough that they do not delay the walk.
const REFUSES_EVERY = 7

async function startConsumer(t: Cleanup): Promise<Consumer> {
  const accepted = new Set<string>()
  let calls = 0
  const server = createServer((request, response) => {
    calls += 1
    const isAccepted = calls % REFUSES_EVERY !== 0
    if (isAccepted) accepted.add(String(request.headers['webhook-id']))
    request.resume()
    response.writeHead(isAccepted ? 204 : 500).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const address = server.address()
  assert.ok(address && typeof address === 'object')
  return { url: `http://127.0.0.1:${address.port}/hooks`, accepted }
}

// Enough to trace one payment back to its start.
const MAX_REQUEST_LOG = 20_000

/** A response with its request. */
export interface LoggedResponse extends ApiResponse {
  request: string
}

const BUSY = '503 temporarily_unavailable'
const MAX_ATTEMPTS = 20
const RETRY_MS = 250

/** Sends a request with the shop's key to one of the two services. No response may be a 5xx. */
export async function sendRequest(
  context: CommandContext,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<LoggedResponse> {
  const { world, shop, prng } = context
  const { url, apiWith } = world.services[prng.nextInt(2)] ?? world.services[0]
  const isJson = body === undefined ? {} : { 'content-type': 'application/json' }
  const send = () =>
    apiWith(shop.key).send(method, path, {
      headers: { ...isJson, ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
  let answer = await send()
  // A busy machine may return 503, which the client retries.
  for (let attempts = 1; outcomeOf(answer) === BUSY && attempts < MAX_ATTEMPTS; attempts += 1) {
    await delay(RETRY_MS)
    answer = await send()
  }
  logRequest(
    context,
    `${new URL(url).port} ${method} ${path} ${JSON.stringify(body ?? null)} → ${summarize(answer)}`,
  )
  assert.ok(answer.http < 500, `${method} ${path} ${JSON.stringify(body)} answered ${answer.text}`)
  return { ...answer, request: `${method} ${path}` }
}

/** Such as "201 successful" or "409 invalid_state". */
export function outcomeOf({ http, body }: ApiResponse): string {
  return `${http} ${body?.error?.code ?? body?.data?.status ?? ''}`.trim()
}

function summarize(answer: ApiResponse): string {
  const { uuid, transferStatus } = answer.body?.data ?? {}
  return [outcomeOf(answer), transferStatus, uuid, answer.body?.error?.message].filter(Boolean).join(' ')
}

export function logRequest({ world, shop, command }: CommandContext, message: string): void {
  world.requestLog.push(`${world.clock.now().toISOString()} ${shop.name} ${command}: ${message}`)
  if (world.requestLog.length > MAX_REQUEST_LOG) world.requestLog.shift()
}

/**
 * Compares a response with the model's prediction. Concurrent requests may make the prediction stale: then any result
 * that the operation allows is accepted.
 */
export function assertPredicted(
  context: CommandContext,
  answer: LoggedResponse,
  predicted: string,
  possible: readonly string[] = [],
): string {
  const actual = outcomeOf(answer)
  const isExpected = actual === predicted || (!context.isSequential && possible.includes(actual))
  const wanted = context.isSequential ? predicted : [predicted, ...possible].join(', ')
  assert.ok(isExpected, `${answer.request}: expected ${wanted}, was ${actual}: ${answer.text.slice(0, 400)}`)
  const counted = `${context.command} ${actual}`
  context.world.tally.set(counted, (context.world.tally.get(counted) ?? 0) + 1)
  return actual
}
