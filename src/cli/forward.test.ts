import assert from 'node:assert/strict'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { type Clock, systemClock } from '../kit/clock.ts'
import { createHttpClient } from '../kit/http/http-client.ts'
import { systemRandom } from '../kit/random.ts'
import { createForwarder, ensureListenSecret } from './forward.ts'

const random = systemRandom(systemClock)
const EVENT = {
  id: '0197a3c2-7d51-7cc3-98c4-dc0c0c07398f',
  type: 'payment.successful',
  createdAt: '2026-03-14T09:26:53.589Z',
  resource: { type: 'payment', uuid: '0197a3c2-9a01-7d10-8a52-0d2f6d3e9b11', version: 3 },
}
const NEVER = new AbortController().signal

async function listenOn(t: TestContext, server: Server, port = 0): Promise<number> {
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  t.after(() => void server.close())
  const address = server.address()
  assert.ok(address && typeof address === 'object')
  return address.port
}

/** A clock whose sleeps take no time and can run a callback. */
function instantClock(meanwhile: () => Promise<void>): Clock {
  return { now: systemClock.now, sleep: meanwhile }
}

async function secretIn(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'cowry-listen-'))
  t.after(() => rm(folder, { recursive: true }))
  return { folder, secret: await ensureListenSecret(folder, random) }
}

function forwarderTo(t: TestContext, url: string, secret: string, clock: Clock = systemClock) {
  const changes: boolean[] = []
  const http = createHttpClient()
  t.after(() => http.close())
  const onChange = (isReachable: boolean) => void changes.push(isReachable)
  return { changes, forward: createForwarder({ http, clock, url, secret, onChange }) }
}

describe('forwarding an event to a local address', () => {
  it('sends a signature that the reference library verifies', async (t) => {
    const { secret } = await secretIn(t)
    const verified: unknown[] = []
    const server = createServer(async (request, response) => {
      const body = Buffer.concat(await request.toArray()).toString()
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      )
      verified.push(new Webhook(secret).verify(body, headers))
      const otherSecret = new Webhook(`whsec_${Buffer.alloc(32).toString('base64')}`)
      assert.throws(() => otherSecret.verify(body, headers))
      assert.throws(() => new Webhook(secret).verify(body.replace('v', 'w'), headers))
      response.writeHead(204).end()
    })
    const port = await listenOn(t, server)
    const { forward, changes } = forwarderTo(t, `http://127.0.0.1:${port}/hook`, secret)
    const { http, error } = await forward(EVENT, NEVER)
    assert.deepEqual({ http, error }, { http: 204, error: null })
    assert.deepEqual(verified, [EVENT])
    assert.deepEqual(changes, [])
  })

  it('retries while the address does not respond, and reports that once', async (t) => {
    const { secret } = await secretIn(t)
    const probe = createServer()
    const port = await listenOn(t, probe)
    await new Promise((resolve) => probe.close(resolve))
    let waits = 0
    const clock = instantClock(async () => {
      waits += 1
      if (waits === 3)
        await listenOn(
          t,
          createServer((_, response) => void response.writeHead(200).end()),
          port,
        )
    })
    const { forward, changes } = forwarderTo(t, `http://127.0.0.1:${port}/`, secret, clock)
    assert.equal((await forward(EVENT, NEVER)).http, 200)
    assert.deepEqual(changes, [false, true])
    assert.equal(waits, 3)
  })

  it('stops after a few attempts, and does not retry an error response', async (t) => {
    const { secret } = await secretIn(t)
    let asked = 0
    const port = await listenOn(
      t,
      createServer((_, response) => {
        asked += 1
        response.writeHead(500).end()
      }),
    )
    const failing = forwarderTo(t, `http://127.0.0.1:${port}/`, secret)
    assert.equal((await failing.forward(EVENT, NEVER)).http, 500)
    assert.equal(asked, 1)
    let waits = 0
    const clock = instantClock(async () => {
      waits += 1
    })
    const { forward, changes } = forwarderTo(t, 'http://127.0.0.1:1/', secret, clock)
    const { http, error } = await forward(EVENT, NEVER)
    assert.equal(http, null)
    assert.match(error ?? '', /./)
    assert.deepEqual({ waits, changes }, { waits: 4, changes: [false] })
  })
})

describe('the signing secret of cowry listen', () => {
  it('stays the same for a data folder, and only its owner can read it', async (t) => {
    const { folder, secret } = await secretIn(t)
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    assert.equal(await ensureListenSecret(folder, random), secret)
    const { mode } = await stat(join(folder, 'listen-secret'))
    assert.equal(mode & 0o777, 0o600)
    assert.notEqual((await secretIn(t)).secret, secret)
    await writeFile(join(folder, 'listen-secret'), '')
    await assert.rejects(ensureListenSecret(folder, random), /Delete it/)
  })
})
