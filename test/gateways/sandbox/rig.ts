// A provider on a real socket with a journal in a temporary folder, its connector, and a clock that the test controls.

import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { money } from '../../../src/core/money.ts'
import type { Attempt, CheckoutChoice } from '../../../src/gateways/gateway.ts'
import { createSandboxGateway } from '../../../src/gateways/sandbox/index.ts'
import { serveSandbox } from '../../../src/gateways/sandbox/provider/serve.ts'
import { addMs, type Clock, systemClock } from '../../../src/kit/clock.ts'
import { createHttpClient } from '../../../src/kit/http/http-client.ts'
import { createLog } from '../../../src/kit/observability/log.ts'
import { systemRandom } from '../../../src/kit/random.ts'

export const SECRET = 'sandbox-secret'
export const WEBHOOK_SECRET = 'sandbox-webhook-secret'
export const RETURN_URL = 'http://127.0.0.1:9/return'

const random = systemRandom(systemClock)

/**
 * Time stands still unless the test advances it. Each sleep is recorded; short sleeps are real, long ones are cut
 * short.
 */
export interface TestClock extends Clock {
  move(ms: number): void
  readonly sleeps: number[]
}

export function createTestClock(): TestClock {
  let now = new Date()
  const sleeps: number[] = []
  return {
    now: () => now,
    async sleep(ms, signal) {
      sleeps.push(ms)
      await systemClock.sleep(ms <= 200 ? ms : 10, signal)
    },
    move: (ms) => {
      now = addMs(now, ms)
    },
    sleeps,
  }
}

type Cleanup = () => Promise<void>

export async function makeTempDir(cleanups: Cleanup[]): Promise<string> {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'cowry-sandbox-'))
  cleanups.push(() => rm(dataDir, { recursive: true, force: true }))
  return dataDir
}

export async function startRig(cleanups: Cleanup[], options: { webhookUrl?: string; dataDir?: string } = {}) {
  const clock = createTestClock()
  const dataDir = options.dataDir ?? (await makeTempDir(cleanups))
  const sandbox = await serveSandbox({
    host: '127.0.0.1',
    port: 0,
    dataDir,
    secret: SECRET,
    webhookSecret: WEBHOOK_SECRET,
    webhookUrl: options.webhookUrl,
    clock,
    random,
    log: createLog('silent'),
  })
  const http = createHttpClient({ totalTimeoutMs: 5_000 })
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= sandbox.close().then(() => http.close())
    return closing
  }
  cleanups.push(close)
  const connect = (secret: string) =>
    createSandboxGateway({ http, baseUrl: sandbox.url, secret, webhookSecret: WEBHOOK_SECRET, clock })
  return { url: sandbox.url, gateway: connect(SECRET), connect, clock, http, dataDir, close }
}

export type Rig = Awaited<ReturnType<typeof startRig>>

export function makeAttempt(changes: Partial<Attempt> = {}): Attempt {
  return {
    key: random.uuid(),
    operation: 'checkout',
    paymentId: random.uuid(),
    merchantId: random.uuid(),
    merchantName: 'Duka <b>La</b> Vitabu',
    reference: 'A-1042',
    amount: money(125_050n, 'KES'),
    country: 'KE',
    description: 'Two books',
    customer: { email: 'Amina@example.com', firstname: 'Amina', lastname: 'Otieno' },
    startedAt: systemClock.now(),
    expiresAt: null,
    ...changes,
  }
}

export const CARD: CheckoutChoice = { channel: 'card' }

/** Calls the provider's API without the connector. */
export function callApi(rig: Rig, method: 'GET' | 'POST' | 'DELETE', apiPath: string, body?: unknown) {
  return rig.http.request({
    method,
    url: `${rig.url}/v1${apiPath}`,
    headers: { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
}

/** A saved card of the given instrument. */
export async function saveCard(rig: Rig, instrument: string): Promise<string> {
  const attempt = makeAttempt()
  await rig.gateway.startCheckout(attempt, { channel: 'card', instrument }, RETURN_URL)
  const outcome = await rig.gateway.simulatePayer(attempt.key)
  if (outcome.kind !== 'succeeded' || !outcome.savedMethod) throw new Error('the card was not saved')
  return outcome.savedMethod.credential
}

export interface ReceivedWebhook {
  headers: IncomingHttpHeaders
  body: Buffer
}

/** The service's webhook endpoint: records what arrives, and responds with the given statuses, then 200. */
export async function receiveWebhooks(cleanups: Cleanup[], statuses: number[] = []) {
  const webhooks: ReceivedWebhook[] = []
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk)
    webhooks.push({ headers: req.headers, body: Buffer.concat(chunks) })
    res.writeHead(statuses.shift() ?? 200).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanups.push(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  )
  const address = server.address()
  if (!address || typeof address === 'string') throw new Error('the receiver is not listening')
  const arrived = async (count: number) => {
    for (let waited = 0; webhooks.length < count && waited < 5_000; waited += 10) await delay(10)
    return webhooks
  }
  return { url: `http://127.0.0.1:${address.port}/webhooks/sandbox`, arrived, webhooks }
}
