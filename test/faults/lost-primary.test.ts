// F-16, F-17 and F-19 at the pool: a server that stopped responding, a read-only server, a commit without its standby.
// The affected query fails once with an unknown outcome, and later queries connect to the new server at the address.

import assert from 'node:assert/strict'
import { after, afterEach, it } from 'node:test'
import { connectDb, DbUnavailable, sql, sqlStateOf } from '../../src/kit/db/db.ts'
import { testDatabaseUrl } from '../support/database.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { runAsAdmin } from '../support/template.ts'

const CONNECTIONS = 4
const ANSWER_TIMEOUT_MS = 300

const direct = await testDatabaseUrl({ after })
const proxy = await startTcpProxy({ after }, Number(new URL(direct).port))
const address = new URL(direct)
address.port = String(proxy.port)
const db = connectDb({ url: address.href, poolSize: CONNECTIONS, responseTimeoutMs: ANSWER_TIMEOUT_MS })
after(() => db.close())
afterEach(() => proxy.heal())

const selectBackend = sql<{ pid: number }>`select pg_backend_pid() as pid, pg_sleep(0.02)`
const write = sql<unknown>`create temporary table if not exists written ()`
const becomeReadOnly = sql<unknown>`select set_config('default_transaction_read_only', 'on', false), pg_sleep(0.02)`

// The warning of a server whose wait for the standby was cancelled.
const WARN = `
create function commit_unreplicated() returns void language plpgsql as $$
begin
  raise warning 'canceling wait for synchronous replication due to user request';
end
$$`
const commitUnreplicated = sql<unknown>`select commit_unreplicated()`

/** Every connection of the pool at once. */
const onAll = <Row>(statement: ReturnType<typeof sql<Row>>) =>
  Promise.all(Array.from({ length: CONNECTIONS }, () => db.query(statement)))

const backends = async () => new Set((await onAll(selectBackend)).flat().map(({ pid }) => pid))

const isUnavailable = (error: unknown) => error instanceof DbUnavailable && !error.isRolledBack

it('all connections to a silent server are dropped when one query has timed out (F-17)', async () => {
  const before = await backends()
  assert.equal(before.size, CONNECTIONS)
  proxy.blackhole()
  await assert.rejects(db.query(selectBackend), isUnavailable)
  proxy.heal()
  const afterwards = await backends()
  assert.deepEqual(
    [...afterwards].filter((pid) => before.has(pid)),
    [],
  )
})

it('a transaction without a response ends, also when it cannot be rolled back (F-15, F-17)', async () => {
  const lost = db.transaction(async (tx) => {
    await tx.query(selectBackend)
    proxy.blackhole()
    await tx.query(selectBackend)
  })
  await assert.rejects(lost, isUnavailable)
})

it('all connections to a read-only server are dropped when it has rejected one write (F-16)', async () => {
  await onAll(becomeReadOnly)
  await assert.rejects(db.query(write), (error: unknown) => {
    assert.ok(error instanceof DbUnavailable)
    return sqlStateOf(error.cause) === '25006'
  })
  await onAll(write)
})

it('a commit that was not replicated counts as unknown, though the server reports success (F-19)', async () => {
  await db.script(WARN)
  await assert.rejects(db.query(commitUnreplicated), isUnavailable)
  await assert.rejects(
    db.transaction((tx) => tx.query(commitUnreplicated)),
    isUnavailable,
  )
  await onAll(write)
})

it('a read-only server is not accepted as a primary (F-16)', async (t) => {
  // The setting affects every new connection, so this is the last test.
  await runAsAdmin(
    direct,
    `alter database ${address.pathname.slice(1)} set default_transaction_read_only = on`,
  )
  const late = connectDb({ url: address.href, poolSize: 1 })
  t.after(() => late.close())
  await assert.rejects(late.query(selectBackend), /takes no writes/)
})
