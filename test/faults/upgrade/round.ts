// One upgrade under load: PostgreSQL 15 with a history of payments, the service, its provider and sixteen clients; PostgreSQL 18
// gets everything by logical replication and takes over.

import assert from 'node:assert/strict'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { makeRows } from '../../../bench/growth-rows.ts'
import { connectDb } from '../../../src/kit/db/db.ts'
import { findPostgresBinaries } from '../../../src/kit/embedded-postgres/binaries.ts'
import { startEmbeddedPostgres } from '../../../src/kit/embedded-postgres.ts'
import { createApi } from '../../support/api.ts'
import type { Cleanup } from '../../support/database.ts'
import { findFreePort, SANDBOX_SECRET } from '../../support/deployment.ts'
import { type RunningProcess, startProcess, tempFolder } from '../../support/process.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'
import { makeClients, startLoad } from '../failover/load.ts'
import { compare, countLost, untilResumed } from '../failover/round.ts'
import { complete, refuseWrites, replicate, runSql } from './replication.ts'

/** For a test that runs both. */
export const BOTH_VERSIONS = {
  skip: findPostgresBinaries(15) ? false : 'there is no PostgreSQL 15 for this platform',
}

/** How the service gets to the new server: it is stopped and started with another URL, or its address leads there. */
export type Way = 'restart' | 'address'

export interface UpgradeOptions {
  payments: number
  way: Way
  /** How long the load runs before the copy begins, and after the switch. */
  loadMs: number
  onStep(text: string): void
}

export interface UpgradeReport {
  way: Way
  payments: number
  acknowledged: number
  /** Acknowledged, or in the old database, but not in the new one. */
  lost: number
  /** How long no write was taken, and what that was spent on. */
  waited: Waited
  /** The longest time in which no client got an acknowledgement. */
  longestGapMs: number
  unanswered: number
  copiedInMs: number
  violations: string[]
}

interface Waited {
  /** The service ends, if it is restarted. */
  stopMs: number
  /** The old server refuses writes, and the new one receives the last of them. */
  receiveMs: number
  /** The old server stops, and the service works on the new one. */
  startMs: number
}

export async function runUpgrade(options: UpgradeOptions): Promise<UpgradeReport> {
  const ends: (() => Promise<void>)[] = []
  try {
    return await upgrade({ after: (end) => void ends.push(end) }, options)
  } finally {
    for (const end of ends.toReversed()) await end()
  }
}

async function upgrade(
  t: Cleanup,
  { payments, way, loadMs, onStep }: UpgradeOptions,
): Promise<UpgradeReport> {
  const folder = await tempFolder(t, 'upgrade')
  // As root the servers run as another user, who needs to traverse their folders.
  chmodSync(folder, 0o711)
  onStep('start PostgreSQL 15 and 18')
  const older = await startServer(t, folder, 15)
  const newer = await withPasswordOf(older, await startServer(t, folder, 18))
  const deployment = await startDeployment(t, older.url, way)
  await deployment.migrateOnly(newer.url)
  onStep(`write ${payments} payments`)
  await fill(older.url, payments)
  const since = new Date()
  const service = await deployment.start(deployment.address)
  const api = createApi(service.facts.url, { 'x-api-key': service.facts.demoKey })
  const load = startLoad(api, await makeClients(api))
  await delay(loadMs)
  const copyingSince = performance.now()
  await replicate(older.url, newer.url, (tables) => onStep(`copy: ${tables} tables left`))
  const copiedInMs = performance.now() - copyingSince
  onStep('switch')
  const waited = await switchOver({ older, newer, service, deployment, way })
  await untilResumed(load)
  await delay(loadMs)
  await load.stop(30_000)
  onStep('compare')
  const db = connectDb({ url: newer.url, poolSize: 2 })
  t.after(() => db.close())
  const before = (await older.readPayments()).map((uuid) => ({ uuid, status: 'any' }))
  return {
    way,
    payments,
    acknowledged: load.acknowledged.length,
    lost: (await countLost(db, load.acknowledged)) + (await countLost(db, before)),
    waited,
    longestGapMs: Math.round(load.longestGapMs()),
    unanswered: load.unanswered(),
    copiedInMs: Math.round(copiedInMs),
    violations: [...load.unexpected, ...(await compare(db, deployment.journal, since))],
  }
}

interface Switch {
  older: Server
  newer: Server
  service: RunningProcess
  deployment: Deployment
  way: Way
}

async function switchOver({ older, newer, service, deployment, way }: Switch): Promise<Waited> {
  const stopMs = await timed(async () => {
    if (way === 'restart') await service.kill('SIGTERM')
  })
  const receiveMs = await timed(async () => {
    await refuseWrites(older.url)
    await complete(older.url, newer.url)
  })
  await assertReadOnly(older.url)
  const startMs = await timed(async () => {
    // What still leads to the old server must not read from it.
    await older.stop()
    deployment.leadTo(newer)
    if (way === 'restart') await deployment.start(newer.url)
  })
  return { stopMs, receiveMs, startMs }
}

async function timed(work: () => Promise<void>): Promise<number> {
  const since = performance.now()
  await work()
  return Math.round(performance.now() - since)
}

async function assertReadOnly(url: string): Promise<void> {
  await assert.rejects(runSql(url, 'create table written_by_the_old_server ()'), /read-only transaction/)
}

interface Server {
  url: string
  port: number
  stop(): Promise<void>
  /** Starts the server again if it was stopped. */
  readPayments(): Promise<string[]>
}

async function startServer(t: Cleanup, folder: string, major: 15 | 18): Promise<Server> {
  const binariesDir = findPostgresBinaries(major)
  assert.ok(binariesDir, `there is no PostgreSQL ${major} for this platform in node_modules`)
  const settings = { wal_level: 'logical', max_logical_replication_workers: '4' }
  const start = () =>
    startEmbeddedPostgres({ dataDir: join(folder, `postgres-${major}`), binariesDir, settings })
  let server = await start()
  t.after(() => server.stop())
  const { url, port } = server
  return {
    url,
    port,
    stop: () => server.stop(),
    async readPayments() {
      await server.stop()
      server = await start()
      return (await runSql<{ id: string }>(server.url, 'select id from payments')).map(({ id }) => id)
    },
  }
}

/** An address that leads from one to the other needs the same credentials for both. */
async function withPasswordOf(older: Server, newer: Server): Promise<Server> {
  const url = new URL(newer.url)
  url.password = new URL(older.url).password
  await runSql(newer.url, `alter role ${url.username} password '${url.password}'`)
  return { ...newer, url: url.href }
}

interface Deployment {
  /** The URL of an address that leads to the current server. */
  address: string
  journal: string
  leadTo(server: Server): void
  start(databaseUrl: string): Promise<RunningProcess>
  /** A process that starts and ends: it migrates the database. */
  migrateOnly(databaseUrl: string): Promise<void>
}

async function startDeployment(t: Cleanup, databaseUrl: string, way: Way): Promise<Deployment> {
  const sandboxFolder = await tempFolder(t, 'sandbox')
  const sandbox = await startProcess(t, ['sandbox', '--port', '0', '--data-dir', sandboxFolder], {
    COWRY_SANDBOX_SECRET: SANDBOX_SECRET,
    COWRY_PUBLIC_URL: 'http://127.0.0.1:9',
  })
  const proxy = await startTcpProxy(t, Number(new URL(databaseUrl).port))
  const port = await findFreePort()
  const dataDir = await tempFolder(t, 'service')
  const start = (url: string, role = 'all') =>
    startProcess(t, ['serve', '--role', role], {
      PORT: String(port),
      DATABASE_URL: url,
      COWRY_DATA_DIR: dataDir,
      COWRY_SANDBOX_URL: sandbox.facts.data.url,
      COWRY_SANDBOX_SECRET: SANDBOX_SECRET,
      COWRY_RATE_LIMIT: '0',
      COWRY_LOG_LEVEL: 'silent',
    })
  const migrateOnly = async (url: string) => void (await (await start(url, 'api')).kill('SIGTERM'))
  await migrateOnly(databaseUrl)
  const address = new URL(databaseUrl)
  address.port = String(proxy.port)
  return {
    address: way === 'address' ? address.href : databaseUrl,
    journal: join(sandboxFolder, 'sandbox.jsonl'),
    leadTo: (server) => proxy.retarget(server.port),
    start,
    migrateOnly,
  }
}

/** A history of another merchant than the one whose clients are the load. */
async function fill(url: string, payments: number): Promise<void> {
  const merchantId = '00000000-0000-7000-8000-0000000000a0'
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(
      `insert into merchants (id, name, mode, base_currency, created_at, updated_at)
      values ($1, 'History', 'test', 'KES', now(), now())`,
      [merchantId],
    )
    const size = { customers: payments, payments, due: 0, from: new Date('2026-01-01T00:00:00Z') }
    await makeRows(client, merchantId, size, () => undefined)
  } finally {
    await client.end()
  }
}
