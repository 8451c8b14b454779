// The client against hosts that resolve to private addresses or misbehave in their responses: F-56 and F-71 to F-73.

import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { LookupAddress } from 'node:dns'
import { createServer as createTlsServer } from 'node:https'
import net, { isIP } from 'node:net'
import { after, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import tls from 'node:tls'
import { gzipSync } from 'node:zlib'
import { selfSigned } from '../../../test/support/certificate.ts'
import { ALLOW_LOOPBACK, ALLOW_NOTHING } from './public-address.ts'
import { createPublicHttp, type PublicHttpOptions, type PublicHttpResult } from './public-http.ts'

const cleanups: (() => Promise<unknown>)[] = []
after(() => Promise.all(cleanups.map((cleanup) => cleanup())))

function client(options: Partial<PublicHttpOptions> = {}) {
  const made = createPublicHttp({ allow: ALLOW_NOTHING, ports: [443, 8443], ...options })
  cleanups.push(() => made.close())
  return made
}

/** A host on every address of this machine; it counts connections before any byte is exchanged. */
async function listen(behave: (socket: net.Socket) => void = () => undefined) {
  const seen: net.Socket[] = []
  const server = net.createServer((socket) => {
    seen.push(socket)
    socket.on('error', () => undefined)
    socket.once('data', () => behave(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, resolve))
  cleanups.push(async () => {
    for (const socket of seen) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return { port: portOf(server), seen }
}

function portOf(server: net.Server): number {
  const address = server.address()
  assert(address && typeof address === 'object')
  return address.port
}

const found = (...addresses: string[]): LookupAddress[] =>
  addresses.map((address) => ({ address, family: isIP(address) }))

function failureOf(result: PublicHttpResult): string {
  return result.kind === 'failed' ? result.failure : `answered ${result.status}`
}

/** Addresses by which a merchant could try to reach the private network; PORT has a listener. */
const INWARD = [
  // Loopback in every spelling that the URL parser turns into an address.
  'https://127.0.0.1:PORT/',
  'https://127.1:PORT/',
  'https://127.0.1:PORT/',
  'https://127.255.255.254:PORT/',
  'https://2130706433:PORT/',
  'https://017700000001:PORT/',
  'https://0x7f000001:PORT/',
  'https://0x7f.1:PORT/',
  'https://0177.0.0.1:PORT/',
  'https://127.0.0.1.:PORT/',
  'https://0:PORT/',
  'https://0.0.0.0:PORT/',
  'https://１２７.０.０.１:PORT/',
  'https://127。0。0。1:PORT/',
  'https://%31%32%37.0.0.1:PORT/',
  'https://[::1]:PORT/',
  'https://[0:0:0:0:0:0:0:1]:PORT/',
  'https://[::]:PORT/',
  'https://[::ffff:127.0.0.1]:PORT/',
  'https://[::ffff:7f00:1]:PORT/',
  'https://[::127.0.0.1]:PORT/',
  // Names that lead to this machine.
  'https://localhost:PORT/',
  'https://LOCALHOST:PORT/',
  'https://localhost.:PORT/',
  'https://shop.localhost:PORT/',
  'https://ⓛocalhost:PORT/',
  'https://printer.local/',
  'https://metadata.google.internal/computeMetadata/v1/',
  'https://postgres/',
  'https://router.lan/',
  'https://nas.home.arpa/',
  // Metadata services of clouds.
  'https://169.254.169.254/latest/meta-data/',
  'https://169.254.169.254./',
  'https://0xa9fea9fe/',
  'https://2852039166/',
  'https://１６９。２５４。１６９。２５４/',
  'https://[::ffff:169.254.169.254]/',
  'https://[::ffff:a9fe:a9fe]/',
  'https://[64:ff9b::a9fe:a9fe]/',
  'https://[64:ff9b:1::a9fe:a9fe]/',
  'https://[2002:a9fe:a9fe::]/',
  'https://[2001:0:a9fe:a9fe::]/',
  'https://[fd00:ec2::254]/',
  'https://168.63.129.16/',
  'https://100.100.100.200/',
  'https://192.0.0.192/',
  // Private networks and other reserved ranges.
  'https://10.0.0.1/',
  'https://172.16.0.1/',
  'https://192.168.1.1/',
  'https://198.18.0.1/',
  'https://192.0.2.1/',
  'https://203.0.113.5/',
  'https://224.0.0.1/',
  'https://255.255.255.255/',
  'https://[fc00::1]/',
  'https://[fe80::1]/',
  'https://[ff02::1]/',
  'https://[2001:db8::1]/',
  // Other ways in.
  'http://shop.example/',
  'http://8.8.8.8:PORT/',
  'https://shop.example:22/',
  'https://shop.example:6379/',
  'https://shop.example:80/',
  'https://8.8.8.8:5432/',
  'https://shop.example@127.0.0.1:PORT/',
  'https://127.0.0.1:PORT@shop.example/',
  'https://@127.0.0.1:PORT/',
  'https:\\\\127.0.0.1:PORT\\',
  'https:127.0.0.1:PORT',
  '//127.0.0.1:PORT/',
  'https://127.0.0.1:PORT\t/',
  ' https://127.0.0.1:PORT/',
  'https://[127.0.0.1]:PORT/',
  'https://[shop.example]:PORT/',
  'https://[fe80::1%25lo]:PORT/',
  'gopher://127.0.0.1:PORT/_',
  'file:///etc/passwd',
  'ftp://127.0.0.1:PORT/',
  'javascript:fetch("https://127.0.0.1:PORT/")',
  'https://',
  '',
]

describe('a private address (F-71)', () => {
  it('is refused when it is saved and when it is called, and is never connected to', async () => {
    const { port, seen } = await listen()
    const resolved: string[] = []
    const resolve = async (host: string) => {
      resolved.push(host)
      return found('127.0.0.1')
    }
    const http = client({ ports: [443, 8443, port], resolve })
    const opened: unknown[] = []
    const note = (socket: unknown) => void opened.push(socket)
    subscribe('net.client.socket', note)
    const urls = INWARD.map((url) => url.replaceAll('PORT', String(port)))
    const results = await Promise.all(urls.map((url) => http.post(url, { body: '{}' })))
    unsubscribe('net.client.socket', note)

    assert.ok(urls.length >= 60)
    const kept = urls.filter((url) => http.validateUrl(url) === undefined)
    const called = urls.filter((_, n) => failureOf(results[n] ?? assert.fail()) !== 'refused_address')
    assert.deepEqual({ kept, called, resolved, opened }, { kept: [], called: [], resolved: [], opened: [] })
    assert.equal(seen.length, 0)
  })

  it('is reached if the operator allows it, so that the listener of the other tests would have noticed', async () => {
    const { port, seen } = await listen()
    const http = client({ allow: ALLOW_LOOPBACK })
    const hosts = ['127.0.0.1', '2130706433', '0x7f.1', 'localhost', 'localhost.']
    await Promise.all(
      hosts.map((host) => http.post(`http://${host}:${port}/`, { body: '{}', timeoutMs: 1_000 })),
    )
    assert.equal(seen.length, 5)
  })
})

describe('a host name (F-72)', () => {
  it('is not connected to if any of its addresses is not public', async () => {
    const { port, seen } = await listen()
    const results: Record<string, string[]> = {
      'loopback.example': ['127.0.0.1'],
      'six.example': ['::1'],
      'mapped.example': ['::ffff:127.0.0.1'],
      'unspecified.example': ['0.0.0.0'],
      'metadata.example': ['169.254.169.254'],
      'private.example': ['10.0.0.7'],
      'nat64.example': ['64:ff9b::7f00:1'],
      'public-first.example': ['8.8.8.8', '127.0.0.1'],
      'private-first.example': ['127.0.0.1', '8.8.8.8'],
      'mixed.example': ['8.8.8.8', '::1'],
      'mixed-six.example': ['2606:4700::1111', '127.0.0.1'],
    }
    const http = client({ ports: [port], resolve: async (host) => found(...(results[host] ?? [])) })
    for (const host of Object.keys(results)) {
      const url = `https://${host}:${port}/`
      assert.equal(http.validateUrl(url), undefined, 'only its addresses are wrong')
      const result = await http.post(url, { body: '{}' })
      assert.equal(failureOf(result), 'refused_address', host)
      // The response must not reveal which address it was.
      assert.doesNotMatch(result.kind === 'failed' ? result.message : '', /\d/)
    }
    assert.equal(seen.length, 0)
  })

  it('a host name that leads into a private network gives the same message as one that does not exist', async () => {
    const resolve = async (host: string) => (host.startsWith('there') ? found('10.1.2.3') : found())
    const http = client({ resolve })
    const postTo = async (host: string) => {
      const result = await http.post(`https://${host}.shop.example/`, { body: '' })
      return result.kind === 'failed' ? result : assert.fail('it was called')
    }
    const [there, nowhere] = [await postTo('there'), await postTo('nowhere')]
    assert.equal(there.message, nowhere.message)
    assert.notEqual(there.failure, nowhere.failure, 'for the log of the operator')
  })

  it('a host name that cannot be resolved is a failure of its own', async () => {
    const nowhere = client({ resolve: async () => [] })
    assert.equal(failureOf(await nowhere.post('https://shop.example/', { body: '' })), 'resolve_failed')
    const broken = client({ resolve: () => Promise.reject(new Error('no name server')) })
    assert.equal(failureOf(await broken.post('https://shop.example/', { body: '' })), 'resolve_failed')
    const lookup = Promise.withResolvers<LookupAddress[]>()
    const silent = client({ resolve: () => lookup.promise })
    const request = { body: '', timeoutMs: 100 }
    assert.equal(failureOf(await silent.post('https://shop.example/', request)), 'timeout')
    lookup.resolve([])
  })

  it('a host name that resolves to another address at the time of the connection is not connected to', async () => {
    const { key, cert } = selfSigned('shop.example')
    tls.setDefaultCACertificates([...tls.getCACertificates(), cert])
    const seen: { address?: string; servername?: string | false; host?: string }[] = []
    const server = createTlsServer({ key, cert }, ({ socket, headers, url }, result) => {
      const { servername } = socket as tls.TLSSocket & { servername: string }
      seen.push({ address: socket.localAddress?.replace('::ffff:', ''), servername, host: headers.host })
      if (url === '/last') result.setHeader('connection', 'close')
      result.end('thanks')
    })
    let accepted = 0
    server.on('connection', () => {
      accepted += 1
    })
    await new Promise<void>((resolve) => server.listen(0, resolve))
    cleanups.push(() => new Promise((resolve) => server.close(resolve)))
    const port = portOf(server)

    // 127.0.0.1 stands for the public address here, any other address of this machine for the private network.
    let address = '127.0.0.1'
    const allow = { ranges: ['127.0.0.1/32'], names: [] }
    const http = client({ allow, ports: [port], resolve: async () => found(address) })
    const post = (path: string, host = 'shop.example') =>
      http.post(`https://${host}:${port}${path}`, { body: '{}' })

    assert.equal(failureOf(await post('/first')), 'answered 200')
    address = '127.0.0.2'
    await delay(10)
    // The open connection still leads to the address that was checked.
    assert.equal(failureOf(await post('/last')), 'answered 200')
    assert.equal(failureOf(await post('/after')), 'refused_address')
    const expected = { address: '127.0.0.1', servername: 'shop.example', host: `shop.example:${port}` }
    assert.deepEqual(seen, [expected, expected])
    assert.equal(accepted, 1)

    address = '127.0.0.1'
    assert.equal(failureOf(await post('/', 'other.example')), 'tls_failed', 'not the name of the certificate')
  })
})

type Consumer = (socket: net.Socket) => void
const answering =
  (status: string, headers: string[] = [], body: Buffer | string = ''): Consumer =>
  (socket) => {
    const length = `content-length: ${Buffer.byteLength(body)}`
    socket.write([`HTTP/1.1 ${status}`, length, ...headers, '', ''].join('\r\n'))
    socket.write(body)
  }

function repeat(socket: net.Socket, bytes: Buffer | string, everyMs: number): void {
  const timer = setInterval(() => socket.write(bytes), everyMs)
  socket.on('close', () => clearInterval(timer))
}

const TIMEOUT_MS = 300

// For a consumer that answers at once: it counts only on a busy machine.
const LONG_TIMEOUT_MS = 10_000

async function deliver(
  consumer: Consumer,
  timeoutMs = LONG_TIMEOUT_MS,
): Promise<{ result: PublicHttpResult; seen: net.Socket[] }> {
  const { port, seen } = await listen(consumer)
  const http = client({ allow: ALLOW_LOOPBACK })
  const result = await http.post(`http://127.0.0.1:${port}/`, { body: '{"a":1}', timeoutMs })
  return { result, seen }
}

async function answeredBy(consumer: Consumer) {
  const { result } = await deliver(consumer)
  assert(result.kind === 'answered', JSON.stringify(result))
  return result
}

describe('a webhook consumer (F-56)', () => {
  it('may take nearly the whole timeout', async () => {
    const { status, durationMs } = await answeredBy((socket) => {
      setTimeout(() => answering('204 No Content')(socket), TIMEOUT_MS * 0.6)
    })
    assert.equal(status, 204)
    assert.ok(durationMs >= TIMEOUT_MS * 0.5, `${durationMs} ms`)
  })

  const LATE: Record<string, Consumer> = {
    'never answers': () => undefined,
    'never ends its headers': (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      repeat(socket, 'x-a: b\r\n', 20)
    },
    'sends a byte at a time': (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n')
      repeat(socket, 'x', 20)
    },
    'sends one informational answer after the other': (socket) => {
      repeat(socket, 'HTTP/1.1 102 Processing\r\n\r\n', 20)
    },
  }
  for (const [name, consumer] of Object.entries(LATE)) {
    it(`a webhook consumer that ${name} is too late`, async () => {
      const startedAt = performance.now()
      const { result } = await deliver(consumer, TIMEOUT_MS)
      assert.equal(failureOf(result), 'timeout')
      assert.ok(performance.now() - startedAt < TIMEOUT_MS + 1_000)
    })
  }

  it('a webhook consumer that never ends its response is disconnected after 4 KiB', async () => {
    const { result, seen } = await deliver((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
      repeat(socket, `400\r\n${'x'.repeat(0x400)}\r\n`, 1)
    })
    assert(result.kind === 'answered')
    assert.equal(result.body, 'x'.repeat(4_096))
    const [socket] = seen
    assert(socket)
    if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve))
  })

  it('a webhook consumer that responds with a gzip bomb has it read as the raw bytes', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000))
    const { status, body } = await answeredBy(answering('200 OK', ['content-encoding: gzip'], bomb))
    assert.equal(status, 200)
    assert.ok(body.length <= 4_096)
    assert.ok(!body.includes('\u0000'))
  })

  it('a webhook consumer that responds with bytes that are no text has them made readable', async () => {
    const bytes = Buffer.concat([
      Buffer.from('a\u0000b\u001b[2J\tç\n'),
      Buffer.from([0xff, 0xfe, 0xe2, 0x82]),
    ])
    const { body } = await answeredBy(answering('200 OK', [], bytes))
    assert.equal(body, 'a\ufffdb\ufffd[2J\tç\n\ufffd\ufffd')
    assert.ok(body.isWellFormed())
  })

  it('a webhook consumer that redirects to a private address is not followed (F-73)', async () => {
    const inside = await listen(answering('200 OK'))
    for (const status of ['301 Moved', '302 Found', '307 Temporary', '308 Permanent']) {
      const location = `location: http://127.0.0.1:${inside.port}/`
      const result = await answeredBy(answering(status, [location]))
      assert.equal(result.status, Number(status.slice(0, 3)))
    }
    assert.equal(inside.seen.length, 0)
  })

  it('a webhook consumer that responds 410 or 429 is reported as gone or busy', async () => {
    assert.equal((await answeredBy(answering('410 Gone'))).status, 410)
    const busy = await answeredBy(answering('429 Too Many Requests', ['Retry-After: 120']))
    assert.deepEqual([busy.status, busy.headers['retry-after']], [429, '120'])
  })

  it('a webhook consumer that breaks the connection or the protocol is reported with a reason of its own', async () => {
    const cases: [string, Consumer][] = [
      ['closed', (socket) => socket.end()],
      ['closed', (socket) => socket.resetAndDestroy()],
      ['closed', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc')],
      ['bad_response', (socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n')],
      ['bad_response', answering('200 OK', [`x-a: ${'b'.repeat(20_000)}`])],
    ]
    for (const [failure, consumer] of cases)
      assert.equal(failureOf((await deliver(consumer)).result), failure)
  })

  it('a webhook consumer without a listener is not connected to', async () => {
    const { port } = await listen()
    const http = client({ allow: ALLOW_LOOPBACK })
    const results = [
      await http.post('http://127.0.0.1:1/', { body: '' }),
      await http.post(`https://127.0.0.1:${port}/`, { body: '', timeoutMs: 100 }),
    ]
    assert.deepEqual(results.map(failureOf), ['connect_failed', 'timeout'])
  })
})
