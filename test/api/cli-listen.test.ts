// cowry listen and cowry trigger beside a running service: a developer's first commands.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { after, describe, it, type TestContext } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { runCommandLine } from '../../src/cli/program.ts'
import { TRIGGERABLE } from '../../src/cli/scenarios.ts'
import { writeServerFile } from '../../src/cli/server-file.ts'
import { eventually, tempFolder } from '../support/process.ts'
import { ADMIN_TOKEN, testService } from '../support/service.ts'
import { newHookPath, refuseStray } from '../support/stray-deliveries.ts'

// The commands read the key of the demo merchant in the data folder.
const service = await testService({ after }, { env: { COWRY_RATE_LIMIT: '0' }, isOwn: true })
const env = {
  COWRY_DATA_DIR: service.dataDir,
  COWRY_URL: service.url,
  COWRY_ADMIN_TOKEN: ADMIN_TOKEN,
}

// With a cluster the tests have another merchant, which is there.
const ownKey: Record<string, string> = service.nextCell ? { COWRY_API_KEY: service.demoKey ?? '' } : {}

interface Running {
  output(): string
  lines(): Record<string, never>[]
  ended: Promise<number>
  stop(): Promise<number>
}

/** A command that runs until it is interrupted. */
function start(argv: string[], settings: Record<string, string> = { ...env, ...ownKey }): Running {
  const interruption = new AbortController()
  let text = ''
  const write = (more: string) => {
    text += more
  }
  const terminal = { out: write, err: write }
  const ended = runCommandLine(argv, { terminal, env: settings, interruption: interruption.signal })
  const stop = () => {
    interruption.abort()
    return ended
  }
  const lines = () =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
  return { output: () => text, lines, ended, stop }
}

async function run(...argv: string[]) {
  const running = start(argv)
  return { code: await running.ended, out: running.output() }
}

/** A developer's webhook handler: verifies each request and answers. */
async function startConsumer(t: TestContext, secret: () => string, status = 200) {
  const received: { id: string; type: string }[] = []
  const path = newHookPath()
  const server = createServer(async (request, response) => {
    if (refuseStray(request, response, path)) return
    const body = Buffer.concat(await request.toArray())
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    )
    const event = new Webhook(secret()).verify(body, headers) as { id: string; type: string }
    assert.equal(headers['webhook-id'], event.id)
    received.push(event)
    response.writeHead(status).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => void server.close())
  const address = server.address()
  assert.ok(address && typeof address === 'object')
  return { received, url: `http://127.0.0.1:${address.port}${path}` }
}

describe('cowry listen and cowry trigger', () => {
  it('forwards every event that can be triggered to the developer, with a valid signature, once', {
    timeout: 120_000,
  }, async (t) => {
    let secret = ''
    const consumer = await startConsumer(t, () => secret)
    const listening = start(['listen', '--forward-to', consumer.url, '--json'])
    const [beginning] = await eventually(
      async () => listening.lines(),
      (lines) => lines.length > 0,
      10_000,
    )
    ;({ secret } = beginning as unknown as { secret: string })
    assert.match(secret, /^whsec_/)
    const triggered = new Map<string, string>()
    for (const type of TRIGGERABLE) {
      const { code, out } = await run('trigger', type, '--json')
      assert.equal(code, 0, `${type}: ${out}`)
      const { data } = JSON.parse(out)
      assert.equal(data.event.type, type)
      triggered.set(data.event.id, type)
    }
    await eventually(
      async () => [...triggered.keys()].filter((id) => !consumer.received.some((event) => event.id === id)),
      ({ length }) => length === 0,
      20_000,
    )
    assert.equal(await listening.stop(), 0)
    const ids = consumer.received.map(({ id }) => id)
    assert.equal(new Set(ids).size, ids.length, 'none came twice')
    assert.deepEqual(listening.lines().at(-1), {
      kind: 'ended',
      events: ids.length,
      accepted: ids.length,
      refused: 0,
    })
  })

  it('prints a table of the selected events in a terminal', async (t) => {
    const consumer = await startConsumer(t, () => secretIn(listening.output()), 500)
    const listening = start([
      'listen',
      '--forward-to',
      consumer.url,
      '--events',
      'payment.successful,refund.*',
    ])
    await eventually(listening.output, (text) => text.includes('TIME'), 10_000)
    const { code, out } = await run('trigger', 'refund.successful', '--json')
    assert.equal(code, 0, out)
    const { uuid: refundId, paymentUuid: paymentId } = JSON.parse(out).data.event.data
    await eventually(listening.output, (text) => text.includes(`refund ${refundId} v2`), 10_000)
    await listening.stop()
    const all = listening
      .output()
      .split('\n')
      .filter((line) => /^\d\d:\d\d:\d\d/.test(line))
    // Earlier refunds may finish only now.
    const rows = all.filter((row) => row.includes(paymentId) || row.includes(refundId))
    assert.deepEqual(
      rows.map((row) => row.split(/ {2,}/).slice(1, 4)),
      ['payment.successful', 'refund.pending', 'refund.successful'].map((type, index) => [
        type,
        rows[index]?.split(/ {2,}/)[2],
        '500',
      ]),
    )
    assert.match(rows[0] ?? '', / payment [0-9a-f-]{36} v3 /)
    assert.ok(listening.output().includes(`${all.length} events: 0 accepted, ${all.length} not.`))
    assert.deepEqual(
      all.filter((row) => !/ (payment\.successful|refund\.\w+) /.test(row)),
      [],
    )
    assert.ok(!listening.output().includes('\u001b'), 'no colours without a terminal')
  })

  it('keeps listening when the service restarts, also at another address', async (t) => {
    const folder = await tempFolder(t, 'listening')
    const settings = { COWRY_DATA_DIR: folder, COWRY_API_KEY: service.demoKey ?? '' }
    const database = { databaseUrl: service.databaseUrl, checksInvariants: false }
    const first = await testService(t, database)
    await writeServerFile(folder, { url: first.url, pid: 1 })
    const listening = start(['listen', '--json'], settings)
    await eventually(listening.output, (text) => text.includes('listening'), 10_000)
    await first.stop()
    await eventually(listening.output, (text) => text.includes('does not respond'), 10_000)
    const second = await testService(t, database)
    await writeServerFile(folder, { url: second.url, pid: 2 })
    const { out } = await run('trigger', 'payment.pending', '--json')
    const { id } = JSON.parse(out).data.event
    await eventually(listening.output, (text) => text.includes(id), 15_000)
    await listening.stop()
    const notes = listening.lines().filter(({ kind }) => kind === 'notice')
    assert.equal(notes.length, 2, 'logs once that the service is away, and once that it is back')
  })

  it('reports what to do when cowry listen or cowry trigger cannot run', async () => {
    const cases: [string[], Record<string, string>, RegExp][] = [
      [
        ['listen'],
        { ...env, COWRY_API_KEY: 'cowry_test_nonsense' },
        /incomplete or mistyped.*--merchant-key/,
      ],
      [['listen', '--merchant-key', 'cowry_live_abcdefghijkl_x'], env, /live key/],
      [['listen', '--merchant-key', 'not a key'], env, /not an API key/],
      [['listen', '--forward-to', 'ftp://x'], env, /such as http:\/\/localhost:3000\/hook/],
      [
        ['listen'],
        { ...env, COWRY_URL: 'https://pay.example.com' },
        /Set a key of https:\/\/pay.example.com/,
      ],
      [['trigger', 'wallet.settled'], env, /settles.*\n?.*payment\.successful/s],
      [['trigger', 'payment.sucessful'], env, /payment\.successful/],
      [['events', 'replay'], env, /--from and --to/],
      [['clock', 'advance', 'soon'], env, /90s, 15m, 2h, 3d or 1y/],
    ]
    for (const [argv, settings, pattern] of cases) {
      const running = start(argv, settings)
      assert.equal(await running.ended, 1, argv.join(' '))
      assert.match(running.output(), pattern)
    }
  })
})

describe('cowry clock', () => {
  it('advances and shows the test clock from the command line', async () => {
    const before = JSON.parse((await run('clock', 'show', '--json')).out).data.advancedSeconds
    const { code, out } = await run('clock', 'advance', '15m', '--json')
    assert.equal(code, 0, out)
    assert.equal(JSON.parse(out).data.advancedSeconds, before + 15 * 60)
    const { nextDueAt } = JSON.parse(out).data
    if (nextDueAt !== null) assert.equal((await run('clock', 'advance', nextDueAt)).code, 0)
    assert.match((await run('clock', 'show')).out, /^advancedSeconds +\d+$/m)
  })
})

describe('cowry events', () => {
  it('lists, shows and resends events from the command line', async (t) => {
    const consumer = await startConsumer(t, () => secret)
    const endpoint = await service.api.post('/api/v1/webhooks/endpoints', {
      url: consumer.url,
      events: ['customer.created'],
    })
    assert.equal(endpoint.http, 201, endpoint.text)
    const { secret } = endpoint.body.data
    const { event } = JSON.parse((await run('trigger', 'customer.created', '--json')).out).data
    await eventually(
      async () => consumer.received.length,
      (count) => count === 1,
      10_000,
    )

    const listed = await run('events', 'list', '--type', 'customer.created', '--limit', '1')
    assert.match(
      listed.out,
      new RegExp(`customer\\.created +customer ${event.resource.uuid} v1 +${event.id}`),
    )
    assert.match(listed.out, /More: --cursor \S+/)
    const shown = await eventually(
      () => run('events', 'show', event.id),
      ({ out }) => /delivered +1/.test(out),
      10_000,
    )
    assert.match(shown.out, /"type": "customer.created"/)
    const again = await run('events', 'replay', event.id)
    assert.equal(again.out, '1 event in 1 delivery will be sent again.\n')
    await eventually(
      async () => consumer.received.length,
      (count) => count === 2,
      10_000,
    )
    assert.deepEqual(consumer.received[0], consumer.received[1])
    const range = ['--from', '2020-01-01T00:00:00Z', '--to', '2020-01-02T00:00:00Z', '--json']
    const none = await run('events', 'replay', ...range)
    assert.equal(JSON.parse(none.out).data.events, 0, none.out)
  })
})

describe('cowry logs tail', () => {
  it('prints the last log lines and then the new ones', async () => {
    await service.api.get('/api/v1/wallet/balance', { 'x-request-id': 'before-the-tail' })
    const tailing = start(['logs', 'tail', '--level', 'info'])
    await eventually(tailing.output, (text) => text.includes('before-the-tail'), 10_000)
    await service.api.get('/api/v1/customers/unknown', { 'x-request-id': 'during-the-tail' })
    await eventually(tailing.output, (text) => text.includes('during-the-tail'), 10_000)
    assert.equal(await tailing.stop(), 0)
    assert.match(
      tailing.output(),
      /info +GET \/api\/v1\/customers\/:uuid 400 \d+ ms requestId=during-the-tail address=\S+ merchantId=\S+ keyId=\S+ errorCode=invalid_uuid/,
    )
    const filtered = await run('logs', 'tail', '--no-follow', '--json', '--request-id', 'before-the-tail')
    assert.equal(JSON.parse(filtered.out).fields.route, '/api/v1/wallet/balance')
  })
})

function secretIn(output: string): string {
  return /whsec_\S+/.exec(output)?.[0] ?? ''
}
