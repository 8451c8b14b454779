// The command line as a separate program, beside a running service. What the larger form adds here, src/cli/cli.test.ts tests
// in its own process too.

import assert from 'node:assert/strict'
import { after, describe, it, type TestContext } from 'node:test'
import { connectDb } from '../../src/kit/db/db.ts'
import { createApi } from '../support/api.ts'
import { payWith } from '../support/builders.ts'
import { testDatabaseUrl } from '../support/database.ts'
import {
  eventually,
  type ProcessOptions,
  runCowry,
  startProcess,
  startUntilOutput,
  tempFolder,
} from '../support/process.ts'

/** The program as it is installed. */
const COWRY: ProcessOptions = { command: [process.execPath, 'bin/cowry.js'] }

const dataDir = await tempFolder({ after }, 'commands')
const databaseUrl = await testDatabaseUrl({ after })
const db = connectDb({ url: databaseUrl, poolSize: 1 })
const service = await startProcess({ after }, ['serve'], {
  PORT: '0',
  DATABASE_URL: databaseUrl,
  COWRY_DATA_DIR: dataDir,
})
after(() => db.close())

const run = (t: TestContext, ...args: string[]) => runCowry(t, args, { COWRY_DATA_DIR: dataDir }, COWRY)

/** The commands that a help text lists, without help itself. */
function commandsIn(help: string): string[] {
  const [, list = ''] = help.split(/^Commands:\n/m)
  return [...list.matchAll(/^ {2}([a-z][a-z-]*)/gm)].flatMap(([, name]) =>
    name && name !== 'help' ? [name] : [],
  )
}

describe('cowry --help', { concurrency: 2 }, () => {
  it('lists the commands, each with its own help', async (t) => {
    const { code, out, err } = await run(t, '--help')
    assert.deepEqual({ code, err }, { code: 0, err: '' })
    const names = commandsIn(out)
    assert.deepEqual(names, [
      ...[
        'serve',
        'sandbox',
        'demo',
        'merchants',
        'keys',
        'people',
        'gateways',
        'cells',
        'archive',
        'listen',
        'trigger',
        'clock',
        'events',
        'mcp',
        'logs',
      ],
      ...['reconcile', 'audit', 'cases', 'doctor', 'docs'],
    ])
    for (const name of names) {
      const help = await run(t, name, '--help')
      assert.deepEqual({ code: help.code, err: help.err }, { code: 0, err: '' })
      assert.match(help.out, new RegExp(`^Usage: cowry ${name} `))
    }
  })

  it('ends with 1 on an unknown command, and points to the help', async (t) => {
    const { code, out, err } = await run(t, 'payments')
    assert.deepEqual({ code, out }, { code: 1, out: '' })
    assert.match(err, /unknown command 'payments'/)
    assert.match(err, /--help/)
  })
})

describe('commands beside a running service', () => {
  it('creates a merchant and a key that works at once', async (t) => {
    const merchant = JSON.parse((await run(t, 'merchants', 'create', '--name', 'Duka', '--json')).out)
    assert.equal(merchant.status, 'success')
    const key = JSON.parse((await run(t, 'keys', 'create', '--merchant', merchant.data.uuid, '--json')).out)
    const api = createApi(service.facts.url, { 'x-api-key': key.data.apiKey })
    assert.equal((await api.get('/api/v1/wallet/balance')).http, 200)
    const listed = JSON.parse((await run(t, 'merchants', 'list', '--json')).out)
    assert.ok(listed.data.some(({ uuid }: { uuid: string }) => uuid === merchant.data.uuid))
  })

  it('prints text for people and one JSON document for scripts, also on errors', async (t) => {
    const words = await run(t, 'merchants', 'create', '--name', 'Soko')
    assert.match(words.out, /^uuid +[0-9a-f-]{36}$/m)
    const unknown = ['keys', 'create', '--merchant', '01890000-0000-7000-8000-000000000000']
    const result = await run(t, ...unknown)
    assert.deepEqual({ code: result.code, out: result.out }, { code: 1, out: '' })
    const document = await run(t, ...unknown, '--json')
    assert.deepEqual({ code: document.code, err: document.err }, { code: 1, err: '' })
    assert.equal(JSON.parse(document.out).error.code, 'merchant_not_found')
  })

  it('listens with the demo key of the data folder, and prints a summary on Ctrl-C', async (t) => {
    const isReady = (output: string) => output.includes('TIME')
    const listening = await startUntilOutput(t, ['listen'], { COWRY_DATA_DIR: dataDir }, isReady, COWRY)
    const triggered = await run(t, 'trigger', 'payment.pending')
    assert.match(triggered.out, /^✓ A customer begins to pay 1250\.50 KES +\d+ ms$/m)
    await eventually(listening.output, (text) => / payment\.pending /.test(text), 10_000)
    // Twice, because npm forwards the signal too.
    process.kill(listening.pid, 'SIGINT')
    const { code } = await listening.kill('SIGINT')
    assert.equal(code, 0, listening.errors())
    assert.match(listening.output(), /\n\d events?\.\n$/)
  })

  it('passes doctor when all invariants hold, and names a violated one', async (t) => {
    await payWith(createApi(service.facts.url, { 'x-api-key': service.facts.demoKey }), 'card_success')
    const healthy = await run(t, 'doctor', '--json')
    assert.equal(healthy.code, 0, healthy.out)
    assert.ok(JSON.parse(healthy.out).data.checks.length >= 10)

    // A balance without postings.
    await db.script(`
      insert into balance_deltas (
        merchant_id, currency, account, amount_minor, at, entry_id, position, kind, payment_id
      )
      select id, 'KES', 'available', 1, now(), id, 1, 'capture', id from merchants limit 1`)
    const ill = await run(t, 'doctor', '--json')
    assert.equal(ill.code, 1)
    const { checks } = JSON.parse(ill.out).data
    assert.deepEqual(
      checks.filter(({ ok }: { ok: boolean }) => !ok).map(({ name }: { name: string }) => name),
      ['invariant_i03_balances_match_postings', 'invariant_i03_statement_matches_postings'],
    )
    const words = await run(t, 'doctor')
    assert.equal(words.code, 1)
    assert.match(words.err, /invariant_i03_balances_match_postings +FAILED +1 violations/)
  })

  it('reports what to do without a running service, and ends with 1', async (t) => {
    await service.kill('SIGTERM')
    const { code, err } = await run(t, 'doctor')
    assert.equal(code, 1)
    assert.match(err, /npm start/)
    assert.doesNotMatch(err, /\n\s+at /)
  })
})
