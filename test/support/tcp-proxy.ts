// A network that misbehaves on demand: it stands between two processes on the loopback and delays, holds, resets, half
// closes and cuts what they say to each other. Without being asked it only passes on.

import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { type CommitWatch, createCommitWatch } from './commit-watch.ts'
import type { Ending } from './database.ts'

export interface TcpProxy {
  /** Where it listens, on 127.0.0.1. */
  port: number
  /** Where connections lead that are made from now on. */
  aim(port: number): void
  /** Every piece takes this much longer, either way. */
  delay(ms: number): void
  /** A black hole: nothing passes, and what was sent arrives late, when it is healed. */
  hold(): void
  /** Ends all that; what was armed and has not happened never will. */
  heal(): void
  /** Resets every connection; answers how many there were. */
  reset(): number
  /** Tells every client that its server will say no more; it may go on talking. Answers how many there were. */
  halfClose(): number
  /** After so many bytes of answers, counted over all connections from now, the one that speaks breaks. */
  cutAfter(bytes: number): void
  /** The next answers of PostgreSQL that say that something was committed get lost, each with its connection. */
  loseCommits(count: number): void
  /** What was armed, and has happened. */
  happened: { cuts: number; lostCommits: number }
}

interface Link {
  client: Socket
  server: Socket
  watch: CommitWatch
}

interface Weather {
  delayMs: number
  /** While it is there, nothing passes before it resolves. */
  held: PromiseWithResolvers<void> | undefined
  bytesLeft: number
  commitsToLose: number
}

export async function startTcpProxy(t: Ending, target: number): Promise<TcpProxy> {
  const links = new Set<Link>()
  const weather: Weather = { ...CALM }
  const happened = { cuts: 0, lostCommits: 0 }
  let aim = target
  const listener = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const server = connect({ host: '127.0.0.1', port: aim, allowHalfOpen: true, noDelay: true })
    const link: Link = { client, server, watch: createCommitWatch() }
    links.add(link)
    for (const socket of [client, server])
      socket.once('close', () => {
        if (client.closed && server.closed) links.delete(link)
      })
    join(link, weather, happened)
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const faults = createFaults(links, weather)
  t.after(async () => {
    faults.heal()
    faults.reset()
    await new Promise((resolve) => listener.close(resolve))
  })
  const address = listener.address()
  if (!address || typeof address === 'string') throw new Error('the proxy has no port')
  return {
    ...faults,
    port: address.port,
    happened,
    aim(port) {
      aim = port
    },
  }
}

const CALM: Weather = { delayMs: 0, held: undefined, bytesLeft: Infinity, commitsToLose: 0 }

function createFaults(links: Set<Link>, weather: Weather): Omit<TcpProxy, 'port' | 'happened' | 'aim'> {
  return {
    heal() {
      weather.held?.resolve()
      Object.assign(weather, CALM)
    },
    reset() {
      for (const { client, server } of links) {
        client.resetAndDestroy()
        server.resetAndDestroy()
      }
      return links.size
    },
    halfClose() {
      for (const { client } of links) client.end()
      return links.size
    },
    hold() {
      weather.held ??= Promise.withResolvers<void>()
    },
    delay(ms) {
      weather.delayMs = ms
    },
    cutAfter(bytes) {
      weather.bytesLeft = bytes
    },
    loseCommits(count) {
      weather.commitsToLose = count
    },
  }
}

/** Lets both sides hear each other, as far as the weather allows. */
function join(link: Link, weather: Weather, happened: TcpProxy['happened']): void {
  const { client, server, watch } = link
  void carry(client, server, async (chunk) => {
    watch.asked(chunk)
    await passing(weather)
    return chunk
  })
  void carry(server, client, async (chunk) => {
    const passed = spoil(link, chunk, weather, happened)
    await passing(weather)
    return passed
  })
}

/** One direction of a connection, piece by piece: the next one is read when the one before has been passed on. */
async function carry(
  from: Socket,
  to: Socket,
  pass: (chunk: Buffer) => Promise<Buffer | undefined>,
): Promise<void> {
  // Each error is followed by its close, and both ends are closed below.
  from.on('error', () => undefined)
  try {
    for await (const chunk of from.iterator({ destroyOnReturn: false })) {
      const passed = await pass(chunk)
      if (passed === undefined) return void from.resetAndDestroy()
      if (to.writable && !to.write(passed)) await roomIn(to)
    }
    to.end()
  } catch {
    to.destroy()
  }
}

async function passing(weather: Weather): Promise<void> {
  if (weather.delayMs > 0) await delay(weather.delayMs)
  await weather.held?.promise
}

function roomIn(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      for (const event of ['drain', 'close']) socket.off(event, go)
      resolve()
    }
    for (const event of ['drain', 'close']) socket.on(event, go)
  })
}

/** What of an answer reaches the client; undefined when both ends hear nothing more. */
function spoil(
  { client, watch }: Link,
  chunk: Buffer,
  weather: Weather,
  happened: TcpProxy['happened'],
): Buffer | undefined {
  const isCommit = watch.answered(chunk)
  if (isCommit && weather.commitsToLose > 0) {
    weather.commitsToLose -= 1
    happened.lostCommits += 1
    client.resetAndDestroy()
    return undefined
  }
  weather.bytesLeft -= chunk.length
  if (weather.bytesLeft >= 0) return chunk
  const kept = chunk.subarray(0, chunk.length + weather.bytesLeft)
  weather.bytesLeft = Infinity
  happened.cuts += 1
  // What came before the break is still heard.
  client.end(kept)
  return undefined
}
