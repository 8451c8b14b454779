// The lifecycle of the embedded PostgreSQL: starts, stops, crashes, and error messages.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { descendantsOf, isRunning, parentOf } from '../../bench/processes.ts'
import {
  assertGone,
  copyWithoutLinks,
  declareTests,
  endWithTest,
  isRoot,
  makeDataFolder,
  makeFolder,
  measureKilobytes,
  onLinux,
  openConnection,
  query,
  type Report,
  readLine,
  runService,
  SERVICE,
  serverPid,
  spawnService,
  startInProcess,
  startService,
  test,
  waitUntil,
} from '../../test/support/embedded-postgres.ts'
import { findPostgresBinaries } from './embedded-postgres/binaries.ts'
import { DataFolderLocked } from './embedded-postgres/folder-lock.ts'
import { MACHINE } from './embedded-postgres/launcher.ts'
import { findRunningPostgres, startEmbeddedPostgres } from './embedded-postgres.ts'

const LOCK = new URL('./embedded-postgres/folder-lock.ts', import.meta.url).href

test('creates a UTF-8 database with durable commits that accepts only loopback connections with its password', async (t) => {
  const dataDir = join(makeFolder(t), 'deep', 'postgres')
  const postgres = await startInProcess(t, { dataDir })

  assert.match(postgres.version, /^18\./)
  const [settings] = await query(
    postgres.url,
    `select current_database() as database, current_setting('server_encoding') as encoding,
       current_setting('fsync') as fsync, current_setting('full_page_writes') as pages,
       current_setting('synchronous_commit') as commits, current_setting('listen_addresses') as address,
       current_setting('unix_socket_directories') as sockets, current_setting('data_checksums') as checksums`,
  )
  assert.deepEqual(settings, {
    database: 'cowry',
    encoding: 'UTF8',
    fsync: 'on',
    pages: 'on',
    commits: 'on',
    address: '127.0.0.1',
    sockets: '',
    checksums: 'on',
  })
  assert.equal(statSync(join(dataDir, 'cluster', 'cowry-password')).mode & 0o777, 0o600)
  await assert.rejects(query(postgres.url.replace(/:[^:@]+@/, ':wrong@'), 'select 1'), { code: '28P01' })
  if (!onLinux) return
  // Every address of 127.0.0.0/8 is this machine on Linux; a server that listened everywhere would answer here.
  const [error] = await once(connect(postgres.port, '127.0.0.2'), 'error')
  assert.equal(error.code, 'ECONNREFUSED')
})

test('keeps the data over a restart, and the restart is fast', async (t) => {
  const dataDir = makeDataFolder(t)
  const first = await startInProcess(t, { dataDir })
  await query(first.url, 'create table kept (word text)')
  await query(first.url, `insert into kept values ('cowry ክፍያ')`)
  await first.stop()

  const startedAt = performance.now()
  const second = await startInProcess(t, { dataDir })
  const tookMs = performance.now() - startedAt
  assert.deepEqual(await query(second.url, 'select word from kept'), [{ word: 'cowry ክፍያ' }])
  t.diagnostic(`second start: ${tookMs.toFixed(0)} ms`)
  // Measured 70 ms; the margin is for a noisy machine.
  assert.ok(tookMs < 5_000, `${tookMs} ms`)
})

test('leaves no process and no lock behind when it is stopped, even twice', async (t) => {
  const dataDir = makeDataFolder(t)
  const postgres = await startInProcess(t, { dataDir })
  const client = await openConnection(t, postgres.url)
  const supervisor = parentOf(serverPid(dataDir))
  const processes = [supervisor, ...descendantsOf(supervisor)]

  await Promise.all([postgres.stop(), postgres.stop()])
  await postgres.stop()
  await assertGone(processes)
  assert.deepEqual(readdirSync(dataDir).sort(), ['cluster', 'server.log'])
  assert.equal(existsSync(join(dataDir, 'cluster', 'postmaster.pid')), false)
  await client.end()
})

test('stops when its service is killed, and an immediate restart succeeds', async (t) => {
  const dataDir = makeDataFolder(t)
  const service = await startService(t, { dataDir })
  await query(service.url, 'create table kept as select 1 as one')
  const processes = descendantsOf(service.pid)

  process.kill(service.pid, 'SIGKILL')
  const next = await startInProcess(t, { dataDir })
  assert.deepEqual(await query(next.url, 'select one from kept'), [{ one: 1 }])
  await assertGone(processes)
})

test('stops when its service is killed, also without a restart', async (t) => {
  const dataDir = makeDataFolder(t)
  const service = await startService(t, { dataDir })
  const processes = descendantsOf(service.pid)
  process.kill(service.pid, 'SIGKILL')
  await assertGone(processes)
  assert.match(readFileSync(join(dataDir, 'server.log'), 'utf8'), /database system is shut down/)
})

test('recovers after service, supervisor and server were killed at once', async (t) => {
  const dataDir = makeDataFolder(t)
  const service = await startService(t, { dataDir })
  const client = await openConnection(t, service.url)
  await client.query('create table kept as select 1 as one')
  for (const pid of [...descendantsOf(service.pid), service.pid]) process.kill(pid, 'SIGKILL')
  assert.equal(existsSync(join(dataDir, 'cluster', 'postmaster.pid')), true)
  assert.equal(existsSync(join(dataDir, 'lock')), true)

  const next = await startInProcess(t, { dataDir })
  assert.deepEqual(await query(next.url, 'select one from kept'), [{ one: 1 }])
})

test('stops an orphaned server whose service and supervisor were both killed', async (t) => {
  const dataDir = makeDataFolder(t)
  const service = await startService(t, { dataDir })
  const server = serverPid(dataDir)
  const ofServer = descendantsOf(server)
  const supervisors = descendantsOf(service.pid).filter((pid) => pid !== server && !ofServer.includes(pid))
  for (const pid of [...supervisors, service.pid]) process.kill(pid, 'SIGKILL')
  await delay(100)
  assert.ok(isRunning(server), 'the server should have been orphaned')

  await startInProcess(t, { dataDir })
  await assertGone([server, ...ofServer])
})

test('starts although a stale process id now belongs to another program', async (t) => {
  const dataDir = makeDataFolder(t)
  const service = await startService(t, { dataDir })
  const pidFile = join(dataDir, 'cluster', 'postmaster.pid')
  for (const pid of [...descendantsOf(service.pid), service.pid]) process.kill(pid, 'SIGKILL')
  writeFileSync(pidFile, readFileSync(pidFile, 'utf8').replace(/^\d+/, String(process.pid)))
  writeFileSync(
    join(dataDir, 'holder.json'),
    JSON.stringify({ pid: process.pid, host: hostname(), since: 'long ago' }),
  )

  const next = await startInProcess(t, { dataDir })
  assert.deepEqual(await query(next.url, 'select 1 as one'), [{ one: 1 }])
})

test('starts again in a container, where process ids are the same at every start', async (t) => {
  if (!isRoot || !onLinux) return t.skip('only root on Linux can make a process namespace')
  const dataDir = makeDataFolder(t)
  const container = ['--pid', '--fork', '--mount-proc', '--kill-child']
  if (spawnSync(MACHINE.unshare, [...container, 'true']).status !== 0) {
    return t.skip('this system does not allow process namespaces')
  }
  for (let round = 1; round <= 3; round += 1) {
    const input = JSON.stringify({ options: { dataDir } })
    const args = [...container, process.execPath, '--input-type=module', '-e', SERVICE, input]
    const child = spawn(MACHINE.unshare, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    endWithTest(t, child)
    const report: Report = JSON.parse(await readLine(child))
    assert.ok(report.url, report.message)
    assert.deepEqual(await query(report.url, 'select 1 as one'), [{ one: 1 }])
    const processes = descendantsOf(child.pid ?? 0)
    child.kill('SIGKILL')
    await assertGone(processes)
  }
})

test('gives the folder to exactly one of several concurrent services, and the others report its process', async (t) => {
  const dataDir = makeFolder(t)
  const at = Date.now() + 700
  const services = await Promise.all([1, 2, 3].map(() => runService(t, { dataDir }, { at })))
  const winners = services.filter((service) => service.report.url)
  const losers = services.filter((service) => !service.report.url)

  assert.equal(winners.length, 1, JSON.stringify(services.map((service) => service.report)))
  for (const { report } of losers) assert.equal(report.name, 'DataFolderLocked', report.message)

  const winner = winners[0]
  await assert.rejects(startEmbeddedPostgres({ dataDir }), (error) => {
    assert.ok(error instanceof DataFolderLocked)
    assert.equal(error.holder?.pid, winner?.pid)
    assert.match(
      error.message,
      new RegExp(`held by process ${winner?.pid} on .*, since 20\\d\\d-.*Stop that process`),
    )
    return true
  })
})

test('gives the lock of a folder to one process at a time under contention', async (t) => {
  const folder = makeFolder(t)
  const racers = [1, 2, 3, 4].map(() => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', RACER, folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    endWithTest(t, child)
    return readLine(child)
  })
  const results = (await Promise.all(racers)).map((line) => JSON.parse(line))
  const held = results.reduce((sum, result) => sum + result.held, 0)
  assert.equal(
    results.reduce((sum, result) => sum + result.shared, 0),
    0,
    JSON.stringify(results),
  )
  t.diagnostic(`held ${held} times`)
  assert.ok(held > 20, `held ${held} times`)
  assert.deepEqual(readdirSync(folder), [])
})

const RACER = `
import { closeSync, openSync, rmSync } from 'node:fs'
import { DataFolderLocked, tryLockFolder } from ${JSON.stringify(LOCK)}
const folder = process.argv[1]
const result = { held: 0, refused: 0, shared: 0 }
const until = Date.now() + 250
// On a busy machine it may not run for most of this time.
while (Date.now() < until || result.held < 6) {
  try {
    const lock = tryLockFolder(folder)
    result.held += 1
    try { closeSync(openSync(folder + '/inside', 'wx')); rmSync(folder + '/inside') } catch { result.shared += 1 }
    lock.release()
  } catch (error) {
    if (!(error instanceof DataFolderLocked)) throw error
    result.refused += 1
  }
}
console.log(JSON.stringify(result))
`

test('refuses a second start in the same process, and the first server keeps running', async (t) => {
  const dataDir = makeDataFolder(t)
  const postgres = await startInProcess(t, { dataDir })
  await assert.rejects(startEmbeddedPostgres({ dataDir }), DataFolderLocked)
  assert.deepEqual(await query(postgres.url, 'select 1 as one'), [{ one: 1 }])
})

test('returns the URL of the running database to a command beside the service', async (t) => {
  const dataDir = makeDataFolder(t)
  assert.equal(findRunningPostgres(dataDir), undefined)
  const service = await startService(t, { dataDir })
  assert.equal(findRunningPostgres(dataDir), service.url)
  const processes = descendantsOf(service.pid)
  service.child.kill('SIGKILL')
  await once(service.child, 'exit')
  assert.equal(findRunningPostgres(dataDir), undefined)
  await assertGone(processes)
})

test('runs on PostgreSQL 15 and refuses the folder of another major version', async (t) => {
  const binariesDir = findPostgresBinaries(15)
  if (!binariesDir) return t.skip('the package with PostgreSQL 15 is not installed for this platform')
  const dataDir = makeFolder(t)
  const postgres = await startInProcess(t, { dataDir, binariesDir })
  assert.match(postgres.version, /^15\./)
  assert.deepEqual(await query(postgres.url, `select current_setting('server_encoding') as e`), [
    { e: 'UTF8' },
  ])
  await postgres.stop()

  await assert.rejects(
    startEmbeddedPostgres({ dataDir }),
    /made by PostgreSQL 15, which is older than the PostgreSQL 18/,
  )
  writeFileSync(join(dataDir, 'cluster', 'PG_VERSION'), '19\n')
  await assert.rejects(
    startEmbeddedPostgres({ dataDir }),
    /made by PostgreSQL 19, which is newer than the PostgreSQL 18/,
  )
  assert.equal(existsSync(join(dataDir, 'lock')), false)
})

test('starts after an initdb that was killed half way', async (t) => {
  const dataDir = makeFolder(t)
  // Early, in the middle and late in initdb, which takes about 600 ms.
  for (const afterMs of [30, 200, 450]) {
    const child = spawnService({ dataDir }, {})
    endWithTest(t, child)
    await waitUntil(() => readdirSync(dataDir).some((name) => name.startsWith('new-')), 'initdb begins')
    await delay(afterMs)
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  const postgres = await startInProcess(t, { dataDir })
  assert.deepEqual(await query(postgres.url, 'select 1 as one'), [{ one: 1 }])
})

test('keeps running after Ctrl-C until the service has drained', async (t) => {
  const dataDir = makeDataFolder(t)
  const service = await startService(t, { dataDir }, {}, { detached: true })
  const processes = descendantsOf(service.pid)
  // A terminal sends the signal to the whole process group.
  process.kill(-service.pid, 'SIGINT')
  assert.equal(await readLine(service.child), 'drained 10')
  await assertGone([...processes, service.pid])
  assert.equal(existsSync(join(dataDir, 'lock')), false)
})

test('starts a server that dies again on the same port, as soon as it can start', async (t) => {
  const dataDir = makeDataFolder(t)
  const reasons: string[] = []
  let restarts = 0
  const postgres = await startInProcess(t, {
    dataDir,
    onExit: (reason) => reasons.push(reason),
    onRestart: () => {
      restarts += 1
    },
  })
  await query(postgres.url, 'create table kept as select 1 as one')
  const wal = join(dataDir, 'cluster', 'pg_wal')
  renameSync(wal, `${wal}.away`)
  process.kill(serverPid(dataDir), 'SIGKILL')
  await waitUntil(() => reasons.length > 1, 'a start has failed, as on a full disk')
  renameSync(`${wal}.away`, wal)
  await waitUntil(() => restarts === 1, 'it runs again')
  await query(postgres.url, 'select one from kept')
  assert.match(
    reasons[0] ?? '',
    /The database server has exited: it was killed by signal 9\..*\n.*server\.log/,
  )

  await postgres.stop()
  assert.equal(restarts, 1)
  assert.equal(existsSync(join(dataDir, 'lock')), false)
  await startInProcess(t, { dataDir })
})

test('reports a killed supervisor, and stop during the restart still ends the server', async (t) => {
  const dataDir = makeDataFolder(t)
  const reasons: string[] = []
  const postgres = await startInProcess(t, { dataDir, onExit: (reason) => reasons.push(reason) })
  const server = serverPid(dataDir)
  process.kill(parentOf(server), 'SIGKILL')
  await waitUntil(() => reasons.length > 0, 'onExit is called')
  await postgres.stop()
  await assertGone([server])
})

test('shows the last log lines of a server that does not start', async (t) => {
  const dataDir = makeDataFolder(t)
  appendFileSync(join(dataDir, 'cluster', 'postgresql.conf'), '\nno_such_setting = 1\n')
  await assert.rejects(startEmbeddedPostgres({ dataDir }), /did not start.*server\.log:\n.*no_such_setting/s)
  assert.equal(existsSync(join(dataDir, 'lock')), false)
})

test('limits the size of the server log', async (t) => {
  const dataDir = makeDataFolder(t)
  const log = join(dataDir, 'server.log')
  writeFileSync(log, 'an old line\n'.repeat(500_000))
  await startInProcess(t, { dataDir })
  assert.ok(statSync(log).size < 10_000)
  assert.match(readFileSync(log, 'utf8'), /^[^\n]* starting PostgreSQL/)
  assert.ok(statSync(`${log}.1`).size > 5_000_000)
})

test('writes no values of rows to the server log', async (t) => {
  const dataDir = makeDataFolder(t)
  const postgres = await startInProcess(t, { dataDir })
  await query(postgres.url, 'create table customers (email text primary key)')
  await query(postgres.url, `insert into customers values ('ada@example.com')`)
  await assert.rejects(query(postgres.url, `insert into customers values ('ada@example.com')`), {
    code: '23505',
  })
  const log = readFileSync(join(dataDir, 'server.log'), 'utf8')
  assert.match(log, /duplicate key value/)
  assert.doesNotMatch(log, /ada@example/)
})

test('reports a missing shell', async (t) => {
  const without = { ...MACHINE, shell: '/nowhere/sh' }
  await assert.rejects(
    startEmbeddedPostgres({ dataDir: makeFolder(t) }, without),
    /needs \/nowhere\/sh.*DATABASE_URL/,
  )
})

test('reports a data folder that cannot be created', async (t) => {
  if (!onLinux) return t.skip('there is no /proc')
  await assert.rejects(
    startEmbeddedPostgres({ dataDir: '/proc/nowhere/data' }),
    /cannot be created\. Choose one/,
  )
})

test('creates the symbolic links that npm dropped, also when several services do so at once', async (t) => {
  const binariesDir = copyWithoutLinks(t)
  const services = await Promise.all(
    [1, 2, 3].map(() => runService(t, { dataDir: makeDataFolder(t), binariesDir }, { at: Date.now() + 700 })),
  )
  for (const { report } of services) assert.ok(report.url, report.message)
  if (onLinux) assert.ok(lstatSync(join(binariesDir, 'lib', 'libpq.so.5')).isSymbolicLink())
})

test('needs little memory when idle', async (t) => {
  if (!onLinux) return t.skip('memory is measured through /proc')
  const dataDir = makeDataFolder(t)
  await startInProcess(t, { dataDir })
  const server = serverPid(dataDir)
  const kilobytes = [server, ...descendantsOf(server)].map(measureKilobytes)
  const megabytes = kilobytes.reduce((sum, size) => sum + size, 0) / 1024
  t.diagnostic(`idle server: ${megabytes.toFixed(0)} MB`)
  // Measured 22 MB; the limit for service and server together is 230 MB.
  assert.ok(megabytes < 80, `${megabytes} MB`)
})

declareTests('the embedded PostgreSQL')
