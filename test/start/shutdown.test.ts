// Shutdown, kill, double start and restart of a service with its embedded PostgreSQL.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { descendantsOf } from '../../bench/processes.ts'
import { createApi } from '../support/api.ts'
import { initiateBody } from '../support/builders.ts'
import { type Cleanup, testDatabaseUrl } from '../support/database.ts'
import {
  awaitExit,
  eventually,
  type RunningProcess,
  runCowry,
  startProcess,
  startUntilOutput,
  tempFolder,
} from '../support/process.ts'
import { LARGER_FORM_ONLY } from '../support/scale.ts'
import { runAsAdmin } from '../support/template.ts'

// The message is for operators, so it has no stack trace.
const STACK = /\n\s+at /
const INITIATE = '/api/v1/checkout/initiate-payment'

const serve = (t: Cleanup, dataDir: string) =>
  startProcess(t, ['serve'], { PORT: '0', COWRY_DATA_DIR: dataDir })

// For resources that several tests share, in the order of their cleanup.
const cleanups: (() => Promise<void>)[] = []
const fileCleanup: Cleanup = { after: (fn) => void cleanups.unshift(fn) }
after(async () => {
  for (const ending of cleanups) await ending()
})

const apiOf = ({ facts }: RunningProcess) => createApi(facts.url, { 'x-api-key': facts.demoKey })

async function initiate(service: RunningProcess) {
  const body = initiateBody()
  const answer = await apiOf(service).post(INITIATE, body)
  assert.equal(answer.http, 201, answer.text)
  return { body, uuid: answer.body.data.uuid }
}

/** Repeats a request, which must return the record from before the shutdown. */
async function assertDataKept(service: RunningProcess, { body, uuid }: Awaited<ReturnType<typeof initiate>>) {
  const again = await apiOf(service).post(INITIATE, body)
  assert.equal(again.headers.get('idempotent-replayed'), 'true', again.text)
  assert.equal(again.body.data.uuid, uuid)
}

it('ends on a signal during the start, and leaves no process running', LARGER_FORM_ONLY, async (t) => {
  const env = { PORT: '0', COWRY_DATA_DIR: await tempFolder(t, 'early') }
  const service = await startUntilOutput(t, ['serve'], env, (output) =>
    output.includes('creating the database'),
  )
  const processes = descendantsOf(service.pid)
  assert.deepEqual(await service.kill('SIGTERM'), { code: 0, signal: null })
  await awaitExit(processes)
  assert.doesNotMatch(service.output(), /^curl/m)
})

// One for the whole file: the second start on a data folder is faster than a first one.
const dataDir = await tempFolder(fileCleanup, 'shutdown')

describe('one data folder through every kind of end', () => {
  let service: RunningProcess
  let payment: Awaited<ReturnType<typeof initiate>>

  before(async () => {
    service = await serve(fileCleanup, dataDir)
    payment = await initiate(service)
  })

  it('keeps all data when only the service is killed: its PostgreSQL stops, and the next start works', async () => {
    const processes = descendantsOf(service.pid)
    assert.ok(processes.length > 0)
    const { demoKey } = service.facts
    await service.kill('SIGKILL')
    await awaitExit(processes, 15_000)
    service = await serve(fileCleanup, dataDir)
    await assertDataKept(service, payment)
    assert.equal(service.facts.demoKey, demoKey)
  })

  it(
    'takes over the running PostgreSQL when a killed service is restarted at once',
    LARGER_FORM_ONLY,
    async () => {
      const processes = descendantsOf(service.pid)
      await service.kill('SIGKILL')
      service = await serve(fileCleanup, dataDir)
      await assertDataKept(service, payment)
      await awaitExit(processes)
    },
  )

  it('recovers with all data after all processes are killed', LARGER_FORM_ONLY, async () => {
    const processes = descendantsOf(service.pid)
    for (const pid of [service.pid, ...processes]) process.kill(pid, 'SIGKILL')
    await awaitExit(processes)
    service = await serve(fileCleanup, dataDir)
    await assertDataKept(service, payment)
  })

  it('refuses a second service on its folder, which names the owner and exits with 1', async (t) => {
    await assertRefused(t, service)
    await initiate(service)
  })

  it('serves again by itself after its PostgreSQL is killed, and keeps all data', async () => {
    const last = await initiate(service)
    const file = await readFile(join(dataDir, 'postgres/cluster/postmaster.pid'), 'utf8')
    process.kill(Number(file.split('\n')[0]), 'SIGKILL')
    const readiness = () => createApi(service.facts.url, {}).get('/readyz')
    await eventually(readiness, ({ http }) => http === 503, 20_000)
    await eventually(readiness, ({ http }) => http === 200, 60_000)
    assert.match(service.errors(), /postgres\.exited/)
    await assertDataKept(service, payment)
    await assertDataKept(service, last)
    await initiate(service)
  })

  it(
    'exits with 0 when every process gets SIGTERM, as service managers send it, and leaves no process and no lock',
    LARGER_FORM_ONLY,
    async () => {
      const processes = descendantsOf(service.pid)
      for (const pid of [service.pid, ...processes]) process.kill(pid, 'SIGTERM')
      assert.deepEqual(await service.ended, { code: 0, signal: null })
      await awaitExit(processes)
      assert.doesNotMatch(service.errors(), /ended by itself/)
      assert.deepEqual((await readdir(join(dataDir, 'postgres'))).sort(), ['cluster', 'server.log'])
    },
  )
})

async function assertRefused(t: Cleanup, owner: RunningProcess, folder = dataDir): Promise<void> {
  const { code, err } = await runCowry(t, ['serve'], { PORT: '0', COWRY_DATA_DIR: folder })
  assert.equal(code, 1)
  assert.match(err, new RegExp(`held by process ${owner.pid}\\b`))
  assert.doesNotMatch(err, STACK)
}

describe('a start that fails', () => {
  it(
    'serves from one of two parallel starts on an empty folder; the other names the owner and exits with 1',
    LARGER_FORM_ONLY,
    async (t) => {
      const folder = await tempFolder(t, 'both')
      const outcomes = await Promise.allSettled([serve(t, folder), serve(t, folder)])
      const served = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
      const refused = outcomes.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []))
      assert.equal(served.length, 1, refused.join('\n'))
      assert.match(refused[0] ?? '', /held by (process \d+|another process)/)

      const [service] = served
      assert.ok(service)
      await assertRefused(t, service, folder)
      await initiate(service)
    },
  )

  it(
    'exits with 1 on a data folder of a newer PostgreSQL, and changes nothing',
    LARGER_FORM_ONLY,
    async (t) => {
      const version = join(dataDir, 'postgres/cluster/PG_VERSION')
      const before = await readFile(version, 'utf8')
      t.after(() => writeFile(version, before))
      await writeFile(version, '19\n')
      const { code, err } = await runCowry(t, ['serve'], { PORT: '0', COWRY_DATA_DIR: dataDir })
      assert.equal(code, 1)
      assert.match(err, /made by PostgreSQL 19, which is newer than/)
      assert.match(err, /Nothing was changed/)
      assert.doesNotMatch(err, STACK)
      assert.equal(await readFile(version, 'utf8'), '19\n')
    },
  )

  it('exits with 1 on a port in use, and leaves no process running', LARGER_FORM_ONLY, async (t) => {
    const taken = createServer().listen(0, '127.0.0.1')
    t.after(() => void taken.close())
    await once(taken, 'listening')
    const address = taken.address()
    assert.ok(address && typeof address === 'object')
    const { code, err } = await runCowry(t, ['serve'], {
      PORT: String(address.port),
      COWRY_DATA_DIR: dataDir,
    })
    assert.equal(code, 1)
    assert.ok(err.includes(`127.0.0.1:${address.port}: something else listens there`), err)
    assert.doesNotMatch(err, STACK)
    assert.deepEqual((await readdir(join(dataDir, 'postgres'))).sort(), ['cluster', 'server.log'])
  })

  it('exits with 1 on a database of version 0.1.0, and says what to do', LARGER_FORM_ONLY, async (t) => {
    const databaseUrl = await testDatabaseUrl(t)
    await runAsAdmin(
      databaseUrl,
      `update schema_migrations set name = '0001_merchants.sql' where version = 1`,
    )
    const { code, err } = await runCowry(t, ['serve'], {
      PORT: '0',
      COWRY_DATA_DIR: await tempFolder(t, 'replaced'),
      DATABASE_URL: databaseUrl,
    })
    assert.equal(code, 1)
    assert.match(
      err,
      /made by version 0\.1\.0, which cannot be upgraded: set DATABASE_URL to an empty database/,
    )
    assert.doesNotMatch(err, STACK)
  })

  it('exits with 1 when no PostgreSQL is reachable at DATABASE_URL', async (t) => {
    const { code, err } = await runCowry(t, ['serve'], {
      PORT: '0',
      COWRY_DATA_DIR: await tempFolder(t, 'nowhere'),
      DATABASE_URL: 'postgres://cowry:secret-word@127.0.0.1:9/cowry',
    })
    assert.equal(code, 1)
    assert.match(err, /database/)
    assert.match(err, /ECONNREFUSED/)
    assert.doesNotMatch(err, /secret-word/)
    assert.doesNotMatch(err, STACK)
  })
})
