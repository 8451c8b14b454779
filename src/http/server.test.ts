import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { after, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { Type } from 'typebox'
import { type FakeShell, fakeShell } from '../../test/support/fake-shell.ts'
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
    const release = Promise.withResolvers<void>()
    const done: string[] = []
    const { port, lines } = await listening({
      routes: [
        slowRoute(async () => {
          await release.promise
          done.push('work')
        }),
      ],
    })
    const socket = connect(port, '127.0.0.1')
    socket.write(head('GET /api/v1/slow HTTP/1.1', 'Host: x', 'x-api-key: right'))
    await delay(100)
    socket.destroy()
    await delay(100)
    assert.equal(lines.length, 0)
    release.resolve()
    await delay(50)
    assert.deepEqual(done, ['work'])
    assert.deepEqual(
      lines.map(({ http }) => http),
      [499],
    )
  })
})

describe('stopping the HTTP server', () => {
  it('F-90: finishes requests in flight, closes their connections, and accepts no new ones', async () => {
    const release = Promise.withResolvers<void>()
    const { port, shell } = await listening({ routes: [slowRoute(() => release.promise)] })
    const agent = new Agent({ keepAlive: true })
    const slow = get(port, '/api/v1/slow', agent)
    await delay(100)
    let stopped = false
    const stopping = shell.stop().then(() => {
      stopped = true
    })
    await delay(100)
    assert.equal(stopped, false)
    await assert.rejects(get(port, '/healthz', new Agent()), /ECONNREFUSED/)
    release.resolve()
    const response = await slow
    assert.equal(response.statusCode, 200)
    assert.equal(response.headers.connection, 'close')
    await stopping
  })

  it('F-90: turns readiness off first, while requests in flight continue', async () => {
    const release = Promise.withResolvers<void>()
    const { port, shell } = await listening({ routes: [slowRoute(() => release.promise)] })
    const socket = connect(port, '127.0.0.1')
    const reading = readUntilQuiet(socket, 700)
    socket.write(head('GET /api/v1/slow HTTP/1.1', 'Host: x', 'x-api-key: right'))
    await delay(100)
    const stopping = shell.stop()
    const probe = shell.inject({ url: '/readyz' })
    release.resolve()
    await stopping
    assert.match(await reading, /^HTTP\/1\.1 200 /)
    assert.equal((await probe).http, 503)
  })

  it('closes idle connections, including those that never sent a request', async () => {
    const { port, shell } = await listening()
    const agent = new Agent({ keepAlive: true })
    await get(port, '/healthz', agent)
    const silent = connect(port, '127.0.0.1')
    const closed = new Promise((resolve) => silent.on('close', resolve))
    silent.on('error', () => undefined)
    await delay(50)
    await shell.stop()
    await closed
  })

  it('waits for the work of disconnected clients', async () => {
    const release = Promise.withResolvers<void>()
    const { port, shell } = await listening({ routes: [slowRoute(() => release.promise)] })
    const socket = connect(port, '127.0.0.1')
    socket.write(head('GET /api/v1/slow HTTP/1.1', 'Host: x', 'x-api-key: right'))
    await delay(100)
    socket.destroy()
    let stopped = false
    const stopping = shell.stop().then(() => {
      stopped = true
    })
    await delay(150)
    assert.equal(stopped, false)
    release.resolve()
    await stopping
  })

  it('stops waiting after 25 s for requests that do not end', async () => {
    const slept: number[] = []
    const clock = {
      now: () => new Date(0),
      sleep: async (ms: number) => {
        slept.push(ms)
        await delay(100)
      },
    }
    const fake = fakeShell({ clock, routes: [slowRoute(() => new Promise(() => undefined))] })
    const { port } = await fake.shell.listen('127.0.0.1', 0)
    const lost = get(port, '/api/v1/slow', new Agent())
    const outcome = assert.rejects(lost, /socket hang up|ECONNRESET/)
    await delay(100)
    await fake.shell.stop()
    await outcome
    assert.deepEqual(slept, [25_000])
  })
})

function slowRoute(work: () => Promise<void>) {
  return route({
    method: 'GET',
    path: '/api/v1/slow',
    tag: 'Misc',
    scope: 'wallet:read',
    summary: 'Be slow',
    response: { http: 200, data: Type.Object({}) },
    errors: [],
    handle: async () => {
      await work()
      return ok('Slow.', {})
    },
  })
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
