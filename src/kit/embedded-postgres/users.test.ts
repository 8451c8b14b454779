// Starts the embedded PostgreSQL as root, as an ordinary user and as a user without a name.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, chownSync, cpSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  assertGone,
  copyWithoutLinks,
  declareTests,
  hideEverything,
  isRoot,
  makeDataFolder,
  makeFolder,
  NOBODY_UID,
  ownerOf,
  query,
  runService,
  serverPid,
  startInProcess,
  startService,
  TEMPLATE,
  test,
  whyNoNamespace,
  whyUnprivilegedCannotRun,
} from '../../../test/support/embedded-postgres.ts'
import { startEmbeddedPostgres } from '../embedded-postgres.ts'
import { MACHINE } from './launcher.ts'

// A user id without a name.
const NAMELESS = 54_321

test('runs as an ordinary user with programs that only root may change and that lack their links', async (t) => {
  if (!isRoot) return t.skip('only root can start a service as another user')
  const problem = whyUnprivilegedCannotRun()
  if (problem) return t.skip(problem)
  const binariesDir = copyWithoutLinks(t)
  const dataDir = makeFolder(t, NOBODY_UID)
  const service = await startService(
    t,
    { dataDir, binariesDir },
    {},
    { uid: NOBODY_UID, gid: NOBODY_UID, cwd: '/' },
  )
  assert.equal(ownerOf(serverPid(dataDir)), NOBODY_UID)
  assert.deepEqual(await query(service.url, 'select 1 as one'), [{ one: 1 }])
  assert.equal(existsSync(join(binariesDir, 'lib', 'libpq.so.5')), false)
})

test('names the owner of a data folder that belongs to another user', async (t) => {
  if (!isRoot) return t.skip('only root can start a service as another user')
  const problem = whyUnprivilegedCannotRun()
  if (problem) return t.skip(problem)
  const dataDir = makeDataFolder(t)
  chownSync(dataDir, NOBODY_UID, NOBODY_UID)
  chownSync(join(dataDir, 'cluster'), 1, 1)
  const service = await runService(t, { dataDir }, {}, { uid: NOBODY_UID, gid: NOBODY_UID, cwd: '/' })
  assert.match(service.report.message ?? '', /belongs to user 1, and this service runs as user 65534.*chown/)
})

test('runs as a user without a name, as in some containers', async (t) => {
  if (!isRoot) return t.skip('only root can start a service as another user')
  const problem = whyUnprivilegedCannotRun() ?? whyNoNamespace()
  if (problem) return t.skip(problem)
  const dataDir = makeFolder(t, NAMELESS)
  const identity = { uid: NAMELESS, gid: NAMELESS, cwd: '/' }
  const first = await startService(t, { dataDir }, {}, identity)
  await query(first.url, 'create table kept as select 1 as one')
  process.kill(first.pid, 'SIGTERM')
  await once(first.child, 'exit')
  const second = await startService(t, { dataDir }, {}, identity)
  assert.deepEqual(await query(second.url, 'select one from kept'), [{ one: 1 }])
})

test('as root, runs the server as an unprivileged user', async (t) => {
  if (!isRoot) return t.skip('this test is about root')
  const dataDir = makeDataFolder(t)
  await startInProcess(t, { dataDir })
  assert.equal(ownerOf(serverPid(dataDir)), NOBODY_UID)
})

test('as root, reaches data in a directory that only root may enter', async (t) => {
  if (!isRoot) return t.skip('this test is about root')
  const hidden = makeFolder(t)
  chmodSync(hidden, 0o700)
  const dataDir = join(hidden, 'postgres')
  const postgres = await startInProcess(t, { dataDir })
  assert.equal(ownerOf(serverPid(dataDir)), NOBODY_UID)
  await query(postgres.url, 'create table kept as select 1 as one')
  await postgres.stop()
  const next = await startInProcess(t, { dataDir })
  assert.deepEqual(await query(next.url, 'select one from kept'), [{ one: 1 }])
})

test('as root, reaches programs and data in a directory that only root may enter', async (t) => {
  if (!isRoot) return t.skip('this test is about root')
  const problem = whyNoNamespace()
  if (problem) return t.skip(problem)
  const { dataDir, binariesDir } = hideEverything(t)
  const postgres = await startInProcess(t, { dataDir, binariesDir })
  await query(postgres.url, 'create table kept as select 1 as one')
  // On disk, and outside the user namespace, the server's user is root.
  assert.equal(statSync(join(dataDir, 'cluster')).uid, 0)
  const server = serverPid(dataDir)
  await postgres.stop()
  await assertGone([server])
})

test('as root, copies the programs to a folder that the server can reach if user namespaces are not allowed', async (t) => {
  if (!isRoot) return t.skip('this test is about root')
  const { dataDir, binariesDir } = hideEverything(t)
  const machine = { ...MACHINE, unshare: '/nowhere/unshare', copies: join(makeFolder(t), 'cowry') }
  const first = await startInProcess(t, { dataDir, binariesDir }, machine)
  assert.equal(ownerOf(serverPid(dataDir)), NOBODY_UID)
  await query(first.url, 'create table kept as select 1 as one')
  await first.stop()
  const second = await startInProcess(t, { dataDir, binariesDir }, machine)
  assert.deepEqual(await query(second.url, 'select one from kept'), [{ one: 1 }])
  assert.equal(readdirSync(machine.copies).length, 1)
})

test('as root, keeps the data of a folder when the launch strategy changes', async (t) => {
  if (!isRoot) return t.skip('this test is about root')
  const problem = whyNoNamespace()
  if (problem) return t.skip(problem)
  const { dataDir, binariesDir } = hideEverything(t)
  cpSync(TEMPLATE, dataDir, { recursive: true })
  for (const options of [{ dataDir }, { dataDir, binariesDir }, { dataDir }]) {
    const postgres = await startInProcess(t, options)
    await query(postgres.url, 'create table if not exists kept (n int)')
    await query(postgres.url, 'insert into kept values (1)')
    assert.equal(statSync(join(dataDir, 'cluster')).uid, options.binariesDir ? 0 : NOBODY_UID)
    await postgres.stop()
  }
  const last = await startInProcess(t, { dataDir })
  assert.deepEqual(await query(last.url, 'select count(*)::int as n from kept'), [{ n: 3 }])
})

test('as root, reports the strategies it tried and a remedy when none of them works', async (t) => {
  if (!isRoot) return t.skip('this test is about root')
  const { dataDir, binariesDir } = hideEverything(t)
  const occupied = join(makeFolder(t), 'occupied')
  writeFileSync(occupied, 'a file where the copies should go')
  const machine = { ...MACHINE, unshare: '/nowhere/unshare', copies: occupied }
  await assert.rejects(
    startEmbeddedPostgres({ dataDir, binariesDir }, machine),
    /Start as an ordinary user.*DATABASE_URL.*as the user nobody: .*user namespace: a program is missing/s,
  )
  assert.deepEqual(readdirSync(dataDir).sort(), ['binaries', 'server.log'])
})

declareTests('the embedded PostgreSQL under different users')
