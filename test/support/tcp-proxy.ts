// A TCP proxy between two processes on the loopback that injects network faults: it delays, holds, resets, half-closes
// and cuts connections. By default it only forwards.

import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { type CommitDetector, createCommitDetector } from './commit-detector.ts'
import type { Cleanup } from './database.ts'

export interface TcpProxy {
  /** Its port on 127.0.0.1. */
  port: number
  /** Sets the target of new connections. */
  retarget(port: number): void
  /** Delays every chunk by this time, in both directions. */
  delay(ms: number): void
  /** A black hole: nothing passes, and held bytes arrive after heal(). */
  blackhole(): void
  /** Removes all faults; armed faults that were not injected are dropped. */
  heal(): void
  /** Resets every connection; returns their number. */
  reset(): number
  /** Half-closes every connection towards the client, which may still send. Returns their number. */
  halfClose(): number
  /** Breaks the active connection after this many response bytes, counted over all connections from now. */
  cutAfter(bytes: number): void
  /** Drops the next PostgreSQL responses that confirm a commit, each with its connection. */
  loseCommits(count: number): void
  /** The armed faults that were injected. */
  injected: { cuts: number; lostCommits: number }
}

interface Link {
  client: Socket
  server: Socket
  detector: CommitDetector
}

interface NetworkConditions {
  delayMs: number
  /** While it is set, nothing passes before it resolves. */
  held: PromiseWithResolvers<void> | undefined
  bytesLeft: number
  commitsToLose: number
}

export async function startTcpProxy(t: Cleanup, target: number): Promise<TcpProxy> {
  const links = new Set<Link>()
  const conditions: NetworkConditions = { ...HEALTHY }
  const injected = { cuts: 0, lostCommits: 0 }
  let targetPort = target
  const listener = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const server = connect({ host: '127.0.0.1', port: targetPort, allowHalfOpen: true, noDelay: true })
    const link: Link = { client, server, detector: createCommitDetector() }
    links.add(link)
    for (const socket of [client, server])
      socket.once('close', () => {
        if (client.closed && server.closed) links.delete(link)
      })
    connectSockets(link, conditions, injected)
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const faults = createFaults(links, conditions)
  t.after(async () => {
    faults.heal()
    // Not reset(): it waits for pending writes and open connects, and a socket to a stopped target would keep us alive.
    for (const { client, server } of links) for (const socket of [client, server]) socket.destroy()
    await new Promise((resolve) => listener.close(resolve))
  })
  const address = listener.address()
  if (!address || typeof address === 'string') throw new Error('the proxy has no port')
  return {
    ...faults,
    port: address.port,
    injected,
    retarget(port) {
      targetPort = port
    },
  }
}

const HEALTHY: NetworkConditions = { delayMs: 0, held: undefined, bytesLeft: Infinity, commitsToLose: 0 }

function createFaults(
  links: Set<Link>,
  conditions: NetworkConditions,
): Omit<TcpProxy, 'port' | 'injected' | 'retarget'> {
  return {
    heal() {
      conditions.held?.resolve()
      Object.assign(conditions, HEALTHY)
    },
    reset() {
      for (const { client, server } of links) {
        resetSocket(client)
        resetSocket(server)
      }
      return links.size
    },
    halfClose() {
      for (const { client } of links) client.end()
      return links.size
    },
    blackhole() {
      conditions.held ??= Promise.withResolvers<void>()
    },
    delay(ms) {
      conditions.delayMs = ms
    },
    cutAfter(bytes) {
      conditions.bytesLeft = bytes
    },
    loseCommits(count) {
      conditions.commitsToLose = count
    },
  }
}

/** Connects both sides, subject to the conditions. */
function connectSockets(link: Link, conditions: NetworkConditions, injected: TcpProxy['injected']): void {
  const { client, server, detector } = link
  void pipe(client, server, async (chunk) => {
    detector.observeRequest(chunk)
    await applyDelay(conditions)
    return chunk
  })
  void pipe(server, client, async (chunk) => {
    const passed = applyFaults(link, chunk, conditions, injected)
    await applyDelay(conditions)
    return passed
  })
}

/** One direction of a connection: the next chunk is read when the previous one has been forwarded. */
async function pipe(
  from: Socket,
  to: Socket,
  pass: (chunk: Buffer) => Promise<Buffer | undefined>,
): Promise<void> {
  // A close follows each error, and both ends are closed below.
  from.on('error', () => undefined)
  try {
    for await (const chunk of from.iterator({ destroyOnReturn: false })) {
      const passed = await pass(chunk)
      if (passed === undefined) return resetSocket(from)
      if (to.writable && !to.write(passed)) await awaitDrain(to)
    }
    to.end()
  } catch {
    to.destroy()
  }
}

/** While the end of a socket is being sent, libuv refuses to reset it, and Node.js would never close its handle. */
function resetSocket(socket: Socket): void {
  if (socket.writableEnded && !socket.writableFinished) socket.destroy()
  else socket.resetAndDestroy()
}

async function applyDelay(conditions: NetworkConditions): Promise<void> {
  if (conditions.delayMs > 0) await delay(conditions.delayMs)
  await conditions.held?.promise
}

function awaitDrain(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      for (const event of ['drain', 'close']) socket.off(event, go)
      resolve()
    }
    for (const event of ['drain', 'close']) socket.on(event, go)
  })
}

/** The part of a response that reaches the client; undefined when both ends are cut. */
function applyFaults(
  { client, detector }: Link,
  chunk: Buffer,
  conditions: NetworkConditions,
  injected: TcpProxy['injected'],
): Buffer | undefined {
  const isCommit = detector.observeResponse(chunk)
  if (isCommit && conditions.commitsToLose > 0) {
    conditions.commitsToLose -= 1
    injected.lostCommits += 1
    resetSocket(client)
    return undefined
  }
  conditions.bytesLeft -= chunk.length
  if (conditions.bytesLeft >= 0) return chunk
  const kept = chunk.subarray(0, chunk.length + conditions.bytesLeft)
  conditions.bytesLeft = Infinity
  injected.cuts += 1
  // Bytes before the break still arrive.
  client.end(kept)
  return undefined
}
