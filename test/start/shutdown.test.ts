// How a service with its private PostgreSQL ends, is killed, is started twice, and starts again.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { cp, readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { descendantsOf } from '../../bench/processes.ts'
import { createApi } from '../support/api.ts'
import { initiateBody } from '../support/builders.ts'
import { type Cleanup, testDatabaseUrl } from '../support/database.ts'
import {
  awaitExit,
  type RunningProcess,
  runCowry,
  startProcess,
  startUntilOutput,
  tempFolder,
} from '../support/process.ts'
import { runAsAdmin } from '../support/template.ts'

// What went wrong is told to a person, who has no use for our lines of code.
const STACK = /\n\s+at /
const INITIATE = '/api/v1/checkout/initiate-payment'

const serve = (t: Cleanup, dataDir: string) =>
  startProcess(t, ['serve'], { PORT: '0', COWRY_DATA_DIR: dataDir })

// For what outlives one test, in the order in which it must end.
const cleanups: (() => Promise<void>)[] = []
const fileCleanup: Cleanup = { after: (fn) => void cleanups.unshift(fn) }
after(async () => {
  for (const ending of cleanups) await ending()
})

// Made once: a start on a copy of it is a second start, and quicker than a first.
const template = await tempFolder(fileCleanup, 'template')
const made = await serve(fileCleanup, template)
await made.kill('SIGTERM')

async function dataFolder(t: Cleanup): Promise<string> {
  const folder = await tempFolder(t, 'cleanups')
  await cp(template, folder, { recursive: true, preserveTimestamps: true })
  return folder
}

const apiOf = ({ facts }: RunningProcess) => createApi(facts.url, { 'x-api-key': facts.demoKey })

async function initiate(service: RunningProcess) {
  const body = initiateBody()
  const answer = await apiOf(service).post(INITIATE, body)
  assert.equal(answer.http, 201, answer.text)
  return { body, uuid: answer.body.data.uuid }
}

/** The same request again answers the record that was made before the end. */
async function assertDataKept(service: RunningProcess, { body, uuid }: Awaited<ReturnType<typeof initiate>>) {
  const again = await apiOf(service).post(INITIATE, body)
  assert.equal(again.headers.get('idempotent-replayed'), 'true', again.text)
  assert.equal(again.body.data.uuid, uuid)
}

it('asked to end while it starts: ends all the same, and leaves nothing running', async (t) => {
  const env = { PORT: '0', COWRY_DATA_DIR: await tempFolder(t, 'early') }
  const service = await startUntilOutput(t, ['serve'], env, (output) =>
    output.includes('creating the database'),
  )
  const processes = descendantsOf(service.pid)
  assert.deepEqual(await service.kill('SIGTERM'), { code: 0, signal: null })
  await awaitExit(processes)
  assert.doesNotMatch(service.output(), /^curl/m)
})

describe('one data folder through all ends', () => {
  let dataDir: string
  let service: RunningProcess
  let payment: Awaited<ReturnType<typeof initiate>>

  before(async () => {
    dataDir = await dataFolder(fileCleanup)
    service = await serve(fileCleanup, dataDir)
    payment = await initiate(service)
  })

  it('killed alone: its PostgreSQL ends by itself, and the next start keeps everything', async () => {
    const processes = descendantsOf(service.pid)
    assert.ok(processes.length > 0)
    await service.kill('SIGKILL')
    await awaitExit(processes, 15_000)
    service = await serve(fileCleanup, dataDir)
    await assertDataKept(service, payment)
  })

  it('killed alone and started again at once: takes over, and keeps everything', async () => {
    const processes = descendantsOf(service.pid)
    await service.kill('SIGKILL')
    service = await serve(fileCleanup, dataDir)
    await assertDataKept(service, payment)
    await awaitExit(processes)
  })

  it('killed with everything: recovers, and keeps everything', async () => {
    const processes = descendantsOf(service.pid)
    for (const pid of [service.pid, ...processes]) process.kill(pid, 'SIGKILL')
    await awaitExit(processes)
    service = await serve(fileCleanup, dataDir)
    await assertDataKept(service, payment)
  })

  it('its PostgreSQL killed: says so and exits with 1, and the next start keeps everything', async () => {
    const file = await readFile(join(dataDir, 'postgres/cluster/postmaster.pid'), 'utf8')
    process.kill(Number(file.split('\n')[0]), 'SIGKILL')
    assert.deepEqual(await service.ended, { code: 1, signal: null })
    assert.match(service.errors(), /postgres\.exited/)
    service = await serve(fileCleanup, dataDir)
    await assertDataKept(service, payment)
  })

  it('SIGTERM to every process at once, as service managers do: exits with 0, leaves nothing running and no lock', async () => {
    const processes = descendantsOf(service.pid)
    for (const pid of [service.pid, ...processes]) process.kill(pid, 'SIGTERM')
    assert.deepEqual(await service.ended, { code: 0, signal: null })
    await awaitExit(processes)
    assert.doesNotMatch(service.errors(), /ended by itself/)
    assert.deepEqual((await readdir(join(dataDir, 'postgres'))).sort(), ['cluster', 'server.log'])
  })
})

describe('a start that cannot be', () => {
  it('two at once on an empty folder: one serves, the other says who holds it and exits with 1', async (t) => {
    const dataDir = await tempFolder(t, 'both')
    const outcomes = await Promise.allSettled([serve(t, dataDir), serve(t, dataDir)])
    const served = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    const refused = outcomes.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []))
    assert.equal(served.length, 1, refused.join('\n'))
    assert.match(refused[0] ?? '', /held by (process \d+|another process)/)

    const [service] = served
    assert.ok(service)
    const third = await runCowry(t, ['serve'], { PORT: '0', COWRY_DATA_DIR: dataDir })
    assert.equal(third.code, 1)
    assert.match(third.err, new RegExp(`held by process ${service.pid}\\b`))
    assert.doesNotMatch(third.err, STACK)
    await initiate(service)
  })

  it('on a folder of a newer PostgreSQL: says so, exits with 1, and changes nothing', async (t) => {
    const dataDir = await dataFolder(t)
    const version = join(dataDir, 'postgres/cluster/PG_VERSION')
    await writeFile(version, '19\n')
    const { code, err } = await runCowry(t, ['serve'], { PORT: '0', COWRY_DATA_DIR: dataDir })
    assert.equal(code, 1)
    assert.match(err, /made by PostgreSQL 19, which is newer than/)
    assert.match(err, /Nothing was changed/)
    assert.doesNotMatch(err, STACK)
    assert.equal(await readFile(version, 'utf8'), '19\n')
  })

  it('on a port that is taken: says so, exits with 1, and leaves nothing running', async (t) => {
    const taken = createServer().listen(0, '127.0.0.1')
    t.after(() => void taken.close())
    await once(taken, 'listening')
    const address = taken.address()
    assert.ok(address && typeof address === 'object')
    const dataDir = await dataFolder(t)
    const { code, err } = await runCowry(t, ['serve'], {
      PORT: String(address.port),
      COWRY_DATA_DIR: dataDir,
    })
    assert.equal(code, 1)
    assert.ok(err.includes(`127.0.0.1:${address.port}: something else listens there`), err)
    assert.doesNotMatch(err, STACK)
    assert.deepEqual((await readdir(join(dataDir, 'postgres'))).sort(), ['cluster', 'server.log'])
  })

  it('on a database of version 0.1.0: says what to do, and exits with 1', async (t) => {
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
    assert.match(err, /made by an earlier version, .* set DATABASE_URL to an empty database/)
    assert.doesNotMatch(err, STACK)
  })

  it('without a PostgreSQL at DATABASE_URL: says so and exits with 1', async (t) => {
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
