// A service as a separate process, so that a crash is detected, with two merchants: the caller and another one.

import assert from 'node:assert/strict'
import { connectDb } from '../../src/kit/db/db.ts'
import { type Api, createApi } from '../support/api.ts'
import { dataOf, requireTwoPeople } from '../support/cases.ts'
import { type Cleanup, testDatabaseUrl } from '../support/database.ts'
import { assertInvariants } from '../support/invariants.ts'
import type { Document } from '../support/openapi.ts'
import { startProcess, tempFolder } from '../support/process.ts'
import { PROPOSED_FROM, type Target } from './fuzz.ts'

const ADMIN_TOKEN = 'a-token-of-the-fuzz-tests-0123456789abcdef'

export interface RunningTarget extends Target {
  pid: number
  /** The document as it is served. */
  document: Document
  /** Fails if the process has crashed, has logged an internal error, or violates an invariant. */
  assertHealthy(): Promise<void>
}

export async function startTarget(t: Cleanup): Promise<RunningTarget> {
  // Hooks run in the order of their registration, so the process ends before its database.
  const stops: (() => Promise<void>)[] = []
  t.after(async () => {
    for (const stop of stops) await stop()
  })
  const databaseUrl = await testDatabaseUrl(t)
  const processCleanup: Cleanup = { after: (stop) => void stops.push(stop) }
  const running = await startProcess(processCleanup, ['serve'], {
    PORT: '0',
    DATABASE_URL: databaseUrl,
    COWRY_DATA_DIR: await tempFolder(processCleanup, 'fuzz'),
    COWRY_ADMIN_TOKEN: ADMIN_TOKEN,
    COWRY_RATE_LIMIT: '0',
    COWRY_PROMPTS_PER_NUMBER: '0',
    COWRY_PROMPTS_PER_VISITOR: '0',
  })
  const { url, demoKey: key } = running.facts
  const api = createApi(url, { 'x-api-key': key })
  const admin = createApi(url, { authorization: `Bearer ${ADMIN_TOKEN}` })
  for (const { uuid } of dataOf(await admin.get('/admin/v1/merchants')))
    await requireTwoPeople(admin, uuid, PROPOSED_FROM)
  return {
    pid: running.pid,
    url,
    key,
    api,
    other: await anotherMerchant(url, admin),
    document: (await api.get('/openapi.json')).body,
    logOf: (requestId) =>
      running
        .errors()
        .split('\n')
        .filter((line) => line.includes(requestId))
        .join('\n'),
    async assertHealthy() {
      assert.equal((await api.get('/healthz')).http, 200)
      const loggedErrors = running
        .errors()
        .split('\n')
        .filter((line) => /"level":(?:50|60)/.test(line))
      assert.deepEqual(loggedErrors, [], 'the service logged no internal error')
      const db = connectDb({ url: databaseUrl, poolSize: 1 })
      try {
        await assertInvariants({ db })
      } finally {
        await db.close()
      }
    },
  }
}

async function anotherMerchant(url: string, admin: Api) {
  const { uuid } = (await admin.post('/admin/v1/merchants', { name: 'Another Shop' })).body.data
  const made = await admin.post(`/admin/v1/merchants/${uuid}/keys`, { name: 'fuzz', scopes: ['*'] })
  return createApi(url, { 'x-api-key': made.body.data.apiKey })
}
