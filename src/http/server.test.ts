import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { after, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Type } from 'typebox'
import { type FakeShell, fakeShell } from '../../test/support/fake-shell.ts'
import { eventually } from '../../test/support/process.ts'
import { ok, route } from '../kit/http/route.ts'
import type { HttpShellOptions } from './options.ts'

const open: FakeShell[] = []
after(() => Promise.all(open.map(({ shell }) => shell.stop())))

async function listening(overrides: Partial<HttpShellOptions> = {}) {
  const fake = fakeShell(overrides)
  open.push(fake)
  return { ...fake, ...(await fake.shell.listen('127.0.0.1', 0)) }
}

/** Sends bytes, and returns all bytes received until the server closes or is silent for a while. */
async function sendBytes(port: number, bytes: string | Buffer, quietMs = 400): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(bytes)
  const text = await readUntilQuiet(socket, quietMs)
  socket.destroy()
  return text
}

async function readUntilQuiet(socket: Socket, quietMs: number): Promise<string> {
  const chunks: Buffer[] = []
  let last = 0
  let closed = false
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    last = 0
  })
  socket.on('close', () => {
    closed = true
  })
  while (!closed && last < quietMs) {
    await delay(20)
    last += 20
  }
  return Buffer.concat(chunks).toString('latin1')
}

const head = (...lines: string[]) => `${lines.join('\r\n')}\r\n\r\n`
const POST = ['POST /api/v1/things HTTP/1.1', 'Host: x', 'x-api-key: right', 'Content-Type: application/json']

describe('the listening HTTP server', () => {
  it('F-59: answers bytes that are not HTTP with a short JSON 400 and closes', async () => {
    const { port, lines } = await listening()
    const garbage = [
      'NONSENSE\r\n\r\n',
      '\x16\x03\x01\x02\x00',
      head(...POST, 'Content-Length: 5', 'Content-Length: 6'),
      head(...POST, 'Content-Length: 5', 'Transfer-Encoding: chunked'),
      `${head(...POST, 'Transfer-Encoding: chunked')}zz\r\n`,
      head('GET / HTTP/1.1', 'Host: x', 'Bad Header: y'),
    ]
    for (const bytes of garbage) {
      const response = await sendBytes(port, bytes)
      assert.match(response, /^HTTP\/1\.1 400 Bad Request\r\n/, JSON.stringify(bytes))
      assert.match(response, /x-request-id: [0-9a-f-]{36}\r\n/)
      assert.match(response, /"code":"validation_failed"/)
      assert.match(response, /connection: close/i)
    }
    assert.ok(lines.every((line) => line.level === 'info'))
  })

  it('answers headers larger than 16 KB with 431', async () => {
    const { port } = await listening()
    const response = await sendBytes(port, head('GET / HTTP/1.1', 'Host: x', `x-long: ${'x'.repeat(17_000)}`))
    assert.match(response, /^HTTP\/1\.1 431 /)
    assert.match(response, /x-request-id: /)
  })

  it('requires a Host header for HTTP/1.1, and answers with the envelope', async () => {
    const { port } = await listening()
    const response = await sendBytes(port, head('GET /healthz HTTP/1.1'))
    assert.match(response, /^HTTP\/1\.1 400 /)
    assert.match(response, /x-request-id: /)
  })

  it('refuses a second Host, Content-Type or Authorization header', async () => {
    const { port } = await listening()
    for (const name of ['Host', 'Content-Type', 'Authorization']) {
      const lines = [`${name}: application/json`, `${name.toLowerCase()}: text/plain`]
      const others = name === 'Host' ? [] : ['Host: x']
      const response = await sendBytes(port, head('GET /healthz HTTP/1.1', ...others, ...lines))
      assert.match(response, /^HTTP\/1\.1 400 /, name)
      assert.match(response, /is sent more than once; send it once\./)
    }
  })

  it('F-60: answers 413 to a large body with Content-Length, and the client receives the response', async () => {
    const { port } = await listening()
    const response = await upload(port, 20_000_000, true)
    assert.equal(response.http, 413)
    assert.match(response.body, /payload_too_large/)
  })

  it('F-60: answers 413 to a chunked body as soon as it is too large, and discards the rest', async () => {
    const { port } = await listening()
    const response = await upload(port, 100_000_000, false)
    assert.equal(response.http, 413)
  })

  it('keeps the connection open after a body that is not JSON', async () => {
    const { port } = await listening()
    const bad = `${head(...POST, 'Content-Length: 1')}{`
    const responses = await sendBytes(port, bad + bad)
    assert.equal(responses.match(/HTTP\/1\.1 400 /g)?.length, 2)
    assert.doesNotMatch(responses, /connection: close/i)
  })

  it('has timeouts and limits against slow clients', async () => {
    const { createNodeServer } = await import('./node-server.ts')
    const server = createNodeServer(() => undefined)
    assert.equal(server.headersTimeout, 10_000)
    assert.equal(server.requestTimeout, 30_000)
    assert.equal(server.keepAliveTimeout, 65_000)
    assert.equal(server.maxConnections, 5_000)
    server.close()
  })

  it('F-51: finishes the work of a client that disconnected, and logs it as 499', async () => {
    const slow = slowRoute()
    const { port, lines } = await listening({ routes: [slow.route] })
    await disconnectDuring(slow, port)
    const logged = () => lines.filter(({ route }) => route === slow.route.path).map(({ http }) => http)
    assert.deepEqual(logged(), [])
    slow.release()
    assert.deepEqual(await eventually(logged, ({ length }) => length > 0, 5_000), [499])
    assert.equal(slow.finished, 1)
  })
})

describe('stopping the HTTP server', () => {
  const isRefused = (port: number) =>
    get(port, '/healthz', new Agent()).then(
      () => false,
      (error: NodeJS.ErrnoException) => error.code === 'ECONNREFUSED',
    )

  /** Begins to stop, and asserts that the stop waits while the server accepts no more connections. */
  async function stopWhileBusy({ shell, port }: { shell: FakeShell['shell']; port: number }) {
    let isStopped = false
    const stopping = shell.stop().then(() => {
      isStopped = true
    })
    await eventually(() => isRefused(port), Boolean, 5_000)
    assert.equal(isStopped, false)
    return { stopping }
  }

  it('F-90: finishes requests in flight, closes their connections, and accepts no new ones', async () => {
    const slow = slowRoute()
    const server = await listening({ routes: [slow.route] })
    const pending = get(server.port, slow.route.path, new Agent({ keepAlive: true }))
    await slow.begun
    const { stopping } = await stopWhileBusy(server)
    slow.release()
    const response = await pending
    assert.equal(response.statusCode, 200)
    assert.equal(response.headers.connection, 'close')
    await stopping
  })

  it('F-90: turns readiness off first, while requests in flight continue', async () => {
    const slow = slowRoute()
    const { port, shell } = await listening({ routes: [slow.route] })
    const pending = get(port, slow.route.path, new Agent())
    await slow.begun
    const stopping = shell.stop()
    const probe = shell.inject({ url: '/readyz' })
    slow.release()
    await stopping
    assert.equal((await pending).statusCode, 200)
    assert.equal((await probe).http, 503)
  })

  it('closes idle connections, including those that never sent a request', async () => {
    const { port, shell } = await listening()
    const silent = connect(port, '127.0.0.1')
    const closed = new Promise((resolve) => silent.on('close', resolve))
    silent.on('error', () => undefined)
    await once(silent, 'connect')
    // The server accepts connections in order: after this response it has both.
    await get(port, '/healthz', new Agent({ keepAlive: true }))
    await shell.stop()
    await closed
  })

  it('cuts a stream, which has no end of its own, and closes its source', async () => {
    let isClosed = false
    async function* pieces() {
      try {
        for (;;) {
          yield ': \n\n'
          await delay(20)
        }
      } finally {
        isClosed = true
      }
    }
    const handle = async () => ({ http: 200, stream: { type: 'text/event-stream', pieces: pieces() } })
    const { port, shell } = await listening({ pageRoutes: [{ method: 'GET', path: '/live', handle }] })
    const response = await fetch(`http://127.0.0.1:${port}/live`)
    assert.equal(response.headers.get('content-type'), 'text/event-stream')
    const cut = assert.rejects(response.text())
    const startedAt = performance.now()
    await shell.stop()
    await cut
    assert.ok(performance.now() - startedAt < 10_000)
    await eventually(() => isClosed, Boolean, 5_000)
  })

  it('waits for the work of disconnected clients', async () => {
    const slow = slowRoute()
    const server = await listening({ routes: [slow.route] })
    await disconnectDuring(slow, server.port)
    const { stopping } = await stopWhileBusy(server)
    assert.equal(slow.finished, 0)
    slow.release()
    await stopping
    assert.equal(slow.finished, 1)
  })

  it('stops waiting after 25 s for requests that do not end', async () => {
    const slept: number[] = []
    const clock = { now: () => new Date(0), sleep: async (ms: number) => void slept.push(ms) }
    const slow = slowRoute()
    const fake = fakeShell({ clock, routes: [slow.route] })
    const { port } = await fake.shell.listen('127.0.0.1', 0)
    const outcome = assert.rejects(get(port, slow.route.path, new Agent()), /socket hang up|ECONNRESET/)
    await slow.begun
    await fake.shell.stop()
    await outcome
    assert.deepEqual(slept, [25_000])
  })
})

/** A route whose work ends only when it is released. */
function slowRoute() {
  const begun = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const slow = {
    finished: 0,
    begun: begun.promise,
    release: released.resolve,
    route: route({
      method: 'GET',
      path: '/api/v1/slow',
      tag: 'Misc',
      scope: 'wallet:read',
      operationId: 'slow.get',
      summary: 'Be slow',
      response: { http: 200, data: Type.Object({}) },
      errors: [],
      handle: async () => {
        begun.resolve()
        await released.promise
        slow.finished += 1
        return ok('Slow.', {})
      },
    }),
  }
  return slow
}

/** A client that closes its connection while the server works for it; returns when the server has seen it. */
async function disconnectDuring(slow: ReturnType<typeof slowRoute>, port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  socket.write(head(`GET ${slow.route.path} HTTP/1.1`, 'Host: x', 'x-api-key: right'))
  await slow.begun
  socket.destroy()
  await once(socket, 'close')
  // The server reads sockets in order: it has seen the end of that one before it answers a later connection.
  await get(port, '/healthz', new Agent())
}

function get(port: number, path: string, agent: Agent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { port, host: '127.0.0.1', path, agent, headers: { 'x-api-key': 'right' } },
      (response) => {
        response.resume()
        response.on('end', () => resolve(response))
      },
    )
    request.on('error', reject)
    request.end()
  })
}

/** Sends a whole body, as most clients do, even if the server responds earlier. */
async function upload(
  port: number,
  bytes: number,
  withLength: boolean,
): Promise<{ http: number; body: string }> {
  const headers = {
    'x-api-key': 'right',
    'content-type': 'application/json',
    ...(withLength ? { 'content-length': bytes } : { 'transfer-encoding': 'chunked' }),
  }
  const options = {
    port,
    host: '127.0.0.1',
    path: '/api/v1/things',
    method: 'POST',
    headers,
    agent: new Agent(),
  }
  const request = httpRequest(options)
  const answered = once(request, 'response')
  const piece = Buffer.alloc(1_000_000, ' ')
  for (let sent = 0; sent < bytes; sent += piece.length)
    await new Promise((resolve) => request.write(piece, resolve))
  request.end()
  const [response] = await answered
  return { http: response.statusCode, body: Buffer.concat(await response.toArray()).toString() }
}
