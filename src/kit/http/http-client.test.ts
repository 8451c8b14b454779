import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import net from 'node:net'
import { after, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import packageFacts from '../../../package.json' with { type: 'json' }
import { createHttpClient, type HttpClientOptions, type HttpResult } from './http-client.ts'

const cleanups: (() => Promise<void> | void)[] = []
after(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
})

/** A raw TCP server: the test's behaviour gets each socket, and all received bytes are counted. */
async function listen(
  behave: (socket: net.Socket, text: string) => void,
  onAccept?: (s: net.Socket) => void,
) {
  const seen = { bytes: 0, connections: 0 }
  const sockets = new Set<net.Socket>()
  const server = net.createServer((socket) => {
    seen.connections += 1
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', (data) => {
      seen.bytes += data.length
      behave(socket, data.toString())
    })
    onAccept?.(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  }
  cleanups.push(close)
  return { url: `http://127.0.0.1:${portOf(server)}/x`, seen, close }
}

function portOf(server: net.Server): number {
  const address = server.address()
  assert(address && typeof address === 'object')
  return address.port
}

// Listens with a backlog of one, then sleeps and never accepts: once the backlog is full, the kernel drops every
// further SYN, as a dead host would.
const NEVER_ACCEPTS = `
  const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    require('node:fs').writeSync(1, String(server.address().port))
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  })`

async function blackHole(): Promise<number> {
  const child = spawn(process.execPath, ['-e', NEVER_ACCEPTS], { stdio: ['ignore', 'pipe', 'inherit'] })
  cleanups.push(() => void child.kill('SIGKILL'))
  const [data] = await once(child.stdout, 'data')
  const port = Number(data)
  for (let count = 0; count < 4; count += 1) {
    const filler = net.connect(port, '127.0.0.1').on('error', () => undefined)
    cleanups.push(() => void filler.destroy())
  }
  await delay(100)
  return port
}

function client(options: HttpClientOptions = {}) {
  const made = createHttpClient(options)
  cleanups.push(() => made.close())
  return made
}

async function post(url: string, options: HttpClientOptions = {}): Promise<HttpResult> {
  return client(options).request({ method: 'POST', url, body: '{"amount":"100"}' })
}

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx-a: 1\r\n\r\nhi'

describe('F-27 a request of which no byte left us is not sent', () => {
  it('a request of which no byte left us is not sent when the connection is refused', async () => {
    const server = await listen(() => undefined)
    await server.close()
    const result = await post(server.url)
    assert.equal(result.kind, 'not_sent')
    assert.match(result.kind === 'not_sent' ? result.error : '', /ECONNREFUSED/)
  })

  it('a request of which no byte left us is not sent when the name does not resolve', async () => {
    const result = await post('http://no-such-host.invalid/')
    assert.equal(result.kind, 'not_sent')
  })

  it('a request of which no byte left us is not sent when the other side does not speak TLS', async () => {
    const server = await listen((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    const result = await post(server.url.replace('http:', 'https:'))
    assert.equal(result.kind, 'not_sent')
  })

  it('a request of which no byte left us is not sent when a TLS handshake is never finished, after the connect timeout', async () => {
    const server = await listen(() => undefined)
    const result = await post(server.url.replace('http:', 'https:'), { connectTimeoutMs: 200 })
    assert.equal(result.kind, 'not_sent')
  })

  it('a request of which no byte left us is not sent when the connection is never accepted, after the connect timeout', async () => {
    const port = await blackHole()
    const result = await post(`http://127.0.0.1:${port}/`, { connectTimeoutMs: 200, totalTimeoutMs: 5_000 })
    assert.equal(result.kind, 'not_sent')
    assert.match(result.kind === 'not_sent' ? result.error : '', /UND_ERR_CONNECT_TIMEOUT/)
  })

  it('a request of which no byte left us is not sent when it times out while it waits for a connection, and then it never leaves', async () => {
    const texts: string[] = []
    const server = await listen((socket, text) => {
      texts.push(text)
      setTimeout(() => socket.write(OK), 300)
    })
    const http = client({ connections: 1 })
    const first = http.request({ method: 'POST', url: `${server.url}/first`, body: 'a' })
    const second = await http.request({
      method: 'POST',
      url: `${server.url}/second`,
      body: 'b',
      totalTimeoutMs: 100,
    })
    assert.equal(second.kind, 'not_sent')
    assert.equal((await first).kind, 'answered')
    const third = await http.request({ method: 'POST', url: `${server.url}/third`, body: 'c' })
    assert.equal(third.kind, 'answered')
    assert.equal(texts.filter((text) => text.includes('/second')).length, 0)
    assert.equal(server.seen.connections, 1)
  })
})

describe('F-28 F-32 a request that may have arrived is unknown', () => {
  const cases: Record<string, (socket: net.Socket) => void> = {
    'when the connection is reset after reading': (socket) => socket.resetAndDestroy(),
    'when the connection is closed without an answer': (socket) => socket.end(),
    'when the answer is cut in the status line': (socket) => socket.end('HTTP/1.1 20'),
    'when the answer is cut in the body': (socket) =>
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"status":"succe'),
    'when the connection is reset in the body': (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"status":', () => socket.resetAndDestroy())
    },
    'when a chunked answer is cut': (socket) =>
      socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n'),
    'when the answer is not HTTP': (socket) => socket.end('\x00\x01\x02 garbage \r\n\r\n'),
    'when the answer has 10 MB': (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${10_000_000}\r\n\r\n`)
      socket.write(Buffer.alloc(10_000_000, 'x'))
    },
  }
  for (const [name, behave] of Object.entries(cases)) {
    it(name, async () => {
      const server = await listen(behave)
      const result = await post(server.url, { totalTimeoutMs: 5_000 })
      assert.equal(result.kind, 'unknown')
      assert(server.seen.bytes > 0)
    })
  }

  it('a request that may have arrived is unknown when the connection is reset right after it was accepted', async () => {
    const server = await listen(
      () => undefined,
      (socket) => socket.resetAndDestroy(),
    )
    const result = await post(server.url)
    // The reset may arrive before or after our write; it must never yield a response or a throw.
    assert(result.kind === 'unknown' || result.kind === 'not_sent')
  })

  it('a request that may have arrived is unknown when no answer comes in the total time', async () => {
    const server = await listen(() => undefined)
    const startedAt = performance.now()
    const result = await post(server.url, { totalTimeoutMs: 600 })
    assert.equal(result.kind, 'unknown')
    assert(performance.now() - startedAt < 2_000)
  })

  it('a request that may have arrived is unknown when the body drips for longer than the total time', async () => {
    const server = await listen((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n')
      const dripping = setInterval(() => socket.write('x'), 20)
      socket.on('close', () => clearInterval(dripping))
    })
    const result = await post(server.url, { totalTimeoutMs: 600 })
    assert.equal(result.kind, 'unknown')
  })
})

describe('an HTTP response is a value, whatever its status', () => {
  it('returns status, headers and body', async () => {
    const server = await listen((socket) => socket.write(OK))
    const result = await post(server.url)
    assert(result.kind === 'answered')
    assert.equal(result.status, 200)
    assert.equal(result.headers['x-a'], '1')
    assert.equal(result.body.toString(), 'hi')
  })

  it('returns HTML and error responses unchanged', async () => {
    const page = '<h1>Bad gateway</h1>'
    const server = await listen((socket) =>
      socket.end(
        `HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\ncontent-length: ${page.length}\r\n\r\n${page}`,
      ),
    )
    const result = await post(server.url)
    assert(result.kind === 'answered')
    assert.equal(result.status, 502)
    assert.equal(result.body.toString(), page)
  })

  it('F-73 does not follow a redirect', async () => {
    const server = await listen((socket) =>
      socket.end('HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n'),
    )
    const result = await post(server.url)
    assert(result.kind === 'answered')
    assert.equal(result.status, 302)
  })

  it('throws for a header that would break the request, because that is our bug', async () => {
    const request = { method: 'GET' as const, url: 'http://127.0.0.1:1/', headers: { 'x-a': 'b\r\nx-c: d' } }
    await assert.rejects(client().request(request))
  })
})

describe('a client with a resolver of permitted addresses', () => {
  it('resolves names and IP addresses through it, and connects to nothing else', async () => {
    const server = await listen((socket) => socket.write(OK))
    const refused: string[] = []
    const resolve = async (host: string) => {
      refused.push(host)
      throw Object.assign(new Error('not there'), { code: 'ERR_NOT_THERE' })
    }
    const { port } = new URL(server.url)
    for (const host of ['shop.example', '127.0.0.1', '[::1]']) {
      const result = await post(`http://${host}:${port}/`, { resolve })
      assert(result.kind === 'not_sent')
      assert.equal(result.code, 'ERR_NOT_THERE')
    }
    assert.deepEqual(refused, ['shop.example', '127.0.0.1', '::1'])
    assert.equal(server.seen.connections, 0)
    const here = async () => [{ address: '127.0.0.1', family: 4 }]
    assert.equal((await post(`http://shop.example:${port}/`, { resolve: here })).kind, 'answered')
  })
})

describe('kept-alive connections', () => {
  it('are reused', async () => {
    const server = await listen((socket) => socket.write(OK))
    const http = client()
    for (let count = 0; count < 5; count += 1) {
      assert.equal((await http.request({ method: 'GET', url: server.url })).kind, 'answered')
      await delay(5)
    }
    assert.equal(server.seen.connections, 1)
  })

  it('make the outcome unknown when they die after the bytes were written', async () => {
    let answered = 0
    const server = await listen((socket) => {
      answered += 1
      if (answered === 1) socket.write(OK)
      else socket.resetAndDestroy()
    })
    const http = client()
    assert.equal((await http.request({ method: 'POST', url: server.url, body: 'a' })).kind, 'answered')
    assert.equal((await http.request({ method: 'POST', url: server.url, body: 'b' })).kind, 'unknown')
    assert.equal(answered, 2)
  })

  it('are replaced without an unknown outcome when the server closed them while they were idle', async () => {
    const server = await listen((socket) => {
      socket.write(OK)
      setTimeout(() => socket.end(), 30)
    })
    const http = client()
    for (let round = 0; round < 5; round += 1) {
      assert.equal((await http.request({ method: 'POST', url: server.url, body: 'a' })).kind, 'answered')
      await delay(60)
    }
    assert.equal(server.seen.connections, 5)
  })
})

describe('a request to a provider', () => {
  it('names us as its user agent, unless the caller names another', async () => {
    const seen: string[] = []
    const server = await listen((socket, text) => {
      seen.push(/^user-agent: (.*)\r$/im.exec(text)?.[1] ?? '')
      socket.end('HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n')
    })
    const http = createHttpClient()
    cleanups.push(() => http.close())
    await http.request({ method: 'GET', url: server.url })
    await http.request({ method: 'GET', url: server.url, headers: { 'user-agent': 'Other/2' } })
    assert.deepEqual(seen, [`Cowry/${packageFacts.version}`, 'Other/2'])
  })
})
