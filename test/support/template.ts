// The template database of all test databases, and the administrator's statements for it.

import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { migrate } from '../../src/kit/db/migrate.ts'
import { connectTestDb } from './test-db.ts'

export interface TestServer {
  /** The URL of a role that may create databases. */
  adminUrl: string
  template: string
}

/** Creates the template once; every test database is a copy of it. */
export async function prepareTemplate(adminUrl: string): Promise<TestServer> {
  const template = `cowry_template_${randomBytes(6).toString('hex')}`
  await runAsAdmin(adminUrl, `create database ${template}`)
  const db = connectTestDb({ url: withDatabase(adminUrl, template), poolSize: 1 })
  await migrate(db)
  await db.close()
  return { adminUrl, template }
}

export async function dropDatabase(adminUrl: string, name: string): Promise<void> {
  await runAsAdmin(adminUrl, `drop database if exists ${name} with (force)`)
}

export function withDatabase(url: string, name: string): string {
  const changed = new URL(url)
  changed.pathname = `/${name}`
  return changed.href
}

export async function runAsAdmin(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    // Concurrent clones of one template wait for each other, and the second may fail.
    for (let tries = 1; ; tries += 1) {
      try {
        await client.query(statement)
        return
      } catch (error) {
        const isBusy = error instanceof pg.DatabaseError && error.code === '55006'
        if (!isBusy || tries === 50) throw error
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    }
  } finally {
    await client.end()
  }
}
