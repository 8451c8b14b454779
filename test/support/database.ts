// A migrated private database per test, cloned from one template. The server is the one that test/run.ts started, the
// one in DATABASE_URL, or a new one when a file runs alone.

import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ConnectedDb } from '../../src/kit/db/db.ts'
import { startEmbeddedPostgres } from '../../src/kit/embedded-postgres.ts'
import { dropDatabase, prepareTemplate, runAsAdmin, type TestServer, withDatabase } from './template.ts'
import { connectTestDb } from './test-db.ts'

interface OwnServer extends TestServer {
  stop(): Promise<void>
}

let ownServer: Promise<OwnServer> | undefined

let databases = 0

function testServer(): Promise<TestServer> {
  const adminUrl = process.env.COWRY_TEST_DATABASE_URL
  const template = process.env.COWRY_TEST_TEMPLATE
  if (adminUrl && template) return Promise.resolve({ adminUrl, template })
  ownServer ??= startOwnServer()
  return ownServer
}

async function startOwnServer(): Promise<OwnServer> {
  const given = process.env.DATABASE_URL
  if (given) {
    const server = await prepareTemplate(given)
    return { ...server, stop: () => dropDatabase(server.adminUrl, server.template) }
  }
  const folder = await mkdtemp(join(tmpdir(), 'cowry-test-'))
  const postgres = await startEmbeddedPostgres({ dataDir: join(folder, 'postgres') })
  const stop = async () => {
    await postgres.stop()
    await rm(folder, { recursive: true, force: true })
  }
  return { ...(await prepareTemplate(postgres.url)), stop }
}

async function stopOwnServer(): Promise<void> {
  const server = await ownServer
  ownServer = undefined
  await server?.stop()
}

export interface Cleanup {
  after(fn: () => Promise<void>): void
}

/** The URL of a fresh migrated database, dropped when the test ends. */
export async function testDatabaseUrl(t: Cleanup): Promise<string> {
  const { adminUrl, template } = await testServer()
  const name = `cowry_test_${randomBytes(6).toString('hex')}`
  databases += 1
  // Copying the files costs a quarter of the default, which logs every block.
  await runAsAdmin(adminUrl, `create database ${name} template ${template} strategy file_copy`)
  t.after(async () => {
    await dropDatabase(adminUrl, name)
    databases -= 1
    if (databases === 0) await stopOwnServer()
  })
  return withDatabase(process.env.COWRY_TEST_POOLER_URL ?? adminUrl, name)
}

export async function testDatabase(t: Cleanup): Promise<ConnectedDb> {
  let db: ConnectedDb | undefined
  // Hooks run in the order of their registration: the pool closes before its database is dropped.
  t.after(async () => db?.close())
  db = connectTestDb({ url: await testDatabaseUrl(t), poolSize: 8 })
  return db
}

/**
 * For tests of features that a pooler lacks: it ignores options, has one user, and closes clients that prepare a name
 * twice.
 */
export const NO_POOLER = { skip: process.env.COWRY_TEST_POOLER_URL ? 'not supported by a pooler' : false }
