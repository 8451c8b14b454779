// A connection of the load driver: one request at a time, written to a bare socket, because the processor time of the
// driver is taken from the service that it measures.

import { connect } from 'node:net'

export interface Connection {
  /** Resolves when it can take the first request, or could not be opened. */
  opened: Promise<void>
  closed: Promise<void>
  send(bytes: string): void
  end(): void
}

export interface Received {
  response(status: number, bytes: Buffer): void
  broke(message: string): void
}

export function openConnection(url: string, received: Received): Connection {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  const opened = Promise.withResolvers<void>()
  const closed = Promise.withResolvers<void>()
  /** The received part of an incomplete response. */
  let partial: Buffer | undefined
  socket.once('connect', () => opened.resolve())
  socket.once('close', () => {
    opened.resolve()
    closed.resolve()
  })
  socket.on('error', (error) => received.broke(error.message))
  socket.on('data', (chunk) => {
    const bytes = partial ? Buffer.concat([partial, chunk]) : chunk
    const length = responseLength(bytes)
    partial = length === undefined || bytes.length < length ? bytes : undefined
    if (!partial) received.response(statusOf(bytes), bytes)
  })
  return {
    opened: opened.promise,
    closed: closed.promise,
    send: (bytes) => void socket.write(bytes, 'latin1'),
    end: () => void socket.end(),
  }
}

const ZERO = 0x30

/** The three digits after "HTTP/1.1 ". */
function statusOf(bytes: Buffer): number {
  const digit = (at: number) => (bytes[at] ?? ZERO) - ZERO
  return 100 * digit(9) + 10 * digit(10) + digit(11)
}

/** The length of head and body; undefined while the head is incomplete. */
function responseLength(bytes: Buffer): number | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(bytes.toString('latin1', 0, headEnd)) ?? []
  if (length === undefined) throw new Error('a response has no content-length')
  return headEnd + 4 + Number(length)
}
