// F-21 and F-88: no database connection or no file descriptor is free. Callers get 503 or their connection is closed;
// later callers are served.

import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import { createApi } from '../support/api.ts'
import { initiateBody } from '../support/builders.ts'
import { testDatabaseUrl } from '../support/database.ts'
import { eventually, startProcess, tempFolder } from '../support/process.ts'
import { ONE_PROCESS, testService } from '../support/service.ts'

const INITIATE = '/api/v1/checkout/initiate-payment'
const POOL_SIZE = 4

const holdConnection = sql<unknown>`select pg_sleep(4)`

it(
  'a pool without a free connection answers 503 with Retry-After, stays alive, and recovers (F-21)',
  ONE_PROCESS,
  async (t) => {
    const service = await testService(t, {
      env: { COWRY_POOL_SIZE: String(POOL_SIZE) },
      role: 'api',
      acquireTimeoutMs: 2_000,
    })
    const body = initiateBody()
    assert.equal((await service.api.post(INITIATE, initiateBody())).http, 201)

    const held = Array.from({ length: POOL_SIZE }, () => service.db.query(holdConnection))
    const refused = service.api.post(INITIATE, body)
    assert.equal((await createApi(service.url, {}).get('/healthz')).http, 200)
    const { http, headers, body: answer } = await refused
    assert.deepEqual([http, answer.error?.code], [503, 'temporarily_unavailable'])
    assert.ok(Number(headers.get('retry-after')) >= 1)

    await Promise.all(held)
    assert.equal((await service.api.post(INITIATE, body)).http, 201)
  },
)

it('a process without file descriptors closes new connections, and serves again when some are free (F-88)', async (t) => {
  const limited = ['sh', '-c', 'ulimit -n 128 && exec "$0" "$@"', process.execPath, 'src/main.ts'] as const
  const service = await startProcess(
    t,
    ['serve', '--role', 'api'],
    { PORT: '0', DATABASE_URL: await testDatabaseUrl(t), COWRY_DATA_DIR: await tempFolder(t, 'fds') },
    { command: limited },
  )
  const { url, demoKey } = service.facts
  const api = createApi(url, { 'x-api-key': demoKey })
  const body = initiateBody()

  const sockets = Array.from({ length: 256 }, () => idleConnection(url))
  t.after(async () => void sockets.map((socket) => socket.destroy()))
  await eventually(
    () => sockets.filter((socket) => socket.closed).length,
    (closed) => closed > 0,
    10_000,
  )
  for (const socket of sockets) socket.destroy()
  const served = await eventually(
    () => api.post(INITIATE, body).catch(() => undefined),
    (answer) => answer?.http === 201,
    15_000,
  )
  assert.equal(served?.body.data.reference, body.reference)
  assert.equal((await service.kill('SIGTERM')).code, 0)
})

/** Sends nothing, and ignores the error when the server closes it. */
function idleConnection(url: string): Socket {
  const { hostname, port } = new URL(url)
  return connect(Number(port), hostname).on('error', () => undefined)
}
