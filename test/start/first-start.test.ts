// The output of the first start and of the second.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { descendantsOf } from '../../bench/processes.ts'
import { connectDb, sql } from '../../src/kit/db/db.ts'
import { findRunningPostgres } from '../../src/kit/embedded-postgres.ts'
import { createApi } from '../support/api.ts'
import { payWith } from '../support/builders.ts'
import type { Cleanup } from '../support/database.ts'
import { awaitExit, startUntilOutput, tempFolder } from '../support/process.ts'
import { HAS_LARGER_FORM, LARGER_FORM_ONLY } from '../support/scale.ts'

const folder = await tempFolder({ after }, 'first-start')
const env = { PORT: '0', COWRY_DATA_DIR: join(folder, 'data'), npm_config_update_notifier: 'false' }
const dataDir = env.COWRY_DATA_DIR

/** The command of the README. */
const start = (t: Cleanup) =>
  startUntilOutput(t, [], env, (output) => /^Quickstart /m.test(output), {
    command: ['npm', 'start'],
    detached: true,
  })

/** Ctrl-C: a terminal sends the signal to the whole process group. */
const interrupt = (pid: number) => process.kill(-pid, 'SIGINT')

function readWelcome(output: string) {
  const lines = output.split('\n')
  const find = (pattern: RegExp) => lines.findIndex((line) => pattern.test(line))
  const address = find(/^Cowry listens on +http:\/\/127\.0\.0\.1:\d+$/)
  const reference = find(/^API reference +http:\/\/127\.0\.0\.1:\d+\/docs\/api$/)
  const demoKey = find(/^Demo key +cowry_test_\w+$/)
  const quickstart = find(/^Quickstart +http:\/\/127\.0\.0\.1:\d+\/docs\/quickstart#key=cowry_test_\w+$/)
  const curl = find(/^curl .*$/)
  const lastWordOf = (line: number) => lines[line]?.split(/ +/).at(-1) ?? ''
  return {
    order: [address, reference, demoKey, curl, quickstart],
    url: lastWordOf(address),
    reference: lastWordOf(reference),
    demoKey: lastWordOf(demoKey),
    curl: lines[curl] ?? '',
  }
}

async function paste(command: string) {
  const { stdout } = await promisify(execFile)('bash', ['-c', `${command} -w '\n%{http_code}'`])
  const [body = '', http] = stdout.split('\n')
  return { http, body: JSON.parse(body) }
}

async function hasCurl(): Promise<boolean> {
  return promisify(execFile)('curl', ['--version']).then(
    () => true,
    () => false,
  )
}

async function queryDatabase<Row>(t: TestContext, statement: ReturnType<typeof sql<Row>>): Promise<Row[]> {
  const url = findRunningPostgres(join(dataDir, 'postgres'))
  assert.ok(url, 'the embedded PostgreSQL runs')
  const db = connectDb({ url, poolSize: 1 })
  t.after(() => db.close())
  return db.query(statement)
}

const durability = sql<Record<string, string>>`
select
  current_setting('fsync') as fsync,
  current_setting('full_page_writes') as pages,
  current_setting('synchronous_commit') as commits`

describe('npm start', () => {
  const first = { demoKey: '', reference: '' }

  it(
    'prints address, reference, demo key and a curl command in this order on an empty folder',
    HAS_LARGER_FORM,
    async (t) => {
      const service = await start(t)
      const welcome = readWelcome(service.output())
      assert.ok(!welcome.order.includes(-1), service.output())
      assert.deepEqual(
        welcome.order.toSorted((a, b) => a - b),
        welcome.order,
      )
      const docs = await fetch(welcome.reference)
      assert.equal(docs.status, 200)
      assert.match(docs.headers.get('content-type') ?? '', /^text\/html/)

      const api = createApi(welcome.url, { 'x-api-key': welcome.demoKey })
      const payment = await payWith(api, 'card_success')
      assert.equal(payment.status, 'successful')
      Object.assign(first, { demoKey: welcome.demoKey, reference: payment.reference })

      await t.test(
        'prints a curl command that answers 201 with a checkoutUrl, also when repeated',
        async (t) => {
          if (!(await hasCurl())) return t.skip('curl is not installed here')
          for (const _ of [1, 2]) {
            const { http, body } = await paste(welcome.curl)
            assert.equal(http, '201', JSON.stringify(body))
            assert.equal((await fetch(body.data.checkoutUrl)).status, 200)
          }
        },
      )

      await t.test('makes the demo key and the operator token readable by the owner only', async () => {
        for (const name of ['demo-key', 'admin-token'])
          assert.equal((await stat(join(dataDir, name))).mode & 0o777, 0o600, name)
        assert.equal((await readFile(join(dataDir, 'demo-key'), 'utf8')).trim(), welcome.demoKey)
      })

      await t.test('runs the embedded PostgreSQL with synchronous writes to disk', async (t) => {
        const [settings] = await queryDatabase(t, durability)
        assert.deepEqual(settings, { fsync: 'on', pages: 'on', commits: 'on' })
      })

      await t.test('ends with 0 on Ctrl-C and leaves no process running', async () => {
        const processes = descendantsOf(service.pid)
        assert.ok(processes.length > 2, 'there is a database process below it')
        interrupt(service.pid)
        assert.deepEqual(await service.ended, { code: 0, signal: null })
        await awaitExit(processes)
        // npm prints its own lines there; our lines are JSON.
        assert.doesNotMatch(service.errors(), /^\{/m)
      })
    },
  )

  // In npm test shutdown.test.ts starts again on the same data folder.
  it('keeps all data and the demo key on the second start', LARGER_FORM_ONLY, async (t) => {
    const service = await start(t)
    const welcome = readWelcome(service.output())
    assert.equal(welcome.demoKey, first.demoKey)
    const api = createApi(welcome.url, { 'x-api-key': first.demoKey })
    const { body } = await api.get(`/api/v1/checkout/verify-payment?reference=${first.reference}`)
    assert.equal(body.data?.status, 'successful')

    const processes = descendantsOf(service.pid)
    assert.deepEqual(await service.kill('SIGTERM'), { code: 0, signal: null })
    await awaitExit(processes)
  })
})
