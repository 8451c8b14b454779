// A merchant's webhook server. It verifies every request with the reference library, as the documentation advises, and
// records the requests. The test decides the responses.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'
import { type Clock, systemClock } from '../../src/kit/clock.ts'
import type { Cleanup } from './database.ts'
import { newHookPath, refuseStray } from './stray-deliveries.ts'

export interface Receipt {
  id: string
  resource: string
  version: number
  /** The resource and version in the body of the event. */
  body: string
  headers: Record<string, string>
  atMs: number
  isAccepted: boolean
}

/** A status, a connection that is closed, or one that stays open without a response. */
type Reaction = number | 'cut' | 'hang'

export interface Consumer {
  url: string
  receipts: Receipt[]
  /** Errors of the received requests; empty if all were valid. */
  errors: string[]
  /** The number of requests without a response yet. */
  inFlight(): number
  /** Sets the endpoint's secret; without it requests cannot be verified. */
  setSecret(secret: string): void
  /** Closes every open connection, so that no request waits for a response. */
  closeConnections(): void
}

export interface ConsumerOptions {
  /** Returns the reaction to a request; `earlier` counts previous requests for the same event. Default: 204. */
  react?: (receipt: Receipt, earlier: number) => Reaction
  /** Half of the requests wait up to this long for their response. */
  delayMs?: number
  /** The clock for the timestamps of signatures. Default: the system's clock. */
  clock?: Clock
}

export async function startConsumer(t: Cleanup, options: ConsumerOptions = {}): Promise<Consumer> {
  const receipts: Receipt[] = []
  const errors: string[] = []
  const seen = new Map<string, number>()
  let library: Webhook | undefined
  let open = 0

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request)
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    )
    const atMs = performance.now()
    const error = verificationError(library, options.clock ?? systemClock, body, headers)
    if (error !== undefined) errors.push(error)
    const event = JSON.parse(body)
    const receipt: Receipt = {
      id: headers['webhook-id'] ?? '',
      resource: event.resource.uuid,
      version: event.resource.version,
      body,
      headers,
      atMs,
      isAccepted: false,
    }
    const earlier = seen.get(receipt.id) ?? 0
    seen.set(receipt.id, earlier + 1)
    const reaction = options.react?.(receipt, earlier) ?? 204
    receipt.isAccepted = typeof reaction === 'number' && reaction >= 200 && reaction < 300
    receipts.push(receipt)
    const waitMs = options.delayMs === undefined ? 0 : Math.max(0, Math.random() * 2 - 1) * options.delayMs
    setTimeout(() => respond(request, response, reaction), waitMs)
  }

  const path = newHookPath()
  const server = createServer((request, response) => {
    if (refuseStray(request, response, path)) return
    open += 1
    response.once('close', () => {
      open -= 1
    })
    // A worker that is killed during a write leaves half a request.
    answer(request, response).catch(() => request.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const address = server.address()
  if (!address || typeof address === 'string') throw new Error('the consumer has no port')
  return {
    url: `http://127.0.0.1:${address.port}${path}`,
    receipts,
    errors,
    inFlight: () => open,
    setSecret(secret) {
      library = new Webhook(secret)
    },
    closeConnections: () => server.closeAllConnections(),
  }
}

function verificationError(
  library: Webhook | undefined,
  clock: Clock,
  body: string,
  headers: Record<string, string>,
): string | undefined {
  if (!library) return 'a request came before the secret was set'
  // The library reads the system's time; replace it with the time of the test.
  const { now } = Date
  const atMs = clock.now().getTime()
  Date.now = () => atMs
  try {
    library.verify(body, headers)
  } catch (error) {
    return String(error)
  } finally {
    Date.now = now
  }
  return JSON.parse(body).id === headers['webhook-id']
    ? undefined
    : 'the webhook-id differs from the id of the event'
}

/**
 * Violations of the order of each resource: a version must arrive only after the previous one was accepted, and never
 * again after a later one was accepted.
 */
export function findOrderViolations(receipts: readonly Receipt[]): string[] {
  const accepted = new Map<string, number>()
  const violations: string[] = []
  for (const { resource, version, isAccepted } of receipts) {
    const latest = accepted.get(resource) ?? 0
    if (version !== latest && version !== latest + 1)
      violations.push(`version ${version} of ${resource} arrived after ${latest} was accepted`)
    if (isAccepted) accepted.set(resource, Math.max(latest, version))
  }
  return violations
}

function respond(request: IncomingMessage, response: ServerResponse, reaction: Reaction): void {
  if (reaction === 'hang') return
  if (reaction === 'cut') return void request.socket.destroy()
  response.writeHead(reaction).end()
}
