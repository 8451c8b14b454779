// F-24: the disk of the database is full. Writes fail with 503 temporarily_unavailable, reads continue where PostgreSQL
// does, and once there is space again, all acknowledged data is there.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { startEmbeddedPostgres } from '../../src/kit/embedded-postgres.ts'
import { initiateBody } from '../support/builders.ts'
import type { Cleanup } from '../support/database.ts'
import { eventually } from '../support/process.ts'
import { testService } from '../support/service.ts'

const INITIATE = '/api/v1/checkout/initiate-payment'
const MOST_REQUESTS = 20_000
const CLIENTS = 16

/** An empty disk of this size, or undefined when this machine permits no mounts. */
async function smallDisk(t: Cleanup, megabytes: number): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'cowry-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0755`, 'tmpfs', folder], {
      stdio: 'ignore',
    })
  } catch {
    await rm(folder, { recursive: true })
    return undefined
  }
  t.after(async () => {
    execFileSync('umount', [folder])
    await rm(folder, { recursive: true })
  })
  return folder
}

/** Fills the disk, and returns a function that frees the space. */
async function fill(folder: string): Promise<() => Promise<void>> {
  const path = join(folder, 'ballast')
  const file = await open(path, 'w')
  const block = Buffer.alloc(65_536, 1)
  try {
    for (;;) await file.write(block)
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC')
  } finally {
    await file.close()
  }
  return () => rm(path)
}

it('rejects writes on a full disk, loses no acknowledged data, and recovers when there is space (F-24)', async (t) => {
  const rest: (() => Promise<void>)[] = []
  const ending: Cleanup = { after: (fn) => void rest.unshift(fn) }
  t.after(async () => {
    for (const end of rest) await end()
  })
  const disk = await smallDisk(ending, 200)
  if (!disk) return t.skip('only root can mount a small disk, and not everywhere')
  const postgres = await startEmbeddedPostgres({ dataDir: join(disk, 'postgres') })
  ending.after(() => postgres.stop())
  const service = await testService(ending, {
    databaseUrl: postgres.url,
    role: 'api',
    env: { COWRY_RATE_LIMIT: '0' },
  })

  const acknowledged: { uuid: string; reference: string }[] = []
  const refused = new Set<string>()
  const send = async () => {
    const answer = await service.api.post(INITIATE, {
      ...initiateBody(),
      metadata: { note: 'x'.repeat(400) },
    })
    if (answer.http === 201) acknowledged.push(answer.body.data)
    else refused.add(`${answer.http} ${answer.body.error?.code}`)
    return answer
  }
  const read = (reference: string) =>
    service.api.get(`/api/v1/checkout/verify-payment?reference=${reference}`)

  const { body: first } = await send()
  const giveBack = await fill(disk)
  let sent = 0
  const client = async () => {
    while (refused.size === 0 && sent < MOST_REQUESTS) {
      sent += 1
      await send()
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  assert.deepEqual([...refused], ['503 temporarily_unavailable'])
  assert.equal((await read(first.data.reference)).http, 200, 'existing records can be read')

  await giveBack()
  await eventually(send, ({ http }) => http === 201, 30_000)
  for (const { uuid, reference } of acknowledged) {
    const { http, body } = await read(reference)
    assert.deepEqual([http, body.data?.uuid], [200, uuid])
  }
})

it('serves again by itself when its PostgreSQL has exited on a full disk and there is space again (F-24)', async (t) => {
  const rest: (() => Promise<void>)[] = []
  const ending: Cleanup = { after: (fn) => void rest.unshift(fn) }
  t.after(async () => {
    for (const end of rest) await end()
  })
  const disk = await smallDisk(ending, 200)
  if (!disk) return t.skip('only root can mount a small disk, and not everywhere')
  const reasons: string[] = []
  const onExit = (reason: string) => void reasons.push(reason)
  const postgres = await startEmbeddedPostgres({ dataDir: join(disk, 'postgres'), onExit })
  ending.after(() => postgres.stop())
  const service = await testService(ending, { databaseUrl: postgres.url, role: 'api' })
  const send = (body = initiateBody()) => service.api.post(INITIATE, body)
  const body = initiateBody()
  assert.equal((await send(body)).http, 201)

  const giveBack = await fill(disk)
  // Each switch needs another file of WAL. Without space for it the server exits, and cannot recover.
  for (let switches = 0; reasons.length === 0 && switches < 200; switches += 1)
    await service.db
      .script("select pg_logical_emit_message(false, 'full', 'disk'); select pg_switch_wal()")
      .catch(() => undefined)
  await eventually(
    () => reasons.length,
    (count) => count > 1,
    60_000,
  )
  assert.match(reasons.join('\n'), /The disk is full/)
  assert.doesNotMatch(reasons.join('\n'), /some data is corrupted/)
  assert.equal((await send()).http, 503)

  await giveBack()
  await eventually(
    () => send(),
    ({ http }) => http === 201,
    60_000,
  )
  const again = await send(body)
  assert.equal(again.headers.get('idempotent-replayed'), 'true', again.text)
})
