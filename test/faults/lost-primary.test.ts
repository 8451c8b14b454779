// F-16, F-17 and F-19 at the pool: a server that went silent, one that only reads, one that is alone with a commit. Whoever is
// hit hears that nobody knows, once, and everybody after that speaks with whatever stands at the address by then.

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

// What a server says whose wait for the standby was cancelled.
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

it('a server that goes silent is left by everybody when one has waited in vain (F-17)', async () => {
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

it('a transaction that goes unanswered ends, also when nothing can be rolled back (F-15, F-17)', async () => {
  const lost = db.transaction(async (tx) => {
    await tx.query(selectBackend)
    proxy.blackhole()
    await tx.query(selectBackend)
  })
  await assert.rejects(lost, isUnavailable)
})

it('a server that only reads is left by everybody when one was refused (F-16)', async () => {
  await onAll(becomeReadOnly)
  await assert.rejects(db.query(write), (error: unknown) => {
    assert.ok(error instanceof DbUnavailable)
    return sqlStateOf(error.cause) === '25006'
  })
  await onAll(write)
})

it('a commit that was not replicated counts as unknown, though the server says that it succeeded (F-19)', async () => {
  await db.script(WARN)
  await assert.rejects(db.query(commitUnreplicated), isUnavailable)
  await assert.rejects(
    db.transaction((tx) => tx.query(commitUnreplicated)),
    isUnavailable,
  )
  await onAll(write)
})

it('a server that only reads is not taken for a primary (F-16)', async (t) => {
  // For every connection from now on, so this is the last test.
  await runAsAdmin(
    direct,
    `alter database ${address.pathname.slice(1)} set default_transaction_read_only = on`,
  )
  const late = connectDb({ url: address.href, poolSize: 1 })
  t.after(() => late.close())
  await assert.rejects(late.query(selectBackend), /takes no writes/)
})
