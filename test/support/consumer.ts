// A merchant's server for webhooks: it checks every request with the reference library, as the documentation tells
// merchants to, and keeps a list of what came. How it answers is up to the test.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'
import { type Clock, systemClock } from '../../src/kit/clock.ts'
import type { Cleanup } from './database.ts'

export interface Receipt {
  id: string
  resource: string
  version: number
  /** What the event said about itself, as it came. */
  body: string
  headers: Record<string, string>
  atMs: number
  isAccepted: boolean
}

/** A status, or a connection that is cut, or one that is held and never answered. */
type Reaction = number | 'cut' | 'hang'

export interface Consumer {
  url: string
  receipts: Receipt[]
  /** What was wrong with requests: nothing, if all is well. */
  errors: string[]
  /** How many requests are not answered yet. */
  inFlight(): number
  /** What the endpoint's secret is; until it is known nothing can be checked. */
  setSecret(secret: string): void
  /** Cuts every connection there is, so that nobody waits for an answer. */
  closeConnections(): void
}

export interface ConsumerOptions {
  /** How to answer a request, and how many came for the same event before it. Absent: 204. */
  react?: (receipt: Receipt, earlier: number) => Reaction
  /** Half of the requests wait up to this long for their answer. */
  delayMs?: number
  /** Whose time the signatures are checked in. Absent: the system's. */
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

  const server = createServer((request, response) => {
    open += 1
    response.once('close', () => {
      open -= 1
    })
    // A worker that is killed while it writes leaves half a request.
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
    url: `http://127.0.0.1:${address.port}/hook`,
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
  if (!library) return 'it came before the secret was known'
  // The library asks the system for the time, and may only see that of the test.
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
  return JSON.parse(body).id === headers['webhook-id'] ? undefined : 'its id is not that of the event'
}

/**
 * What of the order of each resource was not kept, by what came when: a version comes only after the one before it was
 * taken, and none comes again after a later one was taken.
 */
export function findOrderViolations(receipts: readonly Receipt[]): string[] {
  const accepted = new Map<string, number>()
  const violations: string[] = []
  for (const { resource, version, isAccepted } of receipts) {
    const latest = accepted.get(resource) ?? 0
    if (version !== latest && version !== latest + 1)
      violations.push(`version ${version} of ${resource} came when ${latest} was the latest taken`)
    if (isAccepted) accepted.set(resource, Math.max(latest, version))
  }
  return violations
}

function respond(request: IncomingMessage, response: ServerResponse, reaction: Reaction): void {
  if (reaction === 'hang') return
  if (reaction === 'cut') return void request.socket.destroy()
  response.writeHead(reaction).end()
}
